//! Zipf's law over n ranks, exactly and in constant time, from a table that fits the processor's cache.
//!
//! Rank k (from 0) is drawn with probability ∝ (k+1)^-s. Ranks are gathered in bins that are narrow relative to their
//! rank; a bin is chosen by the alias method as if each of its ranks were as likely as its first, a rank inside it
//! uniformly, and the excess is rejected. Since weights inside a bin differ by less than 1 %, nearly every draw is
//! accepted by one comparison (the squeeze), without computing a power. An alias table over all ranks would be exact
//! too but as large as the drive's map, and would cost a cache miss a draw.

use super::alias::{AliasTable, to_fraction};
use crate::error::FlashError;
use crate::random::Random;

/// A bin spans at most 1/256 of its first rank.
const RELATIVE_WIDTH: u32 = 256;

#[derive(Debug, Clone, Copy)]
struct Bin {
    first: u32,
    width: u32,
    /// Share of 2^64 below which any rank of the bin is accepted.
    squeeze: u64,
}

/// Zipf's distribution over ranks 0 … n − 1.
#[derive(Debug, Clone)]
pub struct Zipf {
    exponent: f64,
    bins: Vec<Bin>,
    choice: AliasTable,
}

impl Zipf {
    /// Over `ranks` ≥ 1 ranks, with an exponent above 0 and at most 10.
    pub fn new(ranks: u32, exponent: f64) -> Result<Self, FlashError> {
        if !(exponent > 0.0 && exponent <= 10.0) {
            return Err(FlashError::invalid("zipf exponent", exponent, "must be greater than 0 and at most 10"));
        }
        if ranks == 0 {
            return Err(FlashError::invalid("zipf ranks", ranks, "must be at least 1"));
        }
        let mut bins = Vec::new();
        let mut weights = Vec::new();
        let mut first = 0;
        while first < ranks {
            let width = ((first + 1) / RELATIVE_WIDTH).clamp(1, ranks - first);
            let last_over_first = (f64::from(first + 1) / f64::from(first + width)).powf(exponent);
            weights.push(f64::from(width) * f64::from(first + 1).powf(-exponent));
            bins.push(Bin { first, width, squeeze: to_fraction(last_over_first) });
            first += width;
        }
        Ok(Self { exponent, choice: AliasTable::new(&weights)?, bins })
    }

    /// Draws a rank; 0 is the most likely.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        loop {
            let bin = self.bins[self.choice.draw(random.bits())];
            let product = u128::from(random.bits()) * u128::from(bin.width);
            let rank = bin.first + (product >> 64) as u32;
            let fraction = product as u64;
            if fraction <= bin.squeeze || self.accepts(bin, rank, fraction) {
                return rank;
            }
        }
    }

    #[cold]
    fn accepts(&self, bin: Bin, rank: u32, fraction: u64) -> bool {
        fraction <= to_fraction((f64::from(bin.first + 1) / f64::from(rank + 1)).powf(self.exponent))
    }

    /// Runs of ranks that are about equally likely: (first rank, ranks, probability of the run), summing to 1.
    pub fn runs(&self) -> Vec<(u32, u32, f64)> {
        let mass: Vec<f64> = self.bins.iter().map(|bin| self.mass(bin)).collect();
        let sum: f64 = mass.iter().sum();
        self.bins.iter().zip(&mass).map(|(bin, mass)| (bin.first, bin.width, mass / sum)).collect()
    }

    /// Unnormalised probability of a bin: itself for one rank, the midpoint integral for many.
    fn mass(&self, bin: &Bin) -> f64 {
        let (low, high) = (f64::from(bin.first) + 0.5, f64::from(bin.first + bin.width) + 0.5);
        if bin.width == 1 {
            return (low + 0.5).powf(-self.exponent);
        }
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { (high / low).ln() } else { (high.powf(power) - low.powf(power)) / power }
    }
}
