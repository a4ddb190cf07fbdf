//! A random order of many numbers without a table: a Feistel network over just enough bits, walked until it lands in
//! range (Black and Rogaway, 2002).

use crate::random::Random;

const ROUNDS: usize = 4;

/// A permutation of 0 … n − 1, chosen by a seed.
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u32,
    half_bits: u32,
    keys: [u32; ROUNDS],
}

impl Permutation {
    /// Of `count` ≥ 1 numbers.
    pub fn new(count: u32, seed: u64) -> Self {
        let bits = (u32::BITS - (count - 1).leading_zeros()).max(2);
        let mut random = Random::new(seed);
        Self { count, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| random.bits() as u32) }
    }

    /// The number at `index`, which must be below the count.
    #[inline]
    pub fn at(&self, index: u32) -> u32 {
        // The network permutes at most four times as many numbers, so a few steps lead back into range.
        let mut number = u64::from(index);
        loop {
            number = self.scramble(number);
            if number < u64::from(self.count) {
                return number as u32;
            }
        }
    }

    #[inline]
    fn scramble(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = ((number >> self.half_bits) as u32, number as u32 & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b1);
            let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca77);
            (left, right) = (right, left ^ ((mixed >> 13) & mask));
        }
        u64::from(left) << self.half_bits | u64::from(right)
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn hits_every_number_once() {
        for count in [1, 2, 3, 5, 64, 1000, 4097] {
            let permutation = Permutation::new(count, 3);
            let mut seen: Vec<u32> = (0..count).map(|index| permutation.at(index)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_do_not_stay_together() {
        let count = 100_000;
        let permutation = Permutation::new(count, 7);
        let distances = (1..count).map(|index| f64::from(permutation.at(index).abs_diff(permutation.at(index - 1))));
        // Two random numbers below n are n/3 apart on average.
        let mean = distances.sum::<f64>() / f64::from(count - 1);
        assert!((mean / f64::from(count) - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
