//! The watchdog: a small process of its own that cuts the FUSE connection if the daemon stalls or dies.
//!
//! It is forked before the daemon has threads or memory, and shares one page with it. It asks for no memory and opens
//! nothing once it is armed, so that it runs when nothing else does. It goes by its own time: while the whole machine
//! stands still, neither runs. Cut means `1` written to the connection's `abort`
//! file: all waiting requests fail with EIO at once, also those of processes that no signal reaches.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::DriveError;

/// How often the watchdog looks.
const LOOK_EVERY_MS: i32 = 100;

/// What the time between two looks counts for at most: if it was longer, the watchdog did not run either.
const LOOK_MOST: Duration = Duration::from_millis(2 * LOOK_EVERY_MS as u64);

/// Where the kernel keeps its FUSE connections.
pub const CONNECTIONS: &str = "/sys/fs/fuse/connections";

const WAITING: u32 = 0;
const ARMED: u32 = 1;
const DONE: u32 = 2;

/// The page that daemon and watchdog share.
#[repr(C)]
struct Shared {
    state: AtomicU32,
    /// The connection's number.
    connection: AtomicU32,
    /// Requests answered.
    answered: AtomicU64,
    /// Rises several times a second as long as the daemon's threads run at all.
    beats: AtomicU64,
    /// Commands under way that stop all requests (ageing, restoring).
    standing_still: AtomicU32,
}

/// The daemon's side, which each thread may have.
#[derive(Clone, Copy)]
pub struct Pulse(&'static Shared);

impl Pulse {
    /// A request has been answered.
    pub fn answered(&self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// The daemon's threads run.
    pub fn beat(&self) {
        self.0.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a command that keeps requests waiting although nothing is wrong.
    pub fn standing_still<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.standing_still.fetch_add(1, Ordering::SeqCst);
        let outcome = work();
        self.0.standing_still.fetch_sub(1, Ordering::SeqCst);
        outcome
    }
}

/// A running watchdog.
pub struct Watchdog {
    shared: &'static Shared,
    child: libc::pid_t,
}

impl Watchdog {
    /// Forks. Must be called before this process has a second thread.
    pub fn start(patience: Duration) -> Result<Self, DriveError> {
        let shared = share().map_err(|error| DriveError::io("cannot share memory with a watchdog", error))?;
        // SAFETY: there is one thread, so the child may do what it likes.
        match unsafe { libc::fork() } {
            -1 => Err(DriveError::io("cannot start a watchdog", io::Error::last_os_error())),
            0 => {
                watch(shared, patience);
                // SAFETY: ends the child without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
            child => Ok(Self { shared, child }),
        }
    }

    /// The daemon's side.
    pub fn pulse(&self) -> Pulse {
        Pulse(self.shared)
    }

    /// The watchdog's process id.
    pub fn process_id(&self) -> i32 {
        self.child
    }

    /// Says which connection to cut; from now on the watchdog watches.
    pub fn arm(&self, connection: u32) {
        self.shared.connection.store(connection, Ordering::SeqCst);
        self.shared.state.store(ARMED, Ordering::SeqCst);
    }

    /// Ends the watchdog; all is well.
    pub fn dismiss(&self) {
        self.shared.state.store(DONE, Ordering::SeqCst);
        // SAFETY: waits for our own child.
        unsafe { libc::waitpid(self.child, std::ptr::null_mut(), 0) };
    }
}

fn share() -> io::Result<&'static Shared> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, zeroed, which is a valid `Shared`, and never unmapped.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
        if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(&*page.cast::<Shared>()) }
    }
}

/// Makes sure that the kernel's connections can be seen.
pub fn mount_connections() -> Result<(), DriveError> {
    if Path::new(CONNECTIONS).read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    // SAFETY: plain strings; a second mount in the same place is refused with EBUSY, which is as good.
    let mounted = unsafe {
        libc::mount(c"fusectl".as_ptr(), c"/sys/fs/fuse/connections".as_ptr(), c"fusectl".as_ptr(), 0, std::ptr::null())
    };
    match io::Error::last_os_error() {
        error if mounted != 0 && error.raw_os_error() != Some(libc::EBUSY) => {
            Err(DriveError::io("cannot mount fusectl, which the watchdog needs", error))
        }
        _ => Ok(()),
    }
}

