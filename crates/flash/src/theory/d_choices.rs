//! Uniform random writes, the best of d blocks drawn at random: Van Houdt's mean field (SIGMETRICS 2013).
//!
//! G_j is the share of blocks with at least j live pages. Blocks lose live pages at rate j and are collected when all
//! d drawn have at least as many: j λ (G_j − G_{j+1}) = 1 − G_j^d with G_{Np+1} = 0, where λ is fixed by the mean of
//! live pages, Σ_j G_j = Np/α. A victim keeps Σ_j G_j^d = Np (1 − λ/α) of them, so A = α/λ. For d = 1, A = α/(α − 1).

use super::root::bisect;

/// Write amplification at α = T/U > 1, blocks of `pages_per_block` pages and `d` ≥ 1 choices.
pub fn write_amplification(alpha: f64, pages_per_block: u32, d: u32) -> f64 {
    alpha / departure_rate(alpha, pages_per_block, d)
}

/// The shares G_1 … G_Np of blocks with at least that many live pages, in equilibrium.
pub fn tails(alpha: f64, pages_per_block: u32, d: u32) -> Vec<f64> {
    tails_at(departure_rate(alpha, pages_per_block, d), pages_per_block, d)
}

/// λ. The faster blocks depart, the fewer pages are live in them.
fn departure_rate(alpha: f64, pages_per_block: u32, d: u32) -> f64 {
    let live = f64::from(pages_per_block) / alpha;
    bisect(0.0, alpha, |rate| tails_at(rate, pages_per_block, d).iter().sum::<f64>() - live)
}

fn tails_at(rate: f64, pages_per_block: u32, d: u32) -> Vec<f64> {
    let mut tails = vec![0.0; pages_per_block as usize];
    let mut above = 0.0;
    for level in (1..=pages_per_block).rev() {
        let speed = f64::from(level) * rate;
        // j λ (G − above) + G^d = 1 has one root in [above, 1].
        let tail = bisect(above, 1.0, |tail: f64| 1.0 - tail.powi(d as i32) - speed * (tail - above));
        tails[level as usize - 1] = tail;
        above = tail;
    }
    tails
}

#[cfg(test)]
mod tests {
    use super::write_amplification;

    #[test]
    fn values_of_the_mean_field() {
        let expected = [
            (0.07, 2, 10.5835),
            (0.07, 4, 8.6414),
            (0.07, 8, 7.9331),
            (0.07, 16, 7.7015),
            (0.28, 2, 3.2742),
            (0.28, 4, 2.7410),
        ];
        for (over_provisioning, d, expected) in expected {
            let value = write_amplification(1.0 + over_provisioning, 256, d);
            assert!((value - expected).abs() < 5e-5, "{over_provisioning}, d = {d}: {value}, expected {expected}");
        }
    }

    #[test]
    fn one_choice_is_random() {
        for alpha in [1.05, 1.28, 2.0] {
            let value = write_amplification(alpha, 64, 1);
            assert!((value - alpha / (alpha - 1.0)).abs() < 1e-6 * value, "{alpha}: {value}");
        }
    }
}
