//! What an extent takes on flash, in a byte: all that an overwrite has to know of the old one's length.

use super::packing::Packing;
use crate::BLOCK_BYTES;

/// Granules less 1, or [`ASK`].
pub(super) type Footprint = u8;

/// A byte cannot say it: there is no extent, or it lies in two blocks, or granules are too fine.
pub(super) const ASK: Footprint = Footprint::MAX;

/// How footprints are said in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    shift: u32,
    /// All bits set where no byte says anything.
    unsaid: Footprint,
}

impl Scale {
    pub(super) fn of(packing: Packing) -> Self {
        let fits = BLOCK_BYTES / packing.granularity <= u32::from(ASK);
        Self { shift: packing.granularity.trailing_zeros(), unsaid: if fits { 0 } else { ASK } }
    }

    /// So many bytes of flash, which lie in one block.
    #[inline(always)]
    pub(super) fn say(self, bytes: u32) -> Footprint {
        (bytes >> self.shift).wrapping_sub(1) as Footprint | self.unsaid
    }

    /// Bytes of flash, if a byte says that.
    #[inline(always)]
    pub(super) fn bytes(self, footprint: Footprint) -> Option<u32> {
        (footprint != ASK).then(|| (u32::from(footprint) + 1) << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::{ASK, Scale};
    use crate::compressing::packing::Packing;

    #[test]
    fn a_byte_says_all_footprints_or_none() {
        for shift in 0..=12 {
            let granularity = 1 << shift;
            let scale =
                Scale::of(Packing { block_bytes: 1 << 20, flash_page_bytes: 1 << 14, granularity, straddling: true });
            for bytes in (1..=4096_u32 >> shift).map(|granules| granules << shift) {
                let said = scale.say(bytes);
                assert_eq!(said == ASK, shift < 5, "{bytes} bytes of granules of {granularity}");
                assert_eq!(scale.bytes(said), (shift >= 5).then_some(bytes));
            }
        }
    }
}
