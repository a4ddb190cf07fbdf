//! What a drive has counted since it was made, and differences of such counts: windows.

use crate::BLOCK_BYTES;

/// Counts since the drive was made; none ever falls. All in bytes unless the name says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// What the host sent: 4096 bytes a write.
    pub host_bytes_written: u64,
    /// What is left of it after compression; equals `host_bytes_written` on a drive that does not compress.
    pub compressed_bytes_written: u64,
    /// Live data that garbage collection moved.
    pub gc_bytes_written: u64,
    /// Live data that static wear levelling moved.
    pub wear_levelling_bytes_written: u64,
    /// Bytes programmed that hold nothing: rests of granules, flash pages and blocks.
    pub padding_bytes_written: u64,
    /// All that was programmed, counted where it is programmed and not derived from the four above.
    pub nand_bytes_written: u64,
    /// What the host gave back: 4096 bytes for each mapped block that was trimmed.
    pub host_bytes_trimmed: u64,
    /// Blocks (superblocks) erased.
    pub blocks_erased: u64,
    /// Writes accepted while the drive was short of physical space and slowed its host down.
    pub throttled_writes: u64,
    /// Writes refused because there was no physical space.
    pub rejected_writes: u64,
}

impl Counters {
    /// What happened between `earlier` and now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_bytes_written: self.host_bytes_written - earlier.host_bytes_written,
            compressed_bytes_written: self.compressed_bytes_written - earlier.compressed_bytes_written,
            gc_bytes_written: self.gc_bytes_written - earlier.gc_bytes_written,
            wear_levelling_bytes_written: self.wear_levelling_bytes_written - earlier.wear_levelling_bytes_written,
            padding_bytes_written: self.padding_bytes_written - earlier.padding_bytes_written,
            nand_bytes_written: self.nand_bytes_written - earlier.nand_bytes_written,
            host_bytes_trimmed: self.host_bytes_trimmed - earlier.host_bytes_trimmed,
            blocks_erased: self.blocks_erased - earlier.blocks_erased,
            throttled_writes: self.throttled_writes - earlier.throttled_writes,
            rejected_writes: self.rejected_writes - earlier.rejected_writes,
        }
    }

    /// The counts of two drives (or pools) together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            host_bytes_written: self.host_bytes_written + other.host_bytes_written,
            compressed_bytes_written: self.compressed_bytes_written + other.compressed_bytes_written,
            gc_bytes_written: self.gc_bytes_written + other.gc_bytes_written,
            wear_levelling_bytes_written: self.wear_levelling_bytes_written + other.wear_levelling_bytes_written,
            padding_bytes_written: self.padding_bytes_written + other.padding_bytes_written,
            nand_bytes_written: self.nand_bytes_written + other.nand_bytes_written,
            host_bytes_trimmed: self.host_bytes_trimmed + other.host_bytes_trimmed,
            blocks_erased: self.blocks_erased + other.blocks_erased,
            throttled_writes: self.throttled_writes + other.throttled_writes,
            rejected_writes: self.rejected_writes + other.rejected_writes,
        }
    }

    /// NAND bytes over host bytes; `None` if the host wrote nothing. Below 1 on a drive that compresses well.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_bytes_written > 0).then(|| self.nand_bytes_written as f64 / self.host_bytes_written as f64)
    }

    /// Host writes, in logical blocks.
    pub fn host_blocks_written(&self) -> u64 {
        self.host_bytes_written / u64::from(BLOCK_BYTES)
    }

    /// Whether the parts add up to the whole.
    pub fn consistent(&self) -> bool {
        self.nand_bytes_written
            == self.compressed_bytes_written
                + self.gc_bytes_written
                + self.wear_levelling_bytes_written
                + self.padding_bytes_written
    }
}
