//! A load with arrivals: reads and writes of an [`Input`] as trace records.

use crate::error::FlashError;
use crate::input::{BATCH_WRITES, Batch, Input};
use crate::random::Random;
use crate::trace::{Operation, Record};

/// Single-block requests: a share are reads of blocks that the same input names, the others are its writes.
#[derive(Debug, Clone)]
pub struct Load {
    input: Input,
    batch: Batch,
    position: usize,
    read_share: f64,
    gap_ns: f64,
    time_ns: f64,
    left: u64,
    random: Random,
}

impl Load {
    /// `requests` requests. Without a rate all arrive at time 0, which suits [`super::Arrivals::Closed`]; with one,
    /// they arrive at random (a Poisson process).
    pub fn new(
        input: Input,
        requests: u64,
        read_share: f64,
        per_second: Option<f64>,
        seed: u64,
    ) -> Result<Self, FlashError> {
        if !(0.0..=1.0).contains(&read_share) {
            return Err(FlashError::invalid("read share", read_share, "must lie between 0 and 1"));
        }
        if let Some(rate) = per_second.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
            return Err(FlashError::invalid("requests per second", rate, "must be greater than 0"));
        }
        let gap_ns = per_second.map_or(0.0, |rate| 1e9 / rate);
        let random = Random::new(seed);
        Ok(Self {
            input,
            batch: Batch::default(),
            position: 0,
            read_share,
            gap_ns,
            time_ns: 0.0,
            left: requests,
            random,
        })
    }

    /// The next request; `false` after the last.
    pub fn next(&mut self, record: &mut Record) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.position == self.batch.len() {
            self.input.fill(&mut self.batch, BATCH_WRITES);
            self.position = 0;
        }
        self.time_ns -= self.gap_ns * (1.0 - self.random.unit()).ln();
        let is_read = self.random.unit() < self.read_share;
        record.time_ns = self.time_ns as u64;
        record.operation = if is_read { Operation::Read } else { Operation::Write };
        record.first_block = self.batch.lbas[self.position];
        record.blocks = 1;
        record.stream = self.batch.handles.get(self.position).copied().unwrap_or(0);
        record.compressed_bytes.clear();
        if !is_read {
            record.compressed_bytes.push(self.batch.compressed_bytes[self.position]);
        }
        self.position += 1;
        true
    }
}
