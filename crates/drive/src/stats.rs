//! What the drive tells about itself, under the names that nvme-cli prints for real drives where these have one.

use serde_json::{Value, json};

use flash::Policy;

use crate::commands::Daemon;
use crate::disk::Snapshot;
use crate::model::Model;
use crate::safety::memory;

/// What the drive is, for whoever wants to know whether it is what was asked for.
fn make(model: &Model) -> Value {
    let capacity = model.capacity();
    json!({
        "kind": match model { Model::PageMapped(_) => "page-mapped", Model::Compressing(_) => "compressing" },
        "policy": match model.policy() {
            Policy::Greedy => "greedy",
            Policy::CostBenefit => "cost-benefit",
            Policy::Fifo => "fifo",
            Policy::DChoices { .. } => "d-choices",
            Policy::Random => "random",
        },
        "over_provisioning": capacity.alpha() - 1.0,
        "user_bytes": u64::from(capacity.user_blocks()) * u64::from(flash::BLOCK_BYTES),
        "superblock_bytes": capacity.geometry().superblock_bytes(),
    })
}

/// What the flash model counted. A drive is rated for `rated_cycles` erases of each block.
fn counted(model: &Model, rated_cycles: u32) -> Value {
    let drive = model.drive();
    let (log, counters) = (drive.health(rated_cycles), drive.counters());
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
pub fn report(daemon: &Daemon) -> Value {
    let disk = &daemon.disk;
    let (mut report, make) = disk.with_model(|model| (counted(model, daemon.rated_cycles), make(model)));
    let (tallies, store) = (&disk.tallies, disk.store_use());
    let (memory_bytes, locked_bytes) = memory::in_use_bytes();
    let more = json!({
        "name": daemon.name,
        "capacity_bytes": disk.capacity_bytes(),
        "codec": disk.codec().to_string(),
        "store": disk.store_kind(),
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
    })
}

/// Processor time of this process, in nanoseconds.
fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
