//! Which requests of a recording continue one another: WAL, a table that grows, a large write that was cut up.
//!
//! Between two requests of a run lie those of other runs, so a request continues any of the latest ones that it
//! starts in or right after; the tail of WAL is written again with each commit. What later starts where a run began
//! goes on with that run: it is written round and round.

use std::collections::HashMap;

/// Requests after which a run that was not continued has ended.
const NEAR: usize = 256;

/// Sorts requests into runs, in the order of the recording.
pub struct Runs {
    /// First block of the latest requests, by number modulo [`NEAR`]; [`NOBODY`] once another has continued it.
    firsts: [u32; NEAR],
    /// One past their last block.
    ends: [u32; NEAR],
    runs: [u32; NEAR],
    /// By its first block, who began there.
    heads: HashMap<u32, u32>,
    requests: usize,
    count: u32,
}

/// No block has this number.
const NOBODY: u32 = u32::MAX;

impl Runs {
    /// Before the first request.
    pub fn new() -> Self {
        Self { firsts: [NOBODY; NEAR], ends: [0; NEAR], runs: [0; NEAR], heads: HashMap::new(), requests: 0, count: 0 }
    }

    /// The run of the next request, which writes the blocks `first` to `end - 1`.
    pub fn next(&mut self, first: u32, end: u32) -> u32 {
        let tail = self.firsts.iter().zip(&self.ends).position(|(&start, &end)| start <= first && first <= end);
        let run = match tail {
            Some(slot) => {
                self.firsts[slot] = NOBODY;
                self.runs[slot]
            }
            None => {
                let next = self.count;
                let run = *self.heads.entry(first).or_insert(next);
                self.count += u32::from(run == next);
                run
            }
        };
        let slot = self.requests % NEAR;
        (self.firsts[slot], self.ends[slot], self.runs[slot]) = (first, end, run);
        self.requests += 1;
        run
    }

    /// A run of its own, that nothing continues.
    pub fn alone(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::{NEAR, Runs};

    fn runs_of(requests: &[(u32, u32)]) -> Vec<u32> {
        let mut runs = Runs::new();
        requests.iter().map(|&(first, end)| runs.next(first, end)).collect()
    }

    #[test]
    fn what_goes_on_where_another_ended_is_one_run_whoever_writes_in_between() {
        assert_eq!(runs_of(&[(10, 14), (500, 502), (14, 18), (90, 92), (18, 19)]), [0, 1, 0, 2, 0]);
        assert_eq!(runs_of(&[(10, 12), (13, 15), (8, 10)]), [0, 1, 2], "a gap, and a step back");
    }

    #[test]
    fn the_tail_of_wal_is_written_again_and_the_ring_again_from_its_start() {
        assert_eq!(runs_of(&[(0, 2), (0, 2), (0, 6), (4, 8)]), [0; 4]);
        let ring: Vec<(u32, u32)> = (0..3).flat_map(|_| (0..8).map(|at| (4 * at, 4 * at + 4))).collect();
        assert_eq!(runs_of(&ring), [0; 24]);
    }

    #[test]
    fn what_nobody_continued_for_long_has_ended() {
        let mut requests = vec![(7, 8)];
        requests.extend((0..NEAR as u32).map(|at| (1000 + 10 * at, 1001 + 10 * at)));
        requests.push((8, 9));
        let runs = runs_of(&requests);
        assert_eq!(runs.last(), Some(&(NEAR as u32 + 1)));
        requests.remove(1);
        assert_eq!(runs_of(&requests).last(), Some(&0));
    }
}
