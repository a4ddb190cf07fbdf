//! Uniform random writes, greedy: the mean-field limit of many blocks of Np pages.
//!
//! Blocks with j live pages lose one at a rate proportional to j, so in equilibrium their number is proportional to
//! 1/j, down to the level m + 1 where they are collected. With r the share of that level that is still waiting, the
//! live pages of all blocks must be U: Σ_{j=m+2..Np} 1/j + r/(m+1) = (Np − m − 1 + r) · α/Np, and a victim yields
//! A = Np / (Np − (m + 1) + r) (Desnoyers, TOS 2014; Van Houdt, SIGMETRICS 2013, for d → ∞).

/// The equilibrium of greedy garbage collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equilibrium {
    /// Victims have `lowest` live pages, or one less.
    pub lowest: u32,
    /// Share of blocks at the lowest level that stay there for a while, 0 to 1.
    pub waiting: f64,
    /// NAND writes over host writes.
    pub write_amplification: f64,
}

/// Solves for α = T/U > 1 and blocks of `pages_per_block` pages (at least 2).
pub fn equilibrium(alpha: f64, pages_per_block: u32) -> Equilibrium {
    let pages = f64::from(pages_per_block);
    let demand = alpha / pages;
    // `excess` is the left side minus the right one at r = 0, while m falls. It starts at 0 for m = Np − 1, dips below
    // while 1/j < α/Np, and grows once levels are low. The solution is where it crosses back over 0.
    let mut excess = 0.0;
    for lowest in (1..=pages_per_block).rev() {
        // Going from r = 0 to r = 1 at level m + 1 = `lowest` adds 1/lowest − α/Np.
        let step = 1.0 / f64::from(lowest) - demand;
        if step > 0.0 && excess + step >= 0.0 {
            let waiting = (-excess / step).clamp(0.0, 1.0);
            let write_amplification = pages / (pages - f64::from(lowest) + waiting);
            return Equilibrium { lowest, waiting, write_amplification };
        }
        excess += step;
    }
    // So much spare flash that victims are empty.
    Equilibrium { lowest: 0, waiting: 0.0, write_amplification: 1.0 }
}

/// Write amplification at α = T/U > 1 and blocks of `pages_per_block` pages (at least 2).
pub fn write_amplification(alpha: f64, pages_per_block: u32) -> f64 {
    equilibrium(alpha, pages_per_block).write_amplification
}

#[cfg(test)]
mod tests {
    use super::write_amplification;

    #[test]
    fn values_that_two_other_simulators_confirm() {
        let expected = [
            (0.07, 64, 7.0099),
            (0.07, 256, 7.5969),
            (0.07, 1024, 7.7605),
            (0.125, 64, 4.3891),
            (0.22, 256, 2.9327),
            (0.28, 64, 2.4028),
            (0.28, 256, 2.4610),
            (0.28, 1024, 2.4762),
        ];
        for (over_provisioning, pages, expected) in expected {
            let value = write_amplification(1.0 + over_provisioning, pages);
            assert!((value - expected).abs() < 5e-5, "{over_provisioning}, {pages}: {value}, expected {expected}");
        }
    }

    #[test]
    fn large_blocks_approach_fifo() {
        let value = write_amplification(1.07, 1 << 20);
        let fifo = crate::theory::fifo::write_amplification(1.07);
        assert!((value / fifo - 1.0).abs() < 1e-4, "{value} against {fifo}");
        assert!(value < fifo);
    }
}
