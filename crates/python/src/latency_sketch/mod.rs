//! A latency sketch: a log-linear histogram of whole microseconds that answers quantiles within a stated error.
//!
//! Every octave is cut into 128 equal buckets (the layout of Tene's HdrHistogram, with the middle of a bucket as its
//! answer), so a quantile is at most 1/256 (0.39 %) away from the exact nearest-rank one, and values below 256 µs are
//! exact. Count, sum, least, greatest and sum of squares are kept as integers: mean and deviation are exact too.
//! Unlike a t-digest, merging is associative and commutative, so threads and seconds may be merged in any order.

mod encoding;
mod python;

pub use encoding::DecodeError;
pub use python::{PyLatencySketch, register};

/// The largest distance between an answered quantile and the exact one, as a share of the exact one.
pub const RELATIVE_ERROR: f64 = 1.0 / 256.0;

/// The largest latency that can be recorded: 2^40 − 1 µs, about 12.7 days.
pub const MAX_LATENCY_US: u64 = (1 << 40) - 1;

/// The most latencies that one sketch may hold, so that its integer sums cannot overflow.
pub const MAX_COUNT: u64 = 1 << 44;

const BUCKET_BITS: u32 = 7;
const BUCKETS_PER_OCTAVE: usize = 1 << BUCKET_BITS;
const BUCKETS: usize = bucket_of(MAX_LATENCY_US) + 1;

/// Latencies in microseconds; the default is empty.
#[derive(Clone, Debug)]
pub struct LatencySketch {
    counts: Vec<u64>,
    count: u64,
    sum_us: u128,
    sum_squares_us2: u128,
    min_us: u64,
    max_us: u64,
}

impl Default for LatencySketch {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            sum_us: 0,
            sum_squares_us2: 0,
            min_us: u64::MAX,
            max_us: 0,
        }
    }
}

impl PartialEq for LatencySketch {
    fn eq(&self, other: &Self) -> bool {
        // The vectors may differ in trailing zeros only: they are grown on demand.
        self.moments() == other.moments() && self.buckets().eq(other.buckets())
    }
}

impl LatencySketch {
    /// Adds `count` transactions of `latency_us`, which must not exceed [`MAX_LATENCY_US`].
    #[inline]
    pub fn record(&mut self, latency_us: u64, count: u64) {
        debug_assert!(latency_us <= MAX_LATENCY_US);
        if count == 0 {
            return;
        }
        let bucket = bucket_of(latency_us);
        if bucket >= self.counts.len() {
            self.grow(bucket);
        }
        self.counts[bucket] += count;
        self.count += count;
        let weighted = u128::from(latency_us) * u128::from(count);
        self.sum_us += weighted;
        self.sum_squares_us2 += weighted * u128::from(latency_us);
        self.min_us = self.min_us.min(latency_us);
        self.max_us = self.max_us.max(latency_us);
    }

    /// Adds all that `other` has recorded.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.grow(bucket_of(other.max_us));
        for (bucket, count) in other.buckets() {
            self.counts[bucket] += count;
        }
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.sum_squares_us2 += other.sum_squares_us2;
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Forgets everything but keeps the memory, for the next interval.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.counts[bucket_of(self.min_us)..=bucket_of(self.max_us)].fill(0);
        }
        *self = Self {
            counts: std::mem::take(&mut self.counts),
            ..Self::default()
        };
    }

    /// The nearest-rank quantile (the ⌈q·n⌉-th smallest) within [`RELATIVE_ERROR`]; none when empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        // Without the slack 0.55 × 100 would be rank 56: the product is a hair above 55.
        let rank = (q * self.count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64;
        if rank <= 1 {
            return Some(self.min_us as f64);
        }
        if rank >= self.count {
            return Some(self.max_us as f64);
        }
        let mut seen = 0;
        let bucket = self.buckets().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then_some(bucket)
        })?;
        let (least, width) = bounds_of(bucket);
        let middle = least as f64 + (width - 1) as f64 / 2.0;
        Some(middle.clamp(self.min_us as f64, self.max_us as f64))
    }

    /// The number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum in µs.
    pub fn sum_us(&self) -> u128 {
        self.sum_us
    }

    /// The exact least latency in µs; none when empty.
    pub fn min_us(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_us)
    }

    /// The exact greatest latency in µs; none when empty.
    pub fn max_us(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_us)
    }

    /// The exact mean in µs; none when empty.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us as f64 / self.count as f64)
    }

    /// The population standard deviation in µs, as pgbench prints it; none when empty.
    pub fn stddev_us(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        // Around the whole-number mean and in integers: the difference of two large close numbers would lose its
        // digits in floating point. MAX_COUNT keeps every term below 2^127.
        let (count, sum, squares) = (
            i128::from(self.count),
            self.sum_us as i128,
            self.sum_squares_us2 as i128,
        );
        let centre = sum / count;
        let around_centre = squares - 2 * centre * sum + centre * centre * count;
        let offset = (sum - centre * count) as f64 / count as f64;
        Some(
            (around_centre as f64 / count as f64 - offset * offset)
                .max(0.0)
                .sqrt(),
        )
    }

    fn moments(&self) -> (u64, u128, u128, u64, u64) {
        (
            self.count,
            self.sum_us,
            self.sum_squares_us2,
            self.min_us,
            self.max_us,
        )
    }

    /// The filled buckets in order, with their counts.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let range = if self.count == 0 {
            0..0
        } else {
            bucket_of(self.min_us)..bucket_of(self.max_us) + 1
        };
        let start = range.start;
        self.counts[range]
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(i, n)| (start + i, *n))
    }

    #[cold]
    fn grow(&mut self, bucket: usize) {
        if bucket >= self.counts.len() {
            // To the end of the octave, so that a slowly rising maximum does not grow it each time.
            self.counts
                .resize((bucket | (BUCKETS_PER_OCTAVE - 1)) + 1, 0);
        }
    }
}

/// The bucket of a latency: the octave, then the seven bits below its leading one.
#[inline]
const fn bucket_of(latency_us: u64) -> usize {
    // The first two octaves' worth of values (0 … 255) have a bucket each.
    let octave = 64 - BUCKET_BITS - 1 - (latency_us | BUCKETS_PER_OCTAVE as u64).leading_zeros();
    ((octave as usize) << BUCKET_BITS) + (latency_us >> octave) as usize
}

/// The least latency of a bucket and the number of whole microseconds in it.
const fn bounds_of(bucket: usize) -> (u64, u64) {
    if bucket < 2 * BUCKETS_PER_OCTAVE {
        return (bucket as u64, 1);
    }
    let octave = (bucket >> BUCKET_BITS) - 1;
    let mantissa = (bucket & (BUCKETS_PER_OCTAVE - 1)) + BUCKETS_PER_OCTAVE;
    ((mantissa as u64) << octave, 1 << octave)
}

#[cfg(test)]
mod tests;
