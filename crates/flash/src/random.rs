//! Random numbers that are the same on every machine: xoshiro256++ (Blackman and Vigna, 2019), seeded by SplitMix64.

/// A generator of random numbers. The same seed gives the same numbers for ever.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator from a seed; any seed will do.
    pub fn new(seed: u64) -> Self {
        let mut word = seed;
        let mut state = [0; 4];
        for slot in &mut state {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = word;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *slot = mixed ^ (mixed >> 31);
        }
        Self { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number from 0 to `bound` − 1. `bound` must not be 0. The bias is below bound / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u32
    }

    /// A number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
