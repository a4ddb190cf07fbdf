//! Greedy: the block with the least live data. The least work now, and for uniform random writes the least of all.
//!
//! Blocks wait in buckets by how much of them is live. An overwrite moves one block one bucket down; the lowest bucket
//! in use is found by a pointer that an overwrite can lower and a choice moves up. Every step takes constant time.
//! Where the live amount has too many values (bytes), a bucket holds a range of 2^`shift` of them, and greedy is exact
//! up to that range.

use super::rings::Rings;

/// Sealed blocks by their live amount.
#[derive(Debug, Clone)]
pub(crate) struct Greedy {
    buckets: Rings,
    shift: u32,
    count: u32,
    lowest: u32,
}

impl Greedy {
    /// An index for `blocks` blocks that each hold up to `capacity` of whatever is counted, with about
    /// `levels` buckets.
    pub(crate) fn new(blocks: u32, capacity: u32, levels: u32) -> Self {
        let mut shift = 0;
        while capacity >> shift > levels {
            shift += 1;
        }
        let count = (capacity >> shift) + 1;
        Self { buckets: Rings::new(blocks, count), shift, count, lowest: count }
    }

    pub(crate) fn insert(&mut self, block: u32, live: u32) {
        let bucket = live >> self.shift;
        self.buckets.append(bucket, block);
        self.lowest = self.lowest.min(bucket);
    }

    #[inline(always)]
    pub(crate) fn fell(&mut self, block: u32, before: u32, after: u32) {
        let bucket = after >> self.shift;
        if bucket != before >> self.shift && self.buckets.contains(block) {
            self.buckets.shift(bucket, block);
            self.lowest = self.lowest.min(bucket);
        }
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, block: u32) {
        self.buckets.prefetch(block);
    }

    pub(crate) fn remove(&mut self, block: u32) {
        self.buckets.remove(block);
    }

    pub(crate) fn choose(&mut self) -> Option<u32> {
        while self.lowest < self.count {
            if let Some(block) = self.buckets.first(self.lowest) {
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }
}
