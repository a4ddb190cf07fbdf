//! Memory that the flash model takes, forecast from a description; docs/evidence/drives.md.

use flash::BLOCK_BYTES;

use crate::flash_table::{FlashTable, Kind};

/// Of a packed extent, as promised.
const PACKED_BYTES: f64 = 8.0;

/// Drives with more blocks need a longer number for each in a snapshot.
const NARROW_BLOCKS: u64 = 1 << 24;

impl FlashTable {
    /// Bytes for each block of `user_bytes` of user capacity: of the model's tables, and at most of a snapshot of them.
    ///
    /// A compressing drive's flash is taken to be full of blocks that compress to `compressed_to` of 4096 bytes on
    /// average, and to its granularity at least.
    pub fn table_bytes_per_block(&self, user_bytes: u64, compressed_to: f64) -> (f64, f64) {
        let spare = self.over_provisioning();
        // What cannot be is left to the drive to refuse, by name.
        let physical = 1.0 + if spare >= 0.0 && spare.is_finite() { spare } else { 0.07 };
        if self.kind() == Kind::PageMapped {
            return (4.0 + 4.125 * physical, 4.0);
        }
        let block_bytes = f64::from(BLOCK_BYTES);
        let granularity = f64::from(self.granularity_bytes().clamp(1, BLOCK_BYTES));
        let smallest = compressed_to.max(granularity / block_bytes);
        let packed = packed_bytes(physical * block_bytes / granularity, user_bytes / u64::from(BLOCK_BYTES));
        (16.0 / 3.0 + 6.5 * physical / smallest, packed)
    }
}

/// Of an extent in a snapshot: its size, its block, and how many granules are dead before it, seven bits a byte; that
/// logarithm is at most what it is of `granules`, their mean.
fn packed_bytes(granules: f64, blocks: u64) -> f64 {
    let number = if blocks <= NARROW_BLOCKS { 3.0 } else { 4.0 };
    PACKED_BYTES.max(2.0 + number + 1.0 + granules.max(1.0).log(128.0))
}
