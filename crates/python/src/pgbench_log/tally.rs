//! What is counted for one script in one interval, or in any union of them.

use super::line::{Outcome, Transaction};
use crate::latency_sketch::LatencySketch;

/// Counts beside the latencies; sums in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub by_outcome: [u64; 6],
    /// Transactions that were tried more than once, failed ones included.
    pub retried: u64,
    pub retries: u64,
    /// Lag of the successful ones behind the schedule of `--rate`.
    pub lag_sum_us: u128,
    pub lag_max_us: u64,
}

impl Counts {
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.by_outcome[outcome as usize]
    }

    /// Transactions that failed for any reason; skipped ones did not run.
    pub fn failed(&self) -> u64 {
        [
            Outcome::Failed,
            Outcome::Serialization,
            Outcome::Deadlock,
            Outcome::Other,
        ]
        .map(|o| self.of(o))
        .iter()
        .sum()
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine += theirs;
        }
        self.retried += other.retried;
        self.retries += other.retries;
        self.lag_sum_us += other.lag_sum_us;
        self.lag_max_us = self.lag_max_us.max(other.lag_max_us);
    }
}

/// Counts and latencies while they are being filled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub counts: Counts,
    pub latency: LatencySketch,
}

impl Tally {
    #[inline]
    pub fn add(&mut self, transaction: &Transaction) {
        self.counts.by_outcome[transaction.outcome as usize] += 1;
        match transaction.outcome {
            Outcome::Succeeded => {
                self.latency.record(transaction.latency_us, 1);
                self.counts.lag_sum_us += u128::from(transaction.lag_us);
                self.counts.lag_max_us = self.counts.lag_max_us.max(transaction.lag_us);
            }
            // Its retries column is left from the transaction before: pgbench's own summary does not count it either.
            Outcome::Skipped => return,
            _ => {}
        }
        self.counts.retries += transaction.retries;
        self.counts.retried += u64::from(transaction.retries > 0);
    }

    pub fn is_empty(&self) -> bool {
        self.counts.by_outcome == [0; 6]
    }

    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.latency.clear();
    }
}

/// A tally at rest: its sketch as bytes, so that a run of hours needs megabytes only.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedTally {
    pub counts: Counts,
    latency: Box<[u8]>,
}

impl From<&Tally> for PackedTally {
    fn from(tally: &Tally) -> Self {
        Self {
            counts: tally.counts,
            latency: tally.latency.to_bytes().into(),
        }
    }
}

impl PackedTally {
    /// Adds this to `tally`.
    pub fn merge_into(&self, tally: &mut Tally) {
        tally.counts.merge(&self.counts);
        tally
            .latency
            .merge_bytes(&self.latency)
            .expect("the bytes come from a sketch");
    }
}
