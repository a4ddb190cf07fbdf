//! How much of a block is live in equilibrium, by the block's place in the order of filling.

use crate::error::FlashError;
use crate::gc::Policy;
use crate::theory::{d_choices, fifo, greedy};

/// The live share of blocks from the longest filled to the latest, under uniform random writes.
#[derive(Debug, Clone)]
pub struct LiveShare {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// e^(−α age / A), with A of FIFO.
    Fifo { decay: f64 },
    /// Live pages of blocks in ascending order: (share of blocks with at most so many live, live share).
    Levels(Vec<(f64, f64)>),
}

impl LiveShare {
    /// Equilibrium at α = usable flash over live data, which must be above 1, and blocks of `units_per_block` pages or
    /// extents. Cost-benefit has no formula; under uniform writes it is close to greedy.
    pub fn new(policy: Policy, alpha: f64, units_per_block: u32) -> Result<Self, FlashError> {
        if !(alpha > 1.0 && alpha.is_finite()) {
            return Err(FlashError::invalid("usable over live bytes", alpha, "must be above 1 to have an equilibrium"));
        }
        let kind = match policy {
            Policy::Fifo => Kind::Fifo { decay: alpha / fifo::write_amplification(alpha) },
            Policy::Greedy | Policy::CostBenefit => Kind::Levels(greedy_levels(alpha, units_per_block)),
            Policy::DChoices { d } => Kind::Levels(levels_of_tails(&d_choices::tails(alpha, units_per_block, d))),
            Policy::Random => Kind::Levels(levels_of_tails(&d_choices::tails(alpha, units_per_block, 1))),
        };
        Ok(Self { kind })
    }

    /// The live share of the block that comes after a share `rank` (0 to 1) of all blocks, the longest filled first.
    pub fn at(&self, rank: f64) -> f64 {
        match &self.kind {
            Kind::Fifo { decay } => (-decay * (1.0 - rank)).exp(),
            Kind::Levels(levels) => {
                let place = levels.partition_point(|&(below, _)| below < rank);
                levels[place.min(levels.len() - 1)].1
            }
        }
    }
}

/// Greedy's blocks at level j are proportional to 1/j, with a share `waiting` of the lowest level.
fn greedy_levels(alpha: f64, units: u32) -> Vec<(f64, f64)> {
    let equilibrium = greedy::equilibrium(alpha, units);
    let lowest = equilibrium.lowest.max(1);
    let weights = (lowest..=units).map(|level| {
        let weight = if level == lowest { equilibrium.waiting } else { 1.0 };
        (weight / f64::from(level), f64::from(level) / f64::from(units))
    });
    cumulated(weights.collect())
}

/// Blocks with exactly j live units are G_j − G_{j+1}; those with none are 1 − G_1.
fn levels_of_tails(tails: &[f64]) -> Vec<(f64, f64)> {
    let units = tails.len() as f64;
    let mut weights = vec![(1.0 - tails[0], 0.0)];
    for (index, &tail) in tails.iter().enumerate() {
        let above = tails.get(index + 1).copied().unwrap_or(0.0);
        weights.push((tail - above, (index + 1) as f64 / units));
    }
    cumulated(weights)
}

fn cumulated(mut levels: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let total: f64 = levels.iter().map(|(weight, _)| weight).sum();
    let mut sum = 0.0;
    for level in &mut levels {
        sum += level.0 / total;
        level.0 = sum;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::LiveShare;
    use crate::gc::Policy;

    #[test]
    fn the_mean_is_the_share_of_live_data() {
        for policy in [Policy::Fifo, Policy::Greedy, Policy::DChoices { d: 3 }, Policy::Random] {
            for alpha in [1.07, 1.28, 2.5] {
                let curve = LiveShare::new(policy, alpha, 64).unwrap();
                let steps = 100_000;
                let mean = (0..steps).map(|step| curve.at((f64::from(step) + 0.5) / f64::from(steps))).sum::<f64>();
                let mean = mean / f64::from(steps);
                assert!((mean * alpha - 1.0).abs() < 1e-3, "{policy:?} at {alpha}: {mean}");
            }
        }
    }
}
