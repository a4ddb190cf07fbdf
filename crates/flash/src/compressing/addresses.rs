//! Where extents lie on flash: packing is deterministic, so the offsets in a block follow from the sizes before.

use super::chunk::{CHUNK, NONE};
use super::log::{Log, Logs};
use super::packing::Packing;

impl Logs {
    /// Where in its block each extent of a chunk begins; what was never written has no meaning.
    pub(super) fn offsets(&self, chunk: u32, packing: Packing) -> [u32; CHUNK as usize] {
        let mut end = self.link(chunk).offset;
        std::array::from_fn(|index| {
            let footprint = packing.footprint(self.entry(chunk * CHUNK + index as u32).size);
            let start = end + packing.skip(end, footprint);
            end = start + footprint;
            start
        })
    }

    /// Where in its block an extent begins.
    pub(super) fn offset(&self, place: u32, packing: Packing) -> u32 {
        self.offsets(place / CHUNK, packing)[(place % CHUNK) as usize]
    }

    /// The places of a block's log, in order.
    pub(super) fn places(&self, block: u32) -> impl Iterator<Item = u32> + use<'_> {
        let (first, Log { last, left }) = (self.first(block), self.log(block));
        let chunks = std::iter::successors((first != NONE).then_some(first), |&chunk| {
            Some(self.after(chunk)).filter(|&next| next != NONE)
        });
        chunks.flat_map(move |chunk| {
            let end = (chunk + 1) * CHUNK;
            chunk * CHUNK..if chunk == last { end - left } else { end }
        })
    }
}
