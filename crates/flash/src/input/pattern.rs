//! Which block of a range is written next.
//!
//! A pattern yields *ranks*: 0 is the block that is written most often. A component then places ranks on addresses.

use super::alias::to_fraction;
use super::zipf::Zipf;
use crate::error::FlashError;
use crate::random::Random;

/// How writes spread over a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// Every block is as likely as any other.
    Uniform,
    /// One block after the other, over and over.
    Sequential,
    /// Rank k is written in proportion to k^-exponent.
    Zipf {
        /// Above 0, at most 10; 0.99 is YCSB's default.
        exponent: f64,
    },
    /// Two uniform classes: a share of the blocks gets a share of the writes ("20/80").
    HotCold {
        /// Share of the blocks that are hot, between 0 and 1.
        hot_blocks: f64,
        /// Share of the writes that go to them, between 0 and 1.
        hot_writes: f64,
    },
}

/// A pattern ready to be drawn from, over a number of blocks.
#[derive(Debug, Clone)]
pub(super) enum RankSampler {
    Uniform { blocks: u32 },
    Sequential { blocks: u32, next: u32 },
    Zipf(Zipf),
    HotCold { blocks: u32, hot: u32, threshold: u64 },
}

impl Pattern {
    /// Ready to draw from `blocks` ≥ 1 ranks.
    pub(super) fn sampler(self, blocks: u32) -> Result<RankSampler, FlashError> {
        Ok(match self {
            Self::Uniform => RankSampler::Uniform { blocks },
            Self::Sequential => RankSampler::Sequential { blocks, next: 0 },
            Self::Zipf { exponent } => RankSampler::Zipf(Zipf::new(blocks, exponent)?),
            Self::HotCold { hot_blocks, hot_writes } => {
                let hot = hot_count(hot_blocks, blocks)?;
                if !(hot_writes > 0.0 && hot_writes < 1.0) {
                    return Err(FlashError::invalid("share of hot writes", hot_writes, "must lie between 0 and 1"));
                }
                RankSampler::HotCold { blocks, hot, threshold: to_fraction(hot_writes) }
            }
        })
    }

    /// Runs of ranks that are written equally often: (first rank, ranks, share of the writes). `None` if writes are not
    /// independent of each other.
    pub(super) fn runs(self, blocks: u32) -> Option<Vec<(u32, u32, f64)>> {
        match self {
            Self::Uniform => Some(vec![(0, blocks, 1.0)]),
            Self::Sequential => None,
            Self::Zipf { exponent } => Zipf::new(blocks, exponent).ok().map(|zipf| zipf.runs()),
            Self::HotCold { hot_blocks, hot_writes } => {
                let hot = hot_count(hot_blocks, blocks).ok()?;
                Some(vec![(0, hot, hot_writes), (hot, blocks - hot, 1.0 - hot_writes)])
            }
        }
    }
}

/// The number of hot blocks; both classes must have one.
fn hot_count(share: f64, blocks: u32) -> Result<u32, FlashError> {
    if !(share > 0.0 && share < 1.0) {
        return Err(FlashError::invalid("share of hot blocks", share, "must lie between 0 and 1"));
    }
    let hot = (share * f64::from(blocks)).round() as u32;
    if hot == 0 || hot == blocks {
        return Err(FlashError::invalid(
            "share of hot blocks",
            share,
            format!("leaves a class of {blocks} blocks empty"),
        ));
    }
    Ok(hot)
}

impl RankSampler {
    /// Draws a rank.
    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> u32 {
        match self {
            Self::Uniform { blocks } => random.below(*blocks),
            Self::Sequential { blocks, next } => advance(next, *blocks),
            Self::Zipf(zipf) => zipf.draw(random),
            Self::HotCold { blocks, hot, threshold } => hot_or_cold(random, *blocks, *hot, *threshold),
        }
    }

    /// Draws many ranks. One loop a pattern, so that the choice of pattern is made once.
    pub(super) fn fill(&mut self, random: &mut Random, ranks: &mut [u32]) {
        match self {
            Self::Uniform { blocks } => ranks.fill_with(|| random.below(*blocks)),
            Self::Sequential { blocks, next } => ranks.fill_with(|| advance(next, *blocks)),
            Self::Zipf(zipf) => ranks.fill_with(|| zipf.draw(random)),
            Self::HotCold { blocks, hot, threshold } => {
                ranks.fill_with(|| hot_or_cold(random, *blocks, *hot, *threshold));
            }
        }
    }
}

#[inline]
fn advance(next: &mut u32, blocks: u32) -> u32 {
    let rank = *next;
    *next = if rank + 1 == blocks { 0 } else { rank + 1 };
    rank
}

#[inline]
fn hot_or_cold(random: &mut Random, blocks: u32, hot: u32, threshold: u64) -> u32 {
    let is_hot = random.bits() < threshold;
    let (first, count) = if is_hot { (0, hot) } else { (hot, blocks - hot) };
    first + random.below(count)
}
