//! How many bytes a 4 KiB block becomes when the drive compresses it, and how that depends on how hot the block is.
//!
//! The correlation of heat and compressibility moves write amplification more than the garbage collection policy does,
//! so it is a first-class part of an input.

use super::alias::AliasTable;
use crate::BLOCK_BYTES;
use crate::error::FlashError;

/// Points at which a continuous distribution is tabulated. Rounding to whole bytes costs more than this does.
const TABLE_POINTS: usize = 4096;

/// Bytes of a block after compression.
#[derive(Debug, Clone, PartialEq)]
pub enum SizeDistribution {
    /// Always the same.
    Constant(u16),
    /// Any size from the first to the second, both included, equally likely.
    Uniform(u16, u16),
    /// Continuous, by its quantiles: (cumulative share, bytes), straight between them. The shares ascend from 0 to 1,
    /// and the bytes do not fall.
    Quantiles(Vec<(f64, f64)>),
    /// A few sizes with weights: (bytes, weight).
    Discrete(Vec<(u16, f64)>),
}

/// Blocks up to a rank and their sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatClass {
    /// The class ends at this share of the component's blocks, counted from the hottest; the last class ends at 1.
    pub up_to: f64,
    /// Sizes inside the class.
    pub distribution: SizeDistribution,
}

/// When a block's size is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redraw {
    /// Each block keeps its size for ever, as a table's pages do.
    #[default]
    Never,
    /// Each write draws anew.
    EachWrite,
}

/// Sizes over the blocks of a component, from the hottest to the coldest.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// By heat, in ascending order of `up_to`.
    pub classes: Vec<HeatClass>,
    /// When they are drawn.
    pub redraw: Redraw,
}

impl Sizes {
    /// The same distribution for every block, whatever its heat.
    pub fn same(distribution: SizeDistribution) -> Self {
        Self { classes: vec![HeatClass { up_to: 1.0, distribution }], redraw: Redraw::default() }
    }

    /// Nothing compresses.
    pub fn incompressible() -> Self {
        Self::same(SizeDistribution::Constant(BLOCK_BYTES as u16))
    }
}

/// A distribution ready to be drawn from.
#[derive(Debug, Clone)]
pub(super) enum SizeSampler {
    Constant(u16),
    Table(Vec<u16>),
    Discrete { bytes: Vec<u16>, choice: AliasTable },
}

impl SizeSampler {
    /// The size that 64 random bits choose.
    #[inline]
    pub(super) fn draw(&self, bits: u64) -> u16 {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Table(table) => table[((u128::from(bits) * table.len() as u128) >> 64) as usize],
            Self::Discrete { bytes, choice } => bytes[choice.draw(bits)],
        }
    }
}

impl SizeDistribution {
    /// Ready to draw from; refuses sizes above 4096 and shapes that are no distribution.
    pub(super) fn sampler(&self) -> Result<SizeSampler, FlashError> {
        Ok(match self {
            Self::Constant(bytes) => SizeSampler::Constant(checked(f64::from(*bytes))?),
            Self::Uniform(low, high) => {
                checked(f64::from(*high))?;
                if low > high {
                    return Err(FlashError::invalid("smallest size", low, format!("exceeds the largest, {high}")));
                }
                SizeSampler::Table((*low..=*high).collect())
            }
            Self::Quantiles(knots) => SizeSampler::Table(tabulate(knots)?),
            Self::Discrete(weighted) => {
                let bytes =
                    weighted.iter().map(|&(bytes, _)| checked(f64::from(bytes))).collect::<Result<Vec<_>, _>>()?;
                let weights: Vec<f64> = weighted.iter().map(|&(_, weight)| weight).collect();
                SizeSampler::Discrete { bytes, choice: AliasTable::new(&weights)? }
            }
        })
    }

    /// The mean in bytes of the sizes as they are drawn, each rounded up to a multiple of `granularity` ≥ 1.
    pub fn mean_bytes(&self, granularity: u32) -> Result<f64, FlashError> {
        let stored = |bytes: u16| f64::from(u32::from(bytes).next_multiple_of(granularity));
        Ok(match (self.sampler()?, self) {
            (SizeSampler::Constant(bytes), _) => stored(bytes),
            (SizeSampler::Table(table), _) => {
                table.iter().map(|&bytes| stored(bytes)).sum::<f64>() / table.len() as f64
            }
            (SizeSampler::Discrete { .. }, Self::Discrete(weighted)) => {
                let sum: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
                weighted.iter().map(|&(bytes, weight)| stored(bytes) * weight).sum::<f64>() / sum
            }
            (SizeSampler::Discrete { .. }, _) => unreachable!("only a discrete distribution has a discrete sampler"),
        })
    }
}

/// A size as a block can have it.
fn checked(bytes: f64) -> Result<u16, FlashError> {
    if !(bytes >= 0.0 && bytes <= f64::from(BLOCK_BYTES)) {
        return Err(FlashError::invalid("compressed size", bytes, "must lie between 0 and 4096 bytes"));
    }
    Ok(bytes.round() as u16)
}

/// Sizes at equally likely points of a quantile function.
fn tabulate(knots: &[(f64, f64)]) -> Result<Vec<u16>, FlashError> {
    let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
        return Err(FlashError::invalid("quantiles", 0, "must have at least two points"));
    };
    if first.0 != 0.0 || last.0 != 1.0 {
        return Err(FlashError::invalid(
            "quantiles",
            format!("{} … {}", first.0, last.0),
            "must run from share 0 to share 1",
        ));
    }
    for pair in knots.windows(2) {
        if !(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1) {
            return Err(FlashError::invalid(
                "quantiles",
                format!("{:?}", pair[1]),
                "must ascend in share and not fall in bytes",
            ));
        }
    }
    checked(first.1)?;
    checked(last.1)?;
    let mut knot = 0;
    (0..TABLE_POINTS)
        .map(|point| {
            let share = (point as f64 + 0.5) / TABLE_POINTS as f64;
            while knots[knot + 1].0 < share {
                knot += 1;
            }
            let (low, high) = (knots[knot], knots[knot + 1]);
            checked(low.1 + (high.1 - low.1) * (share - low.0) / (high.0 - low.0))
        })
        .collect()
}