/// The child.
fn watch(shared: &Shared, patience: Duration) {
    // SAFETY: calls on our own process; the parent's id is valid, since it has not returned from fork.
    let daemon = unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"pgassay-watchdog".as_ptr(), 0, 0, 0);
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        // A process that waits for the end of the daemon's output must not wait for us.
        libc::dup2(nothing, 0);
        libc::dup2(nothing, 1);
        libc::syscall(libc::SYS_pidfd_open, libc::getppid(), 0) as RawFd
    };
    while shared.state.load(Ordering::SeqCst) == WAITING {
        if has_ended(daemon) {
            return;
        }
    }
    let number = shared.connection.load(Ordering::SeqCst);
    let (Some(abort), Some(waiting)) = (open(number, "abort", libc::O_WRONLY), open(number, "waiting", libc::O_RDONLY))
    else {
        return say("pgassay-drive: the watchdog cannot see the connection\n");
    };
    if has_ended(daemon) {
        return; // The kernel has cut its connection, and its number may be another's by now.
    }
    let mut seen = (0, 0);
    let mut quiet = Quiet::since(Instant::now());
    while shared.state.load(Ordering::SeqCst) == ARMED {
        if has_ended(daemon) {
            return cut(abort, "pgassay-drive: the daemon is gone; its connection has been cut\n");
        }
        let now = (shared.answered.load(Ordering::Relaxed), shared.beats.load(Ordering::Relaxed));
        let must_wait = shared.standing_still.load(Ordering::SeqCst) > 0;
        let is_alive = now.1 != seen.1 && (now.0 != seen.0 || must_wait || !has_requests(waiting));
        if is_alive {
            seen = now;
        }
        if quiet.looked(Instant::now(), is_alive) > patience {
            return cut(abort, "pgassay-drive: the daemon has stalled; its connection has been cut\n");
        }
    }
}

/// For how long the daemon has been quiet.
struct Quiet {
    looked: Instant,
    lasts: Duration,
}

impl Quiet {
    fn since(looked: Instant) -> Self {
        Self { looked, lasts: Duration::ZERO }
    }

    /// The watchdog has looked again; how long it is by now.
    fn looked(&mut self, now: Instant, is_alive: bool) -> Duration {
        let more = (now - self.looked).min(LOOK_MOST);
        self.looked = now;
        self.lasts = if is_alive { Duration::ZERO } else { self.lasts + more };
        self.lasts
    }
}

fn open(connection: u32, file: &str, flags: i32) -> Option<RawFd> {
    let path = CString::new(format!("{CONNECTIONS}/{connection}/{file}")).ok()?;
    // SAFETY: a valid string.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
    (fd >= 0).then_some(fd)
}

/// Waits a little; true if the process has ended meanwhile.
fn has_ended(process: RawFd) -> bool {
    let mut poll = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut poll, 1, LOOK_EVERY_MS) > 0 }
}

/// Whether requests wait for an answer.
fn has_requests(waiting: RawFd) -> bool {
    let mut text = [0_u8; 16];
    // SAFETY: the buffer is ours.
    let read = unsafe { libc::pread(waiting, text.as_mut_ptr().cast(), text.len(), 0) };
    read > 0 && text[0] != b'0'
}

fn cut(abort: RawFd, why: &str) {
    // SAFETY: a valid buffer; an error leaves nothing else to try.
    unsafe { libc::write(abort, c"1".as_ptr().cast(), 1) };
    say(why);
}

fn say(text: &str) {
    // SAFETY: a valid buffer.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LOOK_MOST, Quiet};

    #[test]
    fn a_machine_that_stood_still_is_no_daemon_that_stalls() {
        let mut now = Instant::now();
        let mut quiet = Quiet::since(now);
        now += Duration::from_secs(60);
        assert_eq!(quiet.looked(now, false), LOOK_MOST);
        for _ in 0..20 {
            now += LOOK_MOST / 2;
            quiet.looked(now, false);
        }
        assert_eq!(quiet.looked(now, false), LOOK_MOST * 11, "one that does stall is found");
        assert_eq!(quiet.looked(now, true), Duration::ZERO);
    }
}
