//! Extents of a victim that have been copied, while their entries of the map are on their way.
//!
//! An entry is asked for when an extent is copied, and led to the copy when dozens more have been: nothing waits for
//! it. The copies name them, so runs of places are all that has to be kept. The entry is not read: a processor goes
//! on behind a write that waits for memory, but not far behind a read. Between two requests nothing waits.

use super::chunk::CHUNK;

/// More need not wait: far enough for main memory.
const ENOUGH: usize = 64;

/// Runs that can wait; a power of two. Few do: those in one chunk become one.
const RUNS: usize = 16;

/// Copies side by side in the logs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) count: usize,
}

/// A queue of runs.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    runs: [Run; RUNS],
    /// Runs that have come and those that have left, ever.
    came: usize,
    left: usize,
    extents: usize,
}

impl Waiting {
    pub(super) fn none() -> Self {
        Self { runs: [Run { first: 0, count: 0 }; RUNS], came: 0, left: 0, extents: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.came == self.left
    }

    /// A run comes in. There has to be room for it.
    #[inline(always)]
    pub(super) fn come(&mut self, run: Run) {
        self.extents += run.count;
        let last = &mut self.runs[self.came.wrapping_sub(1) % RUNS];
        if self.came != self.left && run.first % CHUNK > 0 && last.first + last.count as u32 == run.first {
            last.count += run.count;
            return;
        }
        self.runs[self.came % RUNS] = run;
        self.came += 1;
    }

    /// The run that has waited longest, if so many extents wait that it need not any more.
    #[inline(always)]
    pub(super) fn due(&mut self) -> Option<Run> {
        (self.extents > ENOUGH || self.came - self.left == RUNS).then(|| self.leave()).flatten()
    }

    /// The run that has waited longest, if any waits.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> Option<Run> {
        (self.came != self.left).then(|| {
            let run = self.runs[self.left % RUNS];
            self.left += 1;
            self.extents -= run.count;
            run
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, ENOUGH, RUNS, Run, Waiting};
    use crate::random::Random;

    #[test]
    fn all_leave_in_the_order_in_which_they_came() {
        let mut random = Random::new(3);
        let (mut waiting, mut next) = (Waiting::none(), 0);
        let (mut came, mut left) = (Vec::new(), Vec::new());
        let places = |run: Run| run.first..run.first + run.count as u32;
        for _ in 0..1000 {
            let run = Run { first: next, count: 1 + random.below(CHUNK - next % CHUNK) as usize };
            came.extend(places(run));
            waiting.come(run);
            next = places(run).end;
            if random.below(4) == 0 {
                next = (next / CHUNK + 2) * CHUNK;
            }
            while let Some(run) = waiting.due() {
                left.extend(places(run));
            }
            assert!(came.len() - left.len() <= ENOUGH && waiting.came - waiting.left < RUNS);
        }
        assert!(left.len() > 1000);
        while let Some(run) = waiting.leave() {
            left.extend(places(run));
        }
        assert_eq!(came, left);
    }
}
