//! Greedy: the block with the least live data. The least work now, and for uniform random writes the least of all.
//!
//! Blocks wait in buckets by how much of them is live, but only those *in sight*: below a horizon under which some
//! thirtieth of them lie. The next choices are among these, so of the overwrites only the few that hit one have to move
//! a block one bucket down; all others change a count and nothing else. The lowest bucket in use is found by a pointer
//! that an overwrite can lower and a choice moves up. When no block is in sight any more, or far too many are, all are
//! looked at and the horizon is set anew: the choices in between pay for that, so every step takes constant time on
//! average. Where the live amount has too many values (bytes), a bucket holds a range of 2^`shift` of them, and greedy
//! is exact up to that range.

use super::rings::Rings;

/// One in so many blocks is in sight when the horizon has been set.
const SCARCITY: u32 = 32;

/// Times as many may come into sight before the horizon is set anew.
const CROWD: u32 = 4;

/// Sealed blocks by their live amount.
#[derive(Debug, Clone)]
pub(crate) struct Greedy {
    buckets: Rings,
    sealed: Vec<bool>,
    shift: u32,
    count: u32,
    lowest: u32,
    /// A sealed block is in a bucket exactly if less than this is live.
    horizon: u32,
    in_sight: u32,
    choices: u32,
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
        let (buckets, sealed) = (Rings::new(blocks, count), vec![false; blocks as usize]);
        Self { buckets, sealed, shift, count, lowest: count, horizon: 0, in_sight: 0, choices: 0 }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.buckets.memory_bytes() + size_of_val(&*self.sealed) as u64
    }

    pub(crate) fn insert(&mut self, block: u32, live: u32) {
        self.sealed[block as usize] = true;
        if live < self.horizon {
            self.enter(block, live);
        }
    }

    #[inline(always)]
    pub(crate) fn fell(&mut self, block: u32, before: u32, after: u32) {
        if after < self.horizon {
            self.fell_in_sight(block, before, after);
        }
    }

    #[inline(never)]
    fn fell_in_sight(&mut self, block: u32, before: u32, after: u32) {
        if !self.sealed[block as usize] {
            return;
        }
        let bucket = after >> self.shift;
        if before >= self.horizon {
            self.enter(block, after);
        } else if bucket != before >> self.shift {
            self.buckets.shift(bucket, block);
            self.lowest = self.lowest.min(bucket);
        }
    }

    fn enter(&mut self, block: u32, live: u32) {
        let bucket = live >> self.shift;
        self.buckets.append(bucket, block);
        self.lowest = self.lowest.min(bucket);
        self.in_sight += 1;
    }

    pub(crate) fn remove(&mut self, block: u32) {
        self.sealed[block as usize] = false;
        if self.buckets.contains(block) {
            self.buckets.remove(block);
            self.in_sight -= 1;
        }
    }

    /// The block of the policy's choice; `live` are the amounts of all blocks.
    pub(crate) fn choose(&mut self, live: &[u32]) -> Option<u32> {
        let blocks = self.sealed.len() as u32;
        self.choices = self.choices.saturating_add(1);
        let crowded = self.in_sight > blocks / SCARCITY * CROWD && self.choices > blocks / SCARCITY;
        if self.in_sight == 0 || crowded {
            self.look_around(live);
        }
        self.likely_next()
    }

    /// The block that is lowest of those in sight.
    pub(crate) fn likely_next(&mut self) -> Option<u32> {
        while self.lowest < self.count {
            if let Some(block) = self.buckets.first(self.lowest) {
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }

    /// Sets the horizon just above the lowest thirtieth of the blocks, and fills the buckets below it.
    fn look_around(&mut self, live: &[u32]) {
        let mut sealed = vec![0_u32; self.count as usize];
        let buckets = live.iter().zip(&self.sealed).filter(|&(_, &is_sealed)| is_sealed);
        buckets.for_each(|(&live, _)| sealed[(live >> self.shift) as usize] += 1);
        let wanted = sealed.iter().sum::<u32>() / SCARCITY + 1;
        let mut below = 0;
        let above = sealed.iter().take_while(|&&blocks| {
            below += blocks;
            below < wanted
        });
        // Past the last bucket there is nothing, so its upper end may be cut.
        let horizon = (above.count() as u64 + 1) << self.shift;
        self.horizon = u32::try_from(horizon).unwrap_or(u32::MAX);
        self.buckets.clear();
        (self.lowest, self.in_sight, self.choices) = (self.count, 0, 0);
        for (block, &live) in live.iter().enumerate() {
            if self.sealed[block] && live < self.horizon {
                self.enter(block as u32, live);
            }
        }
    }
}
