//! Blocks of variable length in a FIFO log, exact for independent writes: a drive that compresses.
//!
//! An extent lives t host writes before the log comes round to it, and t · W = physical bytes, where W is the bytes
//! programmed a host write: W = Σ r_i s_i / (1 − e^(−r_i t)) over logical blocks i with share r_i of the writes and
//! size s_i. NAND over host bytes is W / 4096. If size does not depend on heat, this is mean size times the
//! write amplification at α = physical over live bytes; with all blocks at a fraction c, c · A(α/c).

use super::fifo;
use super::root::bisect_above;
use crate::BLOCK_BYTES;

/// Logical blocks that are written equally often, whose newest versions take `bytes` of flash on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// Share of all logical blocks.
    pub blocks: f64,
    /// Share of all writes.
    pub writes: f64,
    /// Mean size on flash, in bytes.
    pub bytes: f64,
}

/// NAND bytes over host bytes at α = physical over logical bytes, for a drive whose logical blocks are all written.
/// Live data must fit: Σ blocks · bytes < 4096 α.
pub fn write_amplification(alpha: f64, classes: &[Class]) -> f64 {
    let physical = alpha * f64::from(BLOCK_BYTES);
    // t in host writes per logical block. t · W(t) grows with t, from the live bytes on.
    let turn = bisect_above(0.0, |turn| physical - turn * bytes_per_write(classes, turn));
    bytes_per_write(classes, turn) / f64::from(BLOCK_BYTES)
}

/// The same when every block compresses to `fraction` of its size: c · A(α/c).
pub fn uniform(alpha: f64, fraction: f64) -> f64 {
    fraction * fifo::write_amplification(alpha / fraction)
}

fn bytes_per_write(classes: &[Class], turn: f64) -> f64 {
    classes
        .iter()
        .map(|class| {
            let exponent = class.writes / class.blocks * turn;
            let programs = if exponent < 1e-12 { class.blocks / turn } else { class.writes / -(-exponent).exp_m1() };
            programs * class.bytes
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{Class, uniform, write_amplification};

    #[test]
    fn every_block_alike() {
        let expected =
            [(1.07, [3.0003, 1.4109, 0.6016, 0.4381, 0.2537]), (1.28, [1.7038, 1.0804, 0.5554, 0.4199, 0.2516])];
        for (alpha, values) in expected {
            for (fraction, expected) in [0.9, 0.75, 0.5, 0.4, 0.25].into_iter().zip(values) {
                let value = uniform(alpha, fraction);
                assert!((value - expected).abs() < 1e-4, "{alpha}, {fraction}: {value}, expected {expected}");
                let class = Class { blocks: 1.0, writes: 1.0, bytes: fraction * 4096.0 };
                assert!((write_amplification(alpha, &[class]) - value).abs() < 1e-9 * value);
            }
        }
    }

    #[test]
    fn compressible_heat_costs_less_than_compressible_cold() {
        let class = |blocks, writes, bytes| Class { blocks, writes, bytes };
        let hot_shrinks = write_amplification(1.07, &[class(0.5, 0.9, 1024.0), class(0.5, 0.1, 3072.0)]);
        let cold_shrinks = write_amplification(1.07, &[class(0.5, 0.9, 3072.0), class(0.5, 0.1, 1024.0)]);
        assert!(hot_shrinks < cold_shrinks, "{hot_shrinks} against {cold_shrinks}");
    }
}
