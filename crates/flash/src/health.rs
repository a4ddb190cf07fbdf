//! The drive's log page: counters under the names that nvme-cli prints for real drives.
//!
//! `host_bytes_written`, `nand_bytes_written` and `wear_leveling` are what `nvme sfx smart-log-add` and Intel's prints
//! call them; `physical_media_units_written` is OCP's (log 0xC0, in bytes); `compression_ratio` is ScaleFlux's, times
//! 100 and held within 100 … 800; `percentage_used` is NVMe's own, at most 255.

use crate::BLOCK_BYTES;
use crate::drive::Drive;

/// Minimum, maximum and mean erase count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WearLeveling {
    /// Fewest erases.
    pub min: u32,
    /// Most erases.
    pub max: u32,
    /// Mean erases.
    pub avg: f64,
}

/// A snapshot of what a drive says about itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthLog {
    /// Bytes that the host sent.
    pub host_bytes_written: u64,
    /// Bytes that were programmed.
    pub nand_bytes_written: u64,
    /// The same, under OCP's name.
    pub physical_media_units_written: u64,
    /// Bytes that garbage collection moved.
    pub gc_bytes_written: u64,
    /// Logical over physical bytes of the data now on the drive, times 100, within 100 … 800.
    pub compression_ratio: u32,
    /// Live bytes over usable bytes of flash, in per cent.
    pub physical_usage_ratio: u32,
    /// Erase counts.
    pub wear_leveling: WearLeveling,
    /// Mean erases over rated cycles, in per cent, at most 255.
    pub percentage_used: u32,
    /// Erased blocks that are not open.
    pub free_blocks: u32,
}

impl HealthLog {
    /// Reads the log page of a drive whose flash is rated for `rated_cycles` erases (at least 1).
    pub fn read<D: Drive + ?Sized>(drive: &D, rated_cycles: u32) -> Self {
        let counters = drive.counters();
        let wear = drive.wear();
        let logical_bytes = drive.mapped_blocks() * u64::from(BLOCK_BYTES);
        let live_bytes = drive.live_bytes();
        // Nothing stored has no ratio; blocks of zeros alone have an infinite one, which real drives print as 8:1.
        let ratio = match (logical_bytes, live_bytes) {
            (0, _) => 100,
            (_, 0) => 800,
            _ => (logical_bytes as f64 * 100.0 / live_bytes as f64).round().clamp(100.0, 800.0) as u32,
        };
        Self {
            host_bytes_written: counters.host_bytes_written,
            nand_bytes_written: counters.nand_bytes_written,
            physical_media_units_written: counters.nand_bytes_written,
            gc_bytes_written: counters.gc_bytes_written,
            compression_ratio: ratio,
            physical_usage_ratio: (live_bytes as f64 * 100.0 / drive.usable_bytes() as f64).round() as u32,
            percentage_used: (wear.avg * 100.0 / f64::from(rated_cycles.max(1))).min(255.0) as u32,
            wear_leveling: WearLeveling { min: wear.min, max: wear.max, avg: wear.avg },
            free_blocks: drive.free_blocks(),
        }
    }
}
