//! Spreading ranks over addresses, so that hot blocks are not neighbours.
//!
//! Multiplication by a number coprime to n permutes 0 … n − 1; with a multiplier near n divided by the golden ratio,
//! any run of ranks lands almost evenly over the range (Knuth, TAOCP 3, 6.4: Fibonacci hashing).

/// A permutation of 0 … n − 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    count: u64,
    multiplier: u64,
    /// ⌊(2^64 − 1) / n⌋, so that a remainder costs two multiplications and no division.
    reciprocal: u64,
}

impl Scatter {
    /// Over `count` ≥ 1 ranks.
    pub(super) fn new(count: u32) -> Self {
        let count = u64::from(count);
        let mut multiplier = (count as f64 * 0.618_033_988_749_894_9).round().max(1.0) as u64;
        while greatest_common_divisor(multiplier, count) != 1 {
            multiplier += 1;
        }
        Self { count, multiplier, reciprocal: u64::MAX / count }
    }

    /// Where a rank lies.
    #[inline]
    pub(super) fn place(&self, rank: u32) -> u32 {
        let product = u64::from(rank) * self.multiplier;
        let quotient = ((u128::from(product) * u128::from(self.reciprocal)) >> 64) as u64;
        let mut remainder = product - quotient * self.count;
        // The reciprocal is rounded down, so the quotient may be a little too small.
        while remainder >= self.count {
            remainder -= self.count;
        }
        remainder as u32
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
