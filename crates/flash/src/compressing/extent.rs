//! An extent: where the compressed form of a logical block lies, and how long it is, in 8 bytes.
//!
//! 48 bits of address name each byte of 256 TiB; the other 16 hold the size (0 to 4096 bytes). An address is a block
//! number followed by a byte offset of as many bits as a block needs, so no division is ever made.

/// An entry of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent(u64);

const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

impl Extent {
    /// The logical block holds nothing.
    pub(super) const UNMAPPED: Self = Self(u64::MAX);
    /// The logical block holds zeros, which take no flash. No other extent has size 0.
    pub(super) const ZEROS: Self = Self(ADDRESS_MASK);

    #[inline(always)]
    pub(super) fn new(address: u64, size: u32) -> Self {
        Self(address | u64::from(size) << ADDRESS_BITS)
    }

    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        self.0 & ADDRESS_MASK
    }

    /// Bytes after compression.
    #[inline(always)]
    pub(super) fn size(self) -> u32 {
        (self.0 >> ADDRESS_BITS) as u32
    }

    /// Whether it takes flash.
    #[inline(always)]
    pub(super) fn is_stored(self) -> bool {
        self != Self::UNMAPPED && self != Self::ZEROS
    }
}

/// How addresses and lengths on flash are made.
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
    offset_bits: u32,
}

impl Packing {
    pub(super) fn new(block_bytes: u32, flash_page_bytes: u32, granularity: u32, straddling: bool) -> Self {
        let offset_bits = u32::BITS - (block_bytes - 1).leading_zeros();
        Self { block_bytes, flash_page_bytes, granularity, straddling, offset_bits }
    }

    /// Number of blocks whose bytes have an address.
    pub(super) fn addressable_blocks(self) -> u64 {
        1 << (ADDRESS_BITS - self.offset_bits)
    }

    /// Bytes of flash that `size` bytes take.
    #[inline(always)]
    pub(super) fn footprint(self, size: u32) -> u32 {
        (size + self.granularity - 1) & !(self.granularity - 1)
    }

    #[inline(always)]
    pub(super) fn address(self, block: u32, offset: u32) -> u64 {
        u64::from(block) << self.offset_bits | u64::from(offset)
    }

    #[inline(always)]
    pub(super) fn block(self, address: u64) -> u32 {
        (address >> self.offset_bits) as u32
    }

    #[inline(always)]
    pub(super) fn offset(self, address: u64) -> u32 {
        (address & ((1 << self.offset_bits) - 1)) as u32
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
