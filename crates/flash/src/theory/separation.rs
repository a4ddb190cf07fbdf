//! One pool of flash per class, each written uniformly inside: A = Σ r_i A_uniform(α_i) with Σ f_i α_i = α.
//!
//! With the same α_i everywhere this is the uniform value exactly: separation takes the loss from heat away. Giving
//! the hot class more than its share takes A below it (Stoica and Ailamaki, VLDB 2013; Desnoyers, TOS 2014).

use super::fifo;
use super::independent::Class;

/// Write amplification when class i has `alphas[i]` times its own size as flash.
pub fn write_amplification(classes: &[Class], alphas: &[f64]) -> f64 {
    classes.iter().zip(alphas).map(|(class, &alpha)| class.writes * fifo::write_amplification(alpha)).sum()
}

/// The α_i that minimise write amplification for a given α > 1 of the whole drive.
///
/// At the optimum all classes gain the same from one more page: r_i / f_i · dA/dα (α_i) is one number, the price.
/// A is convex in α, so each α_i falls as the price rises; the price that uses up the flash is found by bisection.
pub fn optimal_alphas(alpha: f64, classes: &[Class]) -> Vec<f64> {
    let shares = |price: f64| -> Vec<f64> {
        classes.iter().map(|class| alpha_at_slope(price * class.pages / class.writes)).collect()
    };
    let used = |alphas: &[f64]| -> f64 { classes.iter().zip(alphas).map(|(class, alpha)| class.pages * alpha).sum() };
    let (mut low, mut high) = (1e-12_f64, 1e12_f64);
    for _ in 0..200 {
        let price = (low * high).sqrt();
        if used(&shares(price)) > alpha { low = price } else { high = price }
    }
    shares((low * high).sqrt())
}

/// The α at which −dA/dα of the uniform formula equals `slope`.
fn alpha_at_slope(slope: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64, 1e6_f64);
    for _ in 0..200 {
        let excess = (low * high).sqrt();
        if steepness(1.0 + excess) > slope { low = excess } else { high = excess }
    }
    1.0 + (low * high).sqrt()
}

/// −dA/dα, from differentiating A (1 − e^(−α/A)) = 1 with x = α/A: e^−x / (1 − e^−x − x e^−x).
fn steepness(alpha: f64) -> f64 {
    let x = alpha / fifo::write_amplification(alpha);
    let survives = (-x).exp();
    survives / (1.0 - survives - x * survives)
}

#[cfg(test)]
mod tests {
    use super::{Class, optimal_alphas, write_amplification};

    #[test]
    fn optimum_of_hot_and_cold() {
        let expected = [
            (1.07, 0.2, 0.8, 5.2539, 1.1747, 1.0438),
            (1.07, 0.1, 0.9, 3.2705, 1.3480, 1.0391),
            (1.28, 0.2, 0.8, 1.8655, 1.6873, 1.1782),
            (1.28, 0.1, 0.9, 1.4119, 2.3171, 1.1648),
        ];
        for (alpha, pages, writes, expected, hot, cold) in expected {
            let classes = [Class { pages, writes }, Class { pages: 1.0 - pages, writes: 1.0 - writes }];
            let alphas = optimal_alphas(alpha, &classes);
            let value = write_amplification(&classes, &alphas);
            assert!((value - expected).abs() < 1e-4, "{alpha} {pages}/{writes}: {value}, expected {expected}");
            assert!((alphas[0] - hot).abs() < 5e-4 && (alphas[1] - cold).abs() < 5e-4, "{alphas:?}");
        }
    }

    #[test]
    fn equal_alphas_give_the_uniform_value() {
        let classes = [Class { pages: 0.1, writes: 0.9 }, Class { pages: 0.9, writes: 0.1 }];
        let value = write_amplification(&classes, &[1.07, 1.07]);
        assert!((value - 7.8172).abs() < 5e-5, "{value}");
    }
}
