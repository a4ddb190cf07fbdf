//! What the chunks of the logs are used for: all that an overwrite looks at, 8 bytes a chunk.

use super::chunk::CHUNK;

/// The block whose log has a chunk, and which of the extents named there are live.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    pub(super) block: u32,
    /// A bit for each extent.
    pub(super) live: u32,
}

/// The same of all chunks, to release many extents.
pub(super) struct Uses<'a>(pub(super) &'a mut [Use]);

impl Uses<'_> {
    /// An extent is dead from now on. Returns the block whose log names it.
    #[inline(always)]
    pub(super) fn kill(&mut self, place: u32) -> u32 {
        let chunk = &mut self.0[(place / CHUNK) as usize];
        chunk.live &= !(1 << (place % CHUNK));
        chunk.block
    }
}
