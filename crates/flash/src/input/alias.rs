//! Choosing among n things of unequal weight in constant time: Walker's alias method, built as Vose (1991) does.

use crate::error::FlashError;

/// One slot: keep the slot's own number below the threshold, else take the alias.
#[derive(Debug, Clone, Copy)]
struct Slot {
    threshold: u64,
    alias: u32,
}

/// A table to draw from. Each weight is met to within 2^-53 of the whole.
#[derive(Debug, Clone)]
pub struct AliasTable {
    slots: Vec<Slot>,
}

impl AliasTable {
    /// From weights: finite, not negative, with a positive sum; at least one.
    pub fn new(weights: &[f64]) -> Result<Self, FlashError> {
        if let Some(wrong) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(FlashError::invalid("weight", wrong, "must be finite and not negative"));
        }
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(FlashError::invalid("weights' sum", sum, "must be greater than 0 and finite"));
        }
        let count = weights.len();
        let mut scaled: Vec<f64> = weights.iter().map(|weight| weight / sum * count as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&slot| scaled[slot] < 1.0);
        let mut slots: Vec<Slot> = (0..count).map(|slot| Slot { threshold: u64::MAX, alias: slot as u32 }).collect();
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            slots[poor] = Slot { threshold: to_fraction(scaled[poor]), alias: rich as u32 };
            scaled[rich] -= 1.0 - scaled[poor];
            if scaled[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Ok(Self { slots })
    }

    /// Which thing 64 random bits choose.
    #[inline]
    pub fn draw(&self, bits: u64) -> usize {
        let product = u128::from(bits) * self.slots.len() as u128;
        let number = (product >> 64) as usize;
        let slot = self.slots[number];
        // Selected, not branched: which side is taken is as random as the bits.
        if (product as u64) < slot.threshold { number } else { slot.alias as usize }
    }
}

/// A probability in [0, 1] as a share of 2^64.
pub(super) fn to_fraction(probability: f64) -> u64 {
    // The cast saturates, so 1 becomes u64::MAX.
    (probability * 2_f64.powi(64)) as u64
}
