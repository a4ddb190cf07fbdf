//! A cloud's volume: a drive across a network that takes so many I/Os and bytes a second, and no more.
//!
//! A request waits until the caps let it pass, then for a place in the queue, and is answered after the way there and
//! back. Clouds cap rates by token buckets; credits for bursts are a large one, behind the cap of the burst. What lies
//! behind the network (replication, the media) is its latency alone: a write is answered when it is safe.

mod bucket;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use bucket::TokenBucket;

use super::device::{Answer, Device, Limits, Request};
use super::flights::{Flight, Flights};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::random::Random;
use crate::trace::Operation;

/// A cap looks at hundredths of a second: so much of a second passes at once after a pause.
const SLACK: u64 = 100;

/// The largest request of a host: it passes the cap of throughput in one piece.
const LARGEST_BYTES: u64 = 1 << 20;

/// What a volume is sold as, and how far away it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumeTimes {
    /// I/Os a second for as long as one likes.
    pub iops: u64,
    /// I/Os a second while there are credits; without meaning if `burst_ios` is 0.
    pub burst_iops: u64,
    /// Credits of a full bucket, which `iops` refill: one for each I/O. 0: it does not burst.
    pub burst_ios: u64,
    /// Throughput of reads and writes together.
    pub bytes_per_second: u64,
    /// Bytes that count as one I/O; a larger request counts as several.
    pub io_bytes: u64,
    /// A read or write, from where the caps let it pass to its answer.
    pub latency_ns: u64,
    /// The same for the few that take long.
    pub tail_ns: u64,
    /// Their share.
    pub tail_share: f64,
    /// A flush: the way there and back, since what has been answered is safe.
    pub flush_ns: u64,
    /// Requests that are on their way at once; others wait.
    pub queue_depth: u32,
}

impl Default for VolumeTimes {
    fn default() -> Self {
        Self {
            iops: 3000,
            burst_iops: 3000,
            burst_ios: 0,
            bytes_per_second: 125 << 20,
            io_bytes: 256 << 10,
            latency_ns: 700_000,
            tail_ns: 4_000_000,
            tail_share: 0.01,
            flush_ns: 500_000,
            queue_depth: 64,
        }
    }
}

impl VolumeTimes {
    /// Refuses what no volume can be.
    pub fn check(&self) -> Result<(), FlashError> {
        let positive = [
            ("iops", self.iops),
            ("bytes per second", self.bytes_per_second),
            ("io bytes", self.io_bytes),
            ("queue depth", self.queue_depth.into()),
        ];
        for (field, value) in positive {
            if value == 0 {
                return Err(FlashError::invalid(field, value, "must be greater than 0"));
            }
        }
        if self.burst_ios > 0 && self.burst_iops <= self.iops {
            let reason = format!("must be above iops, which is {}, or no burst would use the credits", self.iops);
            return Err(FlashError::invalid("burst iops", self.burst_iops, reason));
        }
        if self.tail_ns < self.latency_ns {
            return Err(FlashError::invalid("tail ns", self.tail_ns, "must not be below latency ns"));
        }
        if !(0.0..=1.0).contains(&self.tail_share) {
            return Err(FlashError::invalid("tail share", self.tail_share, "must be from 0 to 1"));
        }
        Ok(())
    }
}

/// Stretches of time that overlap, and their length in all.
#[derive(Debug, Clone, Copy, Default)]
struct Stretches {
    sum_ns: u64,
    until_ns: u64,
}

impl Stretches {
    fn add(&mut self, from_ns: u64, until_ns: u64) {
        self.sum_ns += until_ns.saturating_sub(self.until_ns.max(from_ns));
        self.until_ns = self.until_ns.max(until_ns);
    }

    /// Without what is still to come.
    fn before(&self, now_ns: u64) -> u64 {
        self.sum_ns - self.until_ns.saturating_sub(now_ns).min(self.sum_ns)
    }
}

/// See [`Device`]. All of a request's way is known when it comes, since none overtakes another at the caps.
#[derive(Debug)]
pub struct Volume {
    times: VolumeTimes,
    ios: TokenBucket,
    credits: Option<TokenBucket>,
    bytes: TokenBucket,
    on_their_way: BinaryHeap<Reverse<u64>>,
    random: Random,
    now_ns: u64,
    flights: Flights,
    ios_limited: Stretches,
    bytes_limited: Stretches,
    without_credits: Stretches,
}

