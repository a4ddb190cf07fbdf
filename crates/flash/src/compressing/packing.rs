//! How much flash extents take: lengths rounded to granules, and flash pages whose ends they may or may not cross.

use crate::BLOCK_BYTES;

/// Packing extents into blocks.
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

/// Extents that go one after the other into an open block, without a skip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    pub(super) count: usize,
    /// Their bytes after compression.
    pub(super) bytes: u32,
    /// Bytes of flash that they take.
    pub(super) footprint: u32,
}

impl Packing {
    /// Bytes of flash that `size` bytes take.
    #[inline(always)]
    pub(super) fn footprint(self, size: u32) -> u32 {
        (size + self.granularity - 1) & !(self.granularity - 1)
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

    /// The first of some extents that surely fit at `offset`, up to one that skips to the next flash page.
    #[inline(always)]
    pub(super) fn pack(self, offset: u32, sizes: &[u16]) -> Packed {
        let whole = |sizes: &[u16]| {
            // Two sums without a branch, which a processor forms several sizes at a time.
            let sums = sizes.iter().map(|&size| u32::from(size));
            let (bytes, footprint) =
                sums.fold((0, 0), |(bytes, footprint), size| (bytes + size, footprint + self.footprint(size)));
            Packed { count: sizes.len(), bytes, footprint }
        };
        if self.straddling {
            return whole(sizes);
        }
        let mut end = offset;
        let stays = |&&size: &&u16| {
            let footprint = self.footprint(size.into());
            let stays = self.skip(end, footprint) == 0;
            end += footprint;
            stays
        };
        whole(&sizes[..sizes.iter().take_while(stays).count()])
    }
}
