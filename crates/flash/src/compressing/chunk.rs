//! A chunk of a log: 32 extents, their names apart from what an overwrite looks at ([`uses`](super::uses)) and from
//! where the chunk stands in its log, since each is needed without the others.

/// Extents in a chunk, as many as a word has bits. Less wastes links, more the last chunk of each block.
pub(super) const CHUNK: u32 = u32::BITS;
/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

const WIDTH: usize = CHUNK as usize;

/// Links in a cache line.
pub(super) const LINKS_PER_LINE: usize = 64 / size_of::<Link>();

/// What a chunk names, in three cache lines; at places never written it has no meaning.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Names {
    pub(super) lbas: [u32; WIDTH],
    /// Bytes after compression.
    pub(super) sizes: [u16; WIDTH],
}

impl Names {
    pub(super) const UNWRITTEN: Self = Self { lbas: [0; _], sizes: [0; _] };

    /// Logical block and bytes of the first extent whose bit is set.
    #[inline(always)]
    pub(super) fn first(&self, bits: u32) -> (u32, u16) {
        let index = bits.trailing_zeros() as usize % WIDTH;
        (self.lbas[index], self.sizes[index])
    }
}

/// Where a chunk stands in its log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The chunk that follows.
    pub(super) next: u32,
    /// Bytes of the block before its first extent and what is skipped for that.
    pub(super) offset: u32,
}

#[cfg(test)]
mod tests {
    use super::{Link, Names};

    #[test]
    fn an_extent_takes_six_and_a_quarter_bytes_here() {
        assert_eq!((size_of::<Names>(), align_of::<Names>(), size_of::<Link>()), (3 * 64, 64, 8));
    }
}
