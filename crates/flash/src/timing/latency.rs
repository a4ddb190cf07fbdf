//! Latency distributions: counts in buckets whose width grows with the latency, so that any quantile is known to within
//! 1 % of itself in 40 kB, however many requests there were (as HdrHistogram does).

/// Buckets in each power of two: a bucket is at most 1/128 of its lower end wide.
const PER_OCTAVE: u64 = 128;

/// A distribution of latencies in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Latencies {
    /// Adds one.
    pub fn record(&mut self, latency_ns: u64) {
        let bucket = bucket_of(latency_ns);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them, added.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean; `None` if there are none.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The largest, exactly; 0 if there are none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The smallest latency that at least a share of all do not exceed, to within 1 %; `None` if there are none.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        Some((lower_end(bucket + 1) - 1).min(self.max_ns))
    }

    /// Buckets that are not empty: (highest latency in the bucket, requests), ascending.
    pub fn histogram(&self) -> Vec<(u64, u64)> {
        let occupied = self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0);
        occupied.map(|(bucket, &count)| (lower_end(bucket + 1) - 1, count)).collect()
    }
}

/// Values below `PER_OCTAVE` have a bucket each; above, the leading 8 bits choose.
fn bucket_of(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let shift = value.ilog2() - PER_OCTAVE.ilog2();
    (u64::from(shift) * PER_OCTAVE + (value >> shift)) as usize
}

/// The smallest value of a bucket.
fn lower_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PER_OCTAVE {
        return bucket;
    }
    let shift = bucket / PER_OCTAVE - 1;
    // The end of the last bucket is 2^64.
    u64::try_from(u128::from(PER_OCTAVE + bucket % PER_OCTAVE) << shift).unwrap_or(u64::MAX)
}
