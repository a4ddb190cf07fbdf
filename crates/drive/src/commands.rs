//! What the control socket can ask for, and what the drive tells about itself: counters under the names that nvme-cli
//! prints for real drives where these have one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use description::flash_table::PolicyName;
use flash::HealthLog;
use serde_json::{Value, json};

use crate::disk::ageing::Ageing;
use crate::disk::cuts::Wish;
use crate::disk::{Disk, Snapshot};
use crate::error::DriveError;
use crate::model::Model;
use crate::safety::{Pulse, memory};
use crate::timing::Clock;

/// Names of the commands, for hints.
const COMMANDS: &str = "ping, stats, age, snapshot, restore, drop, snapshots, cut, discard, record, fsck, shutdown";

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
            "stats" => Ok(report(self)),
            "age" => self.age(request),
            "record" => self.record(request),
            "snapshot" => self.timed(|| self.disk.snapshot(text(request, "name")?)),
            "restore" => self.restore(request),
            "drop" => self.timed(|| self.disk.drop_snapshot(text(request, "name")?)),
            "snapshots" => Ok(self.snapshots()),
            "cut" => self.cut(request),
            "discard" => self.discard(request),
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

    /// Makes a crash state and says which file it is.
    fn cut(&self, request: &Value) -> Result<Value, DriveError> {
        let mut keys = request.as_object().cloned().unwrap_or_default();
        keys.remove("do");
        let wish: Wish = serde_json::from_value(keys.into())
            .map_err(|error| DriveError::refused(format!("invalid cut: {error}"), ""))?;
        let report = self.disk.cut(&wish)?;
        let mut value = json!(report);
        value["file"] = json!(crate::front::cut_name(report.number));
        Ok(value)
    }

    fn discard(&self, request: &Value) -> Result<Value, DriveError> {
        let number = request.get("number").and_then(Value::as_u64);
        let number = number.ok_or_else(|| DriveError::refused("the request lacks number", ""))?;
        if let Some(device) = crate::users::mounted_over(&self.mountpoint.join(crate::front::cut_name(number))) {
            let message = format!("the crash state cannot be discarded while {device} is mounted");
            return Err(DriveError::refused(message, "unmount it first"));
        }
        self.timed(|| self.disk.discard_cut(number))
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

/// What the drive is, so that a caller can compare it with what was asked for.
fn make(model: &Model) -> Value {
    let capacity = model.capacity();
    json!({
        "kind": model.kind().name(),
        "policy": PolicyName::of(model.policy()).name(),
        "over_provisioning": capacity.alpha() - 1.0,
        "user_bytes": u64::from(capacity.user_blocks()) * u64::from(flash::BLOCK_BYTES),
        "superblock_bytes": capacity.geometry().superblock_bytes(),
    })
}

/// What the flash model counted. A drive is rated for `rated_cycles` erases of each block.
fn counted(model: &Model, rated_cycles: u32) -> Value {
    let drive = model.drive();
    let (log, counters) = (HealthLog::read(drive, rated_cycles), drive.counters());
    let wear = log.wear_leveling;
    json!({
        "host_bytes_written": log.host_bytes_written,
        "nand_bytes_written": log.nand_bytes_written,
        "physical_media_units_written": { "hi": 0, "lo": log.physical_media_units_written },
        "compression_ratio": log.compression_ratio,
        "physical_usage_ratio": log.physical_usage_ratio,
        "wear_leveling": { "min": wear.min, "max": wear.max, "avg": wear.avg },
        "percentage_used": log.percentage_used,
        "write_amplification": counters.write_amplification(),
        "compressed_bytes_written": counters.compressed_bytes_written,
        "gc_bytes": log.gc_bytes_written,
        "wear_levelling_bytes": counters.wear_levelling_bytes_written,
        "padding_bytes": counters.padding_bytes_written,
        "host_bytes_trimmed": counters.host_bytes_trimmed,
        "blocks_erased": counters.blocks_erased,
        "throttled_writes": counters.throttled_writes,
        "rejected_writes": counters.rejected_writes,
        "live_blocks": drive.mapped_blocks(),
        "live_bytes": drive.live_bytes(),
        "usable_bytes": drive.usable_bytes(),
        "free_superblocks": drive.free_blocks(),
        "space_state": format!("{:?}", model.space_state()).to_lowercase(),
    })
}

/// Everything. Names end in their unit; the `units` table has those that do not.
fn report(daemon: &Daemon) -> Value {
    let disk = &daemon.disk;
    let (mut report, make) = disk.with_model(|model| (counted(model, daemon.rated_cycles), make(model)));
    let (tallies, store) = (&disk.tallies, disk.store_use());
    let (memory_bytes, locked_bytes) = memory::in_use_bytes();
    let more = json!({
        "name": daemon.name,
        "capacity_bytes": disk.capacity_bytes(),
        "codec": disk.codec().to_string(),
        "store": disk.store_kind(),
        "persistence": disk.persistence(),
        "crash_states": disk.cuts().len(),
        "reads": tallies.reads.get(),
        "writes": tallies.writes.get(),
        "flushes": tallies.flushes.get(),
        "discards": tallies.discards.get(),
        "write_zeroes": tallies.zeroes.get(),
        "errors": tallies.errors.get(),
        "store_full_writes": tallies.store_full.get(),
        "unaligned_writes": tallies.unaligned.get(),
        "read_bytes": tallies.read_bytes.get(),
        "written_bytes": tallies.written_bytes.get(),
        "discarded_bytes": tallies.discarded_bytes.get(),
        "zeroed_bytes": tallies.zeroed_bytes.get(),
        "stored_blocks": tallies.stored_blocks.get(),
        "stored_bytes": tallies.stored_bytes.get(),
        "zero_blocks": tallies.zero_blocks.get(),
        "store_bytes": store.segments * store.segment_bytes,
        "store_live_bytes": store.live_bytes,
        "store_free_bytes": store.free_segments * store.segment_bytes,
        "store_cleaned_bytes": tallies.cleaned_bytes.get(),
        "recording": disk.recording(),
        "snapshots": disk.with_snapshots(|snapshots| snapshots.len()),
        "daemon_cpu_ns": process_cpu_ns(),
        "codec_ns": tallies.codec_ns.get(),
        "memory_bytes": memory_bytes,
        "tables_bytes": disk.tables_bytes(),
        "snapshots_bytes": disk.with_snapshots(|snapshots| snapshots.iter().map(Snapshot::memory_bytes).sum::<u64>()),
        "locked_bytes": locked_bytes,
        "watchdog_process_id": daemon.watchdog,
        "units": units(),
    });
    let (sums, timing) = daemon.clock.as_ref().map_or((json!({}), Value::Null), |clock| clock.report());
    for more in [make, more, sums, json!({ "timing": timing })] {
        if let (Some(report), Value::Object(more)) = (report.as_object_mut(), more) {
            report.extend(more);
        }
    }
    report
}

fn units() -> Value {
    json!({
        "compression_ratio": "logical over physical bytes of live data, times 100, within 100 to 800",
        "physical_usage_ratio": "per cent of usable flash that is live",
        "wear_leveling": "erases of a superblock",
        "over_provisioning": "usable flash over user capacity, less 1, after rounding to superblocks",
        "tables_bytes": "memory of the map and of the flash model, part of memory_bytes",
        "snapshots_bytes": "memory of the snapshots' tables, part of memory_bytes; what they hold lies in the store",
        "percentage_used": "per cent of the rated cycles",
        "write_amplification": "NAND bytes over host bytes since the drive was made; null before the first write",
        "physical_media_units_written": "bytes",
        "gc_bytes": "bytes",
        "live_blocks": "logical blocks of 4096 bytes",
        "stored_blocks": "logical blocks of 4096 bytes",
        "zero_blocks": "logical blocks of 4096 bytes",
        "free_superblocks": "superblocks",
        "blocks_erased": "superblocks",
        "daemon_cpu_ns": "processor time of the daemon, user and system",
        "codec_ns": "processor time in the codec, part of daemon_cpu_ns",
        "asked_ns": "service times that the modelled device asked for, summed; only with timing",
        "late_ns": "by how much answers came later than that, summed",
        "late_requests": "answers that took more than a tenth longer than asked",
        "timed_requests": "answers that were given a service time",
        "volume_ns": "the time since a device with caps was made; it and what follows only with caps",
        "ios_limited_ns": "how long one more I/O would have waited for the cap of I/Os",
        "bytes_limited_ns": "how long one more block would have waited for the cap of throughput",
        "without_credits_ns": "how long there was no credit for a burst; null of a device that does not burst",
        "credits_left": "I/Os",
    })
}

/// Processor time of this process, in nanoseconds.
fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
