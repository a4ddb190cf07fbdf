//! Signals that ask for the end: one thread waits for them, all others do not see them.

use std::io;

/// Blocks them for this thread and those that it starts.
pub fn block() {
    // SAFETY: an initialised set of our own.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ending(), std::ptr::null_mut()) };
}

/// Calls `unmount` at each one, and does not return.
pub fn wait_and(unmount: impl Fn() -> io::Result<()>) {
    let set = ending();
    loop {
        let mut signal = 0;
        // SAFETY: an initialised set and a place for the number.
        if unsafe { libc::sigwait(&set, &mut signal) } != 0 {
            return;
        }
        if let Err(error) = unmount() {
            eprintln!("pgassay-drive: signal {signal}: cannot unmount: {error}");
        }
    }
}

fn ending() -> libc::sigset_t {
    // SAFETY: the set is initialised by the first call.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}
