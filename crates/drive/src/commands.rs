//! What the control socket can ask for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::disk::Disk;
use crate::disk::ageing::Ageing;
use crate::error::DriveError;
use crate::safety::Pulse;
use crate::stats;
use crate::timing::Clock;

/// Names of the commands, for hints.
const COMMANDS: &str = "ping, stats, age, snapshot, restore, drop, snapshots, record, fsck, shutdown";

/// The running program as its commands see it.
pub struct Daemon {
    /// The drive's name.
    pub name: String,
    /// The drive.
    pub disk: Arc<Disk>,
    /// The device that requests are answered as fast as, if there is one.
    pub clock: Option<Arc<Clock>>,
    /// Told when requests have to wait.
    pub pulse: Pulse,
    /// Where FUSE is mounted.
    pub mountpoint: PathBuf,
    /// Program/erase cycles that the flash is rated for.
    pub rated_cycles: u32,
    /// Process id of the watchdog.
    pub watchdog: i32,
}

impl Daemon {
    /// Runs a command.
    pub fn obey(&self, name: &str, request: &Value) -> Result<Value, DriveError> {
        match name {
            "ping" => Ok(json!({ "name": self.name, "version": env!("CARGO_PKG_VERSION") })),
            "stats" => Ok(stats::report(self)),
            "age" => self.age(request),
            "record" => self.record(request),
            "snapshot" => self.timed(|| self.disk.snapshot(text(request, "name")?)),
            "restore" => self.restore(request),
            "drop" => self.timed(|| self.disk.drop_snapshot(text(request, "name")?)),
            "snapshots" => Ok(self.snapshots()),
            "fsck" => self.fsck(),
            "shutdown" => self.shutdown(),
            other => Err(DriveError::refused(format!("unknown command {other}"), format!("one of {COMMANDS}"))),
        }
    }

    /// Runs what stops all requests, and says how long it took.
    fn timed(&self, work: impl FnOnce() -> Result<(), DriveError>) -> Result<Value, DriveError> {
        let started = Instant::now();
        self.pulse.standing_still(work)?;
        Ok(json!({ "took_ms": started.elapsed().as_secs_f64() * 1e3 }))
    }

    fn restore(&self, request: &Value) -> Result<Value, DriveError> {
        if let Some(device) = crate::users::mounted_over(&self.mountpoint.join(crate::front::FILE_NAME)) {
            let message = format!("the drive cannot be restored while {device} is mounted");
            return Err(DriveError::refused(message, "unmount it first"));
        }
        self.timed(|| {
            self.disk.restore(text(request, "name")?)?;
            self.clock.as_ref().map_or(Ok(()), |clock| clock.restart(&self.disk))
        })
    }

    fn age(&self, request: &Value) -> Result<Value, DriveError> {
        let mut keys = request.as_object().cloned().unwrap_or_default();
        keys.remove("do");
        let ageing: Ageing = serde_json::from_value(keys.into())
            .map_err(|error| DriveError::refused(format!("invalid ageing: {error}"), ""))?;
        let work = || self.disk.age(&ageing);
        let aged = self.pulse.standing_still(|| match &self.clock {
            Some(clock) => clock.unwatched(&self.disk, work),
            None => work(),
        })?;
        Ok(json!(aged))
    }

    /// A path starts a recording, null ends it.
    fn record(&self, request: &Value) -> Result<Value, DriveError> {
        let path = match request.get("path") {
            Some(Value::Null) => None,
            _ => Some(PathBuf::from(text(request, "path")?)),
        };
        let ended = self.disk.record(path.as_deref())?;
        Ok(json!({ "recording": path, "ended": ended }))
    }

    fn snapshots(&self) -> Value {
        self.disk.with_snapshots(|snapshots| {
            let listed = snapshots.iter().map(|snapshot| {
                json!({
                    "name": snapshot.name,
                    "stored_blocks": snapshot.stored.0,
                    "stored_bytes": snapshot.stored.1,
                    "memory_bytes": snapshot.memory_bytes(),
                })
            });
            json!({ "snapshots": listed.collect::<Vec<_>>() })
        })
    }

    fn fsck(&self) -> Result<Value, DriveError> {
        let report = self.pulse.standing_still(|| self.disk.check())?;
        let mut value = json!(report);
        value["damaged"] = json!(report.problems.len());
        value["clean"] = json!(report.problems.is_empty());
        Ok(value)
    }

    /// Unmounts; the answer is sent before the process ends, which it does when FUSE's threads have ended.
    fn shutdown(&self) -> Result<Value, DriveError> {
        crate::mount::unmount(&self.mountpoint).map_err(|error| {
            let hint = "detach the loop device over the drive's file first";
            DriveError::refused(format!("cannot unmount {}: {error}", self.mountpoint.display()), hint)
        })?;
        Ok(json!({}))
    }
}

/// A text of a request.
fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, DriveError> {
    request.get(key).and_then(Value::as_str).ok_or_else(|| DriveError::refused(format!("the request lacks {key}"), ""))
}
