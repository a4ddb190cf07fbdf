//! Any fixed popularity under FIFO, exact: hot and cold, Zipf, mixtures.
//!
//! Class i holds a share f_i of the pages and takes a share r_i of the writes. A page of it survives a turn of the log
//! (T programs, T/A host writes) with probability e^(−r_i α / (f_i A)), so A = Σ r_i / (1 − e^(−r_i α / (f_i A)))
//! (Desnoyers, TOS 2014).

use super::root::bisect_above;

/// Pages that are written equally often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// Share of all pages; the shares of all classes sum to 1.
    pub pages: f64,
    /// Share of all writes; the shares of all classes sum to 1.
    pub writes: f64,
}

/// Write amplification at α = T/U > 1.
pub fn write_amplification(alpha: f64, classes: &[Class]) -> f64 {
    bisect_above(1.0, |a| moved_per_turn(classes, alpha / a) - a)
}

/// Zipf's law with this exponent over `pages` pages, as classes of equal popularity. Beyond
/// the first thousand ranks, neighbours that differ by less than 0.1 % share a class.
pub fn zipf(pages: u64, exponent: f64) -> Vec<Class> {
    let mut weights = Vec::new();
    let mut first = 1_u64;
    while first <= pages {
        let last = (first + (first / 1000).max(1) - 1).min(pages);
        let count = last - first + 1;
        let middle = 0.5 * (first as f64 + last as f64);
        weights.push((count as f64, count as f64 * middle.powf(-exponent)));
        first = last + 1;
    }
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.iter().map(|(count, weight)| Class { pages: count / pages as f64, writes: weight / total }).collect()
}

/// Programs a host write when a page lives `turn` host writes per logical page before it is moved.
fn moved_per_turn(classes: &[Class], turn: f64) -> f64 {
    classes
        .iter()
        .map(|class| {
            let exponent = class.writes / class.pages * turn;
            // Pages that are hardly ever written: r / (1 − e^−x) → f / turn, without dividing 0 by 0.
            if exponent < 1e-12 { class.pages / turn } else { class.writes / -(-exponent).exp_m1() }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{Class, write_amplification, zipf};

    fn hot_cold(pages: f64, writes: f64) -> [Class; 2] {
        [Class { pages, writes }, Class { pages: 1.0 - pages, writes: 1.0 - writes }]
    }

    #[test]
    fn hot_and_cold() {
        let expected =
            [(0.07, 0.2, 0.8, 8.1818), (0.07, 0.1, 0.9, 8.8660), (0.28, 0.2, 0.8, 2.8196), (0.28, 0.1, 0.9, 3.2961)];
        for (over_provisioning, pages, writes, expected) in expected {
            let value = write_amplification(1.0 + over_provisioning, &hot_cold(pages, writes));
            assert!(
                (value - expected).abs() < 5e-5,
                "{over_provisioning} {pages}/{writes}: {value}, expected {expected}"
            );
        }
    }

    #[test]
    fn equal_classes_are_uniform() {
        let value = write_amplification(1.07, &hot_cold(0.3, 0.3));
        assert!((value - crate::theory::fifo::write_amplification(1.07)).abs() < 1e-9);
    }

    #[test]
    fn zipf_classes_agree_with_single_pages() {
        let classes = zipf(20_000, 0.9);
        let total: f64 = (1..=20_000).map(|rank| f64::from(rank).powf(-0.9)).sum();
        let single: Vec<Class> = (1..=20_000)
            .map(|rank| Class { pages: 1.0 / 20_000.0, writes: f64::from(rank).powf(-0.9) / total })
            .collect();
        let (grouped, exact) = (write_amplification(1.28, &classes), write_amplification(1.28, &single));
        assert!((grouped / exact - 1.0).abs() < 1e-5, "{grouped} against {exact}");
    }
}
