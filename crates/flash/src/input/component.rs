//! A part of a load: a range of the drive, how it is written, and how its blocks compress.

use super::pattern::{Pattern, RankSampler};
use super::scatter::Scatter;
use super::sizes::{Redraw, SizeSampler, Sizes};
use crate::error::FlashError;
use crate::random::Random;

/// Where the ranks of a pattern lie in the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Rank 0 first, the others after it.
    #[default]
    Clustered,
    /// Spread, so that hot blocks are not neighbours.
    Scattered,
}

/// A part of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Weight of its writes among all components.
    pub share_of_writes: f64,
    /// First logical block of its range.
    pub first_block: u32,
    /// Length of its range in blocks.
    pub blocks: u32,
    /// Which block is written next.
    pub pattern: Pattern,
    /// Where hot blocks lie; sequential writes must be clustered.
    pub placement: Placement,
    /// How blocks compress.
    pub sizes: Sizes,
    /// Placement handle that its writes carry (see [`crate::streams`]).
    pub handle: u8,
}

impl Component {
    /// The only component, over all of a drive, without a placement handle.
    pub fn whole_drive(logical_blocks: u32, pattern: Pattern, sizes: Sizes) -> Self {
        Self {
            share_of_writes: 1.0,
            first_block: 0,
            blocks: logical_blocks,
            pattern,
            placement: Placement::default(),
            sizes,
            handle: 0,
        }
    }
}

/// A heat class ready to be drawn from.
#[derive(Debug, Clone)]
struct SizedRanks {
    /// First rank after the class.
    end: u32,
    sampler: SizeSampler,
}

/// A component ready to be drawn from.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    first_block: u32,
    blocks: u32,
    ranks: RankSampler,
    scatter: Option<Scatter>,
    classes: Vec<SizedRanks>,
    redraw: Redraw,
    seed: u64,
}

impl Sampler {
    /// Checks a component against the drive.
    pub(super) fn new(component: &Component, logical_blocks: u32, seed: u64) -> Result<Self, FlashError> {
        let Component { first_block, blocks, pattern, placement, .. } = *component;
        if blocks == 0 {
            return Err(FlashError::invalid("blocks of a component", blocks, "must be at least 1"));
        }
        let end = u64::from(first_block) + u64::from(blocks);
        if end > u64::from(logical_blocks) {
            return Err(FlashError::PastEnd { lba: end - 1, logical_blocks });
        }
        if pattern == Pattern::Sequential && placement == Placement::Scattered {
            return Err(FlashError::invalid("placement", "scattered", "contradicts sequential writes"));
        }
        Ok(Self {
            first_block,
            blocks,
            ranks: pattern.sampler(blocks)?,
            scatter: (placement == Placement::Scattered).then(|| Scatter::new(blocks)),
            classes: sized_ranks(&component.sizes, blocks)?,
            redraw: component.sizes.redraw,
            seed,
        })
    }

    /// The next write: block and size.
    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> (u32, u16) {
        let rank = self.ranks.next(random);
        let lba = self.place(rank);
        (lba, self.size(rank, lba, random))
    }

    /// Many writes at once.
    pub(super) fn fill(&mut self, random: &mut Random, lbas: &mut [u32], sizes: &mut [u16]) {
        self.ranks.fill(random, lbas);
        let constant = match self.classes.as_slice() {
            [SizedRanks { sampler: SizeSampler::Constant(bytes), .. }] => Some(*bytes),
            _ => None,
        };
        if let Some(bytes) = constant {
            sizes.fill(bytes);
            lbas.iter_mut().for_each(|lba| *lba = self.place(*lba));
            return;
        }
        for (lba, size) in lbas.iter_mut().zip(sizes) {
            let rank = *lba;
            *lba = self.place(rank);
            *size = self.size(rank, *lba, random);
        }
    }

    /// Sets the size of each block of the range.
    pub(super) fn initial_sizes(&self, sizes: &mut [Option<u16>]) {
        let mut random = Random::new(self.seed);
        for rank in 0..self.blocks {
            let lba = self.place(rank);
            sizes[lba as usize] = Some(self.size(rank, lba, &mut random));
        }
    }

    #[inline]
    fn place(&self, rank: u32) -> u32 {
        self.first_block + self.scatter.map_or(rank, |scatter| scatter.place(rank))
    }

    #[inline]
    fn size(&self, rank: u32, lba: u32, random: &mut Random) -> u16 {
        let last = self.classes.len() - 1;
        let class = self.classes[..last].iter().find(|class| rank < class.end).unwrap_or(&self.classes[last]);
        match self.redraw {
            Redraw::Never => class.sampler.draw(hash(self.seed, lba)),
            Redraw::EachWrite => class.sampler.draw(random.bits()),
        }
    }
}

/// 64 bits that depend on the seed and the block alone (SplitMix64's finaliser).
#[inline]
fn hash(seed: u64, lba: u32) -> u64 {
    let mut mixed = (seed ^ 0xd1b5_4a32_d192_ed03).wrapping_add(u64::from(lba).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Rank at which each heat class ends.
fn sized_ranks(sizes: &Sizes, blocks: u32) -> Result<Vec<SizedRanks>, FlashError> {
    let mut end_before = 0.0;
    let mut classes = Vec::with_capacity(sizes.classes.len());
    for class in &sizes.classes {
        if !(class.up_to > end_before && class.up_to <= 1.0) {
            return Err(FlashError::invalid(
                "heat class",
                class.up_to,
                "must end after the one before it, at most at 1",
            ));
        }
        end_before = class.up_to;
        let end = (class.up_to * f64::from(blocks)).round() as u32;
        classes.push(SizedRanks { end, sampler: class.distribution.sampler()? });
    }
    if end_before != 1.0 {
        return Err(FlashError::invalid(
            "last heat class",
            end_before,
            "must end at 1, so that every block has a size",
        ));
    }
    Ok(classes)
}
