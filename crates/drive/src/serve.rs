//! The life of the daemon, in the order that its safety needs: leave the cgroup, fork the watchdog, take all memory,
//! and only then mount.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::commands::Daemon;
use crate::config::{Config, StoreKind};
use crate::control;
use crate::disk::{Disk, Parts};
use crate::error::DriveError;
use crate::front::Front;
use crate::model::Model;
use crate::mount;
use crate::safety::{Watchdog, cgroup, memory, watchdog};
use crate::signals;
use crate::timing::Clock;

/// For answers that are under way when the drive has been unmounted.
const ANSWERS_PATIENCE: Duration = Duration::from_secs(5);

/// Runs until the drive is unmounted.
pub fn serve(config: &Config) -> Result<(), DriveError> {
    abort_on_panic();
    cgroup::leave()?;
    watchdog::mount_connections()?;
    let watchdog = Watchdog::start(Duration::from_secs_f64(config.emulation.watchdog_s()))?;
    let outcome = serve_watched(config, &watchdog);
    watchdog.dismiss();
    outcome
}

fn serve_watched(config: &Config, watchdog: &Watchdog) -> Result<(), DriveError> {
    let directory = &config.directory;
    let mountpoint = directory.join("fuse");
    let failed = |error| DriveError::io("cannot use the drive's directory", error);
    let _pid_file = own(&directory.join("daemon.pid"))?;
    if !mountpoint.exists() {
        DirBuilder::new().mode(0o700).create(&mountpoint).map_err(failed)?;
    }
    signals::block();
    memory::map_tables();
    memory::protect();
    if !memory::lock() {
        eprintln!("pgassay-drive: memory cannot be locked; a machine short of it may swap the drive out");
    }
    let disk = Arc::new(make(config)?);
    let clock = match &config.service {
        Some(timing) => Some(Arc::new(Clock::new(timing, config.dilation, &disk)?)),
        None => None,
    };
    let pulse = watchdog.pulse();
    let daemon = Arc::new(Daemon {
        name: config.name.clone(),
        disk: Arc::clone(&disk),
        clock: clock.clone(),
        pulse,
        mountpoint: mountpoint.clone(),
        rated_cycles: config.emulation.rated_cycles(),
        watchdog: watchdog.process_id(),
    });
    let socket = directory.join("control.sock");
    let answers = control::listen(&socket, daemon)?;
    if let Some(clock) = clock.clone() {
        let answering = thread::Builder::new().name("timing".into()).spawn(move || clock.run());
        answering.map_err(|error| DriveError::io("cannot start threads", error))?;
    }
    let session = mount::mount(Front::new(disk, clock, pulse), &mountpoint, &config.name, config.emulation.threads())?;
    let running = session.spawn().map_err(|error| DriveError::io("cannot start threads", error))?;
    let connection = mount::connection(&mountpoint)?;
    let abort = mount::Abort::of(connection)?;
    watchdog.arm(connection);
    thread::spawn(move || {
        loop {
            pulse.beat();
            thread::sleep(Duration::from_millis(200));
        }
    });
    let unmounted_by_signal = mountpoint.clone();
    thread::spawn(move || {
        signals::wait_and(|| {
            let unmounted = mount::unmount_now(&unmounted_by_signal);
            abort.cut().and(unmounted)
        })
    });
    println!("ready");
    let _ = std::io::stdout().flush();
    let outcome = running.guard.join();
    // Whatever ended the session, nothing of it stays.
    let _ = mount::unmount_now(&mountpoint);
    let _ = fs::remove_file(&socket);
    answers.wait(ANSWERS_PATIENCE);
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(DriveError::io("the FUSE session has failed", error)),
        Err(_) => Err(DriveError::Damaged("a thread of the FUSE session has panicked")),
    }
}

/// Takes all memory that the drive will need.
fn make(config: &Config) -> Result<Disk, DriveError> {
    let keeps_contents = config.store != StoreKind::Null;
    let store_file = match &config.store {
        StoreKind::File(path) => Some(path.clone()),
        StoreKind::Memory | StoreKind::Null => None,
    };
    let blocks = config.capacity_bytes / 4096;
    let in_memory = |bytes: u64| if keeps_contents && store_file.is_none() { bytes } else { 0 };
    // The map takes eight bytes a block, the model as many at least. Said before either is made: this process is spared
    // when memory runs out, so others would be ended for it.
    let least = config.emulation.store_bytes.or(config.flash.user_bytes).unwrap_or(config.capacity_bytes);
    memory::must_fit(in_memory(least).saturating_add(16 * blocks))?;
    let model = Model::new(&config.flash)?;
    let store_bytes = match config.emulation.store_bytes {
        _ if !keeps_contents => 1,
        Some(bytes) => bytes,
        None => model.drive().usable_bytes() + 16 * blocks,
    };
    // The map; the model has its memory already.
    memory::must_fit(in_memory(store_bytes).saturating_add(8 * blocks))?;
    let (capacity_bytes, codec) = (config.capacity_bytes, config.codec());
    let persistence = config.persistence.clone();
    Disk::new(Parts { capacity_bytes, codec, keeps_contents, store_bytes, store_file, model, persistence })
}

/// Writes this process's id and holds the file, so that a second daemon in the same folder is refused.
fn own(path: &Path) -> Result<File, DriveError> {
    let failed = |error| DriveError::io("cannot write daemon.pid", error);
    let mut file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path).map_err(failed)?;
    // SAFETY: a valid descriptor.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        let message = format!("another daemon serves {}", path.parent().unwrap_or(path).display());
        return Err(DriveError::refused(message, "stop it first"));
    }
    file.set_len(0).map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(file)
}

/// A thread that has panicked may hold locks for ever. The end of the process fails all requests at once.
fn abort_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        std::process::abort();
    }));
}
