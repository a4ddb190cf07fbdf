//! Extents of a victim that collection is going to move, while their entries of the map are on their way.
//!
//! An entry is asked for when the victim's log names the extent, and led to the copy when dozens more have been named,
//! so that nobody waits for it; and what waits fills whole chunks, however little of a victim's chunks is live. The
//! entry is not read: a processor goes on behind a write that waits for memory, but not far behind a read. Between two
//! requests nothing waits.

use std::num::NonZero;

use super::log::CHUNK;

const WIDTH: usize = CHUNK as usize;

/// More need not wait: three chunks are far enough for main memory, and one more comes in at once.
const ENOUGH: usize = 3 * WIDTH;

/// Room for the queue to advance in before it is moved back: twice as much as may be in it.
const ROOM: usize = 2 * (ENOUGH + WIDTH);

/// A queue in one piece, so that whoever takes from it sees a slice.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    lbas: [u32; ROOM],
    sizes: [u16; ROOM],
    first: usize,
    end: usize,
}

impl Waiting {
    pub(super) fn none() -> Self {
        Self { lbas: [0; ROOM], sizes: [0; ROOM], first: 0, end: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Whether some have to leave before a chunk's can come.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.end - self.first > ENOUGH
    }

    /// Names and sizes of all that wait, those that have waited longest first.
    #[inline(always)]
    pub(super) fn all(&self) -> (&[u32], &[u16]) {
        (&self.lbas[self.first..self.end], &self.sizes[self.first..self.end])
    }

    /// The first `count` have been moved.
    #[inline(always)]
    pub(super) fn leave(&mut self, count: usize) {
        self.first += count;
    }

    /// Those of a chunk that are `live` come in, and `fetch` is told the name of each.
    #[inline(always)]
    pub(super) fn come(&mut self, chunk: (&[u32; WIDTH], &[u16; WIDTH]), live: u32, fetch: impl Fn(u32)) {
        if self.end > ROOM - WIDTH {
            self.lbas.copy_within(self.first..self.end, 0);
            self.sizes.copy_within(self.first..self.end, 0);
            (self.first, self.end) = (0, self.end - self.first);
        }
        let lbas: &mut [u32; WIDTH] = self.lbas[self.end..].first_chunk_mut().expect("nothing comes when it is full");
        let sizes: &mut [u16; WIDTH] = self.sizes[self.end..].first_chunk_mut().expect("as many as there are names");
        let (mut left, mut count) = (live, 0);
        while let Some(set) = NonZero::new(left) {
            let index = set.trailing_zeros() as usize % WIDTH;
            let lba = chunk.0[index];
            (lbas[count % WIDTH], sizes[count % WIDTH]) = (lba, chunk.1[index]);
            fetch(lba);
            left &= left - 1;
            count += 1;
        }
        self.end += count;
    }
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH, WIDTH, Waiting};
    use crate::random::Random;

    #[test]
    fn who_comes_leaves_in_the_same_order() {
        let mut waiting = Waiting::none();
        let mut random = Random::new(3);
        let (mut next, mut expected) = (0, std::collections::VecDeque::new());
        for _ in 0..1000 {
            while waiting.is_full() {
                let count = 1 + random.below(WIDTH as u32) as usize;
                assert!(waiting.all().0.iter().take(count).copied().eq(expected.drain(..count)));
                waiting.leave(count);
            }
            let names = std::array::from_fn(|index| next + index as u32);
            let live = random.bits() as u32;
            let named = (0..WIDTH as u32).filter(|bit| live >> bit & 1 == 1).map(|bit| next + bit);
            let fetched = std::cell::Cell::new(0);
            waiting.come((&names, &names.map(|name| name as u16)), live, |_| fetched.set(fetched.get() + 1));
            assert_eq!(fetched.get(), live.count_ones());
            expected.extend(named);
            let (names, sizes) = waiting.all();
            assert!(names.iter().eq(&expected) && expected.len() <= ENOUGH + WIDTH);
            assert!(names.iter().map(|&name| name as u16).eq(sizes.iter().copied()));
            next += WIDTH as u32;
        }
        waiting.leave(expected.len());
        assert!(waiting.is_empty());
    }
}
