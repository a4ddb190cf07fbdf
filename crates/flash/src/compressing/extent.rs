//! The map's entry, in 6 bytes: the *place* in the logs at which the logical block is named, and its size.
//!
//! A place needs 32 bits where an address on flash would need 48, and leads to all that an overwrite has to know: the
//! block (`logs`) and one bit that says live or dead. The address follows from the log, whose sizes add up.

use crate::BLOCK_BYTES;

/// An entry of the map. Its fields lie side by side, without the two bytes that would align them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
pub(super) struct Extent {
    place: u32,
    size: u16,
}

/// In the size: the extent runs on into another block.
const STRADDLES: u16 = 1 << 15;

impl Extent {
    /// The logical block holds nothing.
    pub(super) const UNMAPPED: Self = Self { place: u32::MAX, size: u16::MAX };
    /// The logical block holds zeros, which take no flash. No other extent has size 0.
    pub(super) const ZEROS: Self = Self { place: u32::MAX, size: 0 };

    /// An extent of 1 to 4096 bytes that lies in one block.
    #[inline(always)]
    pub(super) fn whole(place: u32, size: u32) -> Self {
        Self { place, size: size as u16 }
    }

    /// One that runs on into another block.
    pub(super) fn straddling(place: u32, size: u32) -> Self {
        Self { place, size: size as u16 | STRADDLES }
    }

    /// One as it lay in the map: what [`Self::parts`] gave.
    #[inline(always)]
    pub(super) fn of((place, size): (u32, u16)) -> Self {
        Self { place, size }
    }

    /// Its two fields: side by side in a register each, they need no detour through memory.
    #[inline(always)]
    pub(super) fn parts(self) -> (u32, u16) {
        (self.place, self.size)
    }

    /// Where the logs name it.
    #[inline(always)]
    pub(super) fn place(self) -> u32 {
        self.place
    }

    /// Bytes after compression.
    #[inline(always)]
    pub(super) fn size(self) -> u32 {
        u32::from(self.size & !STRADDLES)
    }

    /// Whether it takes flash, all of it in one block.
    #[inline(always)]
    pub(super) fn is_whole(self) -> bool {
        self.size.wrapping_sub(1) < STRADDLES - 1
    }

    /// Whether it takes flash.
    #[inline(always)]
    pub(super) fn is_stored(self) -> bool {
        self != Self::UNMAPPED && self != Self::ZEROS
    }
}

/// How much flash extents take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Bytes of a superblock.
    pub(super) block_bytes: u32,
    /// Bytes of a flash page.
    pub(super) flash_page_bytes: u32,
    /// Bytes that each length is rounded up to a multiple of; a power of two.
    pub(super) granularity: u32,
    /// Whether extents cross the ends of flash pages and blocks.
    pub(super) straddling: bool,
}

impl Packing {
    /// Bytes of flash that `size` bytes take.
    #[inline(always)]
    pub(super) fn footprint(self, size: u32) -> u32 {
        (size + self.granularity - 1) & !(self.granularity - 1)
    }

    /// The same for what the map has.
    #[inline(always)]
    pub(super) fn taken(self, extent: Extent) -> u32 {
        if extent.is_stored() { self.footprint(extent.size()) } else { 0 }
    }

    /// Extents of whatever size that fit into a block of which `offset` bytes are taken, and leave a byte that the
    /// general case, which fills blocks, will take. Where extents skip to the next flash page, fewer may fit.
    #[inline(always)]
    pub(super) fn surely_fit(self, offset: u32) -> u32 {
        (self.block_bytes - offset).saturating_sub(1) / BLOCK_BYTES
    }

    /// Bytes to leave empty at `offset` before an extent, so that it does not cross the end of a flash page.
    #[inline(always)]
    pub(super) fn skip(self, offset: u32, footprint: u32) -> u32 {
        if self.straddling {
            return 0;
        }
        let rest = self.flash_page_bytes - offset % self.flash_page_bytes;
        if rest < footprint { rest } else { 0 }
    }
}