impl Volume {
    /// At time 0, idle, with all credits.
    pub fn new(times: VolumeTimes) -> Result<Self, FlashError> {
        times.check()?;
        let rate = if times.burst_ios > 0 { times.burst_iops } else { times.iops };
        Ok(Self {
            times,
            ios: TokenBucket::new(rate, (rate / SLACK).max(1)),
            credits: (times.burst_ios > 0).then(|| TokenBucket::new(times.iops, times.burst_ios)),
            bytes: TokenBucket::new(times.bytes_per_second, (times.bytes_per_second / SLACK).max(LARGEST_BYTES)),
            on_their_way: BinaryHeap::new(),
            random: Random::new(1),
            now_ns: 0,
            flights: Flights::default(),
            ios_limited: Stretches::default(),
            bytes_limited: Stretches::default(),
            without_credits: Stretches::default(),
        })
    }

    /// When the caps have let a read or write pass.
    fn passes_ns(&mut self, arrived_ns: u64, bytes: u64) -> u64 {
        let ios = bytes.div_ceil(self.times.io_bytes).max(1);
        let mut passed_ns = self.ios.pass(arrived_ns, ios);
        let mut next_ns = self.ios.holds_ns(1);
        if let Some(credits) = &mut self.credits {
            let came_ns = passed_ns;
            passed_ns = credits.pass(came_ns, ios);
            let credit_ns = credits.holds_ns(1);
            self.without_credits.add(came_ns, credit_ns.max(passed_ns));
            next_ns = next_ns.max(credit_ns);
        }
        self.ios_limited.add(arrived_ns, next_ns.max(passed_ns));
        let came_ns = passed_ns;
        passed_ns = self.bytes.pass(came_ns, bytes);
        self.bytes_limited.add(came_ns, self.bytes.holds_ns(u64::from(BLOCK_BYTES)).max(passed_ns));
        passed_ns
    }

    fn move_data(&mut self, number: u32, bytes: u64) {
        let mut start_ns = self.passes_ns(self.now_ns, bytes);
        while self.on_their_way.peek().is_some_and(|Reverse(done_ns)| *done_ns <= start_ns) {
            self.on_their_way.pop();
        }
        if self.on_their_way.len() >= self.times.queue_depth as usize {
            if let Some(Reverse(done_ns)) = self.on_their_way.pop() {
                start_ns = done_ns;
            }
        }
        let is_slow = self.random.unit() < self.times.tail_share;
        let done_ns = start_ns + if is_slow { self.times.tail_ns } else { self.times.latency_ns };
        self.on_their_way.push(Reverse(done_ns));
        self.flights.answer_at(number, done_ns);
    }
}

impl Device for Volume {
    fn submit(&mut self, request: &Request) -> u32 {
        self.advance(request.arrived_ns);
        let flight = Flight::of(request);
        let number = self.flights.take_off(flight);
        match request.operation {
            Operation::Read | Operation::Write => self.move_data(number, flight.bytes),
            // Orders without data.
            Operation::WriteZeroes | Operation::Trim => {
                self.flights.answer_at(number, self.now_ns + self.times.latency_ns);
            }
            Operation::Flush => self.flights.answer_at(number, self.now_ns + self.times.flush_ns),
        }
        number
    }

    fn advance(&mut self, until_ns: u64) {
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn next_ns(&self) -> Option<u64> {
        self.flights.next_ns()
    }

    fn answers_from_ns(&self) -> Option<u64> {
        self.flights.next_ns()
    }

    fn answer(&mut self) -> Option<Answer> {
        self.flights.land(self.now_ns)
    }

    fn under_way(&self) -> usize {
        self.flights.under_way()
    }

    fn stalled_writes(&self) -> u64 {
        0
    }

    fn limits(&self) -> Option<Limits> {
        Some(Limits {
            elapsed_ns: self.now_ns,
            ios_limited_ns: self.ios_limited.before(self.now_ns),
            bytes_limited_ns: self.bytes_limited.before(self.now_ns),
            without_credits_ns: self.credits.as_ref().map(|_| self.without_credits.before(self.now_ns)),
            credits_left: self.credits.as_ref().map(|credits| credits.tokens(self.now_ns)),
        })
    }
}

#[cfg(test)]
mod tests;
