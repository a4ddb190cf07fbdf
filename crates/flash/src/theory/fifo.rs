//! Uniform random writes, first block in first out; also the limit of greedy for large blocks.
//!
//! A page survives one turn of the log with probability e^(−α/A), and A · (1 − e^(−α/A)) = 1. Solved by Lambert's W:
//! A = α / (α + W₀(−α e^−α)) (Desnoyers, SYSTOR 2012; Luojie and Kurkoski, 2011).

use super::root::bisect_above;

/// Write amplification at α = T/U > 1, for any number of pages a block.
pub fn write_amplification(alpha: f64) -> f64 {
    // A ≥ 1. The left side below grows with A from 1 − e^−α < 1 to α > 1.
    bisect_above(1.0, |a| 1.0 + a * (-alpha / a).exp_m1())
}

/// Share of a page's kind that is still live at `age`, the share of the log written since it was (0 to 1).
pub fn live_share(alpha: f64, age: f64) -> f64 {
    (-alpha * age / write_amplification(alpha)).exp()
}

#[cfg(test)]
mod tests {
    use super::write_amplification;

    #[test]
    fn published_values() {
        // Luojie and Kurkoski's abstract: 2.36 at 30 %. The others from the closed form, to four digits.
        for (over_provisioning, expected) in
            [(0.07, 7.8172), (0.125, 4.6801), (0.22, 2.9625), (0.28, 2.4814), (0.30, 2.3642)]
        {
            let value = write_amplification(1.0 + over_provisioning);
            assert!((value - expected).abs() < 5e-5, "{over_provisioning}: {value}, expected {expected}");
        }
    }

    #[test]
    fn solves_its_equation_far_out() {
        for alpha in [1.0001, 1.01, 2.0, 10.0, 100.0] {
            let value = write_amplification(alpha);
            let residual = 1.0 / (1.0 - (-alpha / value).exp()) - value;
            assert!(residual.abs() < 1e-6 * value, "{alpha}: {value} leaves {residual}");
        }
    }
}
