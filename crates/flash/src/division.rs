//! Division by a number known only when the drive is made, at the price of a multiplication.
//!
//! Every overwrite asks which block a page lies in. Superblocks of three-bit-a-cell flash are not powers of two, so a
//! shift will not do, and the processor's division takes as long as ten multiplications. For 32-bit numbers the high
//! half of n · ⌈2^64 / d⌉ is exactly n / d (Lemire, Kaser and Kurz, 2019).

/// A divisor of 32 bits, at least 2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Division {
    reciprocal: u64,
}

impl Division {
    /// Prepares divisions by `divisor`, which must be at least 2.
    pub(crate) fn by(divisor: u32) -> Self {
        assert!(divisor >= 2, "the reciprocal of {divisor} does not fit in 64 bits");
        Self { reciprocal: u64::MAX / u64::from(divisor) + 1 }
    }

    /// number / divisor, rounded down.
    #[inline(always)]
    pub(crate) fn quotient(self, number: u32) -> u32 {
        ((u128::from(self.reciprocal) * u128::from(number)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Division;
    use crate::random::Random;

    #[test]
    fn agrees_with_the_processor() {
        let mut random = Random::new(1);
        for divisor in [2, 3, 5, 7, 64, 96, 255, 256, 1000, 2304, 65_536, u32::MAX - 1, u32::MAX] {
            let division = Division::by(divisor);
            for number in [0, 1, divisor - 1, divisor, u32::MAX - 1, u32::MAX] {
                assert_eq!(division.quotient(number), number / divisor);
            }
            for _ in 0..10_000 {
                let number = random.bits() as u32;
                assert_eq!(division.quotient(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
