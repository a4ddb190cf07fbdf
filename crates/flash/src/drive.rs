//! What every modelled drive can do, whatever lies inside it.

use crate::counters::Counters;
use crate::error::FlashError;
use crate::observer::Observer;
use crate::wear::Wear;

/// Where a logical block lies on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The superblock.
    pub block: u32,
    /// Byte offset inside it.
    pub offset: u64,
    /// Bytes stored; they may run over into the next block of the stream if extents straddle.
    pub bytes: u32,
}

/// A drive as its host sees it, plus what it tells about its flash.
pub trait Drive {
    /// Who watches the flash.
    type Observer: Observer;

    /// Number of logical blocks of 4096 bytes.
    fn logical_blocks(&self) -> u32;

    /// Writes one logical block that compresses to `compressed_bytes` (0 to 4096), with placement handle 0.
    fn write(&mut self, lba: u32, compressed_bytes: u32) -> Result<(), FlashError> {
        self.write_placed(lba, compressed_bytes, 0)
    }

    /// The same with a placement handle, as in NVMe's streams and flexible data placement (see [`crate::streams`]).
    fn write_placed(&mut self, lba: u32, compressed_bytes: u32, handle: u8) -> Result<(), FlashError>;

    /// Writes many blocks in order, as fast as memory allows. `compressed_bytes` is either empty (nothing compresses)
    /// or holds one size an address. On an error all writes before the failing one have been done.
    fn write_batch(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError>;

    /// Tells the drive that `count` blocks from `lba` on hold nothing any more.
    fn trim(&mut self, lba: u32, count: u32) -> Result<(), FlashError>;

    /// Where the newest copy of a block lies; `None` for blocks never written, trimmed, or kept in the map alone.
    fn locate(&self, lba: u32) -> Option<Location>;

    /// Logical blocks that hold something.
    fn mapped_blocks(&self) -> u64;

    /// Bytes of flash that hold live data.
    fn live_bytes(&self) -> u64;

    /// Bytes of flash that may hold live data or garbage: all but the reserve and the open blocks.
    fn usable_bytes(&self) -> u64;

    /// Superblocks that are erased and not open.
    fn free_blocks(&self) -> u32;

    /// Everything counted since the drive was made.
    fn counters(&self) -> Counters;

    /// Erase counts.
    fn wear(&self) -> Wear;

    /// Who watches, for reading what it has seen.
    fn observer(&self) -> &Self::Observer;

    /// Who watches, for changing it.
    fn observer_mut(&mut self) -> &mut Self::Observer;
}
