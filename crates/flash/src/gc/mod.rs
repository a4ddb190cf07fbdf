//! Garbage collection: which block's live data are moved so that it can be erased.
//!
//! A policy sees the full (*sealed*) blocks and how much of each is live. Each keeps the index that makes its own
//! choice cheap: buckets for greedy, a queue for FIFO, a dense set to draw from for the others.

mod cost_benefit;
mod d_choices;
mod dense_set;
mod fifo;
mod greedy;
mod random;
mod rings;

use crate::error::FlashError;
use crate::random::Random;
pub(crate) use cost_benefit::Ages;
use dense_set::DenseSet;
use fifo::Fifo;
use greedy::Greedy;

/// Most blocks that d-choices draws: each is drawn, so many of them take long and find what greedy knows.
pub const MAX_CHOICES: u32 = 65_536;

/// How a victim is chosen among the sealed blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The block with the least live data.
    Greedy,
    /// The block with the highest (1 − u) · age / 2u, u its live share.
    CostBenefit,
    /// The block that was filled first.
    Fifo,
    /// The one with the least live data among `d` blocks drawn at random.
    DChoices {
        /// Blocks drawn, at least 1.
        d: u32,
    },
    /// Any block; the same as one choice.
    Random,
}

impl Policy {
    /// Refuses a policy that cannot choose.
    pub fn check(self) -> Result<(), FlashError> {
        match self {
            Self::DChoices { d: 0 } => Err(FlashError::invalid("choices", 0, "d-choices must draw at least 1 block")),
            Self::DChoices { d } if d > MAX_CHOICES => {
                let reason = format!("must be at most {MAX_CHOICES}: more are a search, which greedy does faster");
                Err(FlashError::invalid("choices", d, reason))
            }
            _ => Ok(()),
        }
    }
}

/// The sealed blocks, indexed for one policy.
#[derive(Debug, Clone)]
pub(crate) enum Victims {
    Greedy(Greedy),
    Fifo(Fifo),
    CostBenefit(DenseSet),
    DChoices(DenseSet, u32),
    Random(DenseSet),
}

impl Victims {
    /// No block is sealed yet. A block holds up to `capacity` pages or bytes, of which greedy tells `levels` apart.
    pub(crate) fn new(policy: Policy, blocks: u32, capacity: u32, levels: u32) -> Self {
        match policy {
            Policy::Greedy => Self::Greedy(Greedy::new(blocks, capacity, levels)),
            Policy::Fifo => Self::Fifo(Fifo::new(blocks)),
            Policy::CostBenefit => Self::CostBenefit(DenseSet::new(blocks)),
            Policy::DChoices { d } => Self::DChoices(DenseSet::new(blocks), d),
            Policy::Random => Self::Random(DenseSet::new(blocks)),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Self::Greedy(index) => index.memory_bytes(),
            Self::Fifo(index) => index.memory_bytes(),
            Self::CostBenefit(set) | Self::DChoices(set, _) | Self::Random(set) => set.memory_bytes(),
        }
    }

    /// A block has been filled.
    pub(crate) fn insert(&mut self, block: u32, live: u32) {
        match self {
            Self::Greedy(index) => index.insert(block, live),
            Self::Fifo(index) => index.insert(block),
            Self::CostBenefit(set) | Self::DChoices(set, _) | Self::Random(set) => set.insert(block),
        }
    }

    /// Less of a block is live than before. The block may also be open; then nothing happens.
    #[inline(always)]
    pub(crate) fn fell(&mut self, block: u32, before: u32, after: u32) {
        if let Self::Greedy(index) = self {
            index.fell(block, before, after);
        }
    }

    /// The block that would be chosen next, as far as that is known without drawing or searching.
    pub(crate) fn likely_next(&mut self) -> Option<u32> {
        match self {
            Self::Greedy(index) => index.likely_next(),
            Self::Fifo(index) => index.choose(),
            Self::CostBenefit(_) | Self::DChoices(..) | Self::Random(_) => None,
        }
    }

    /// A sealed block is about to be emptied.
    pub(crate) fn remove(&mut self, block: u32) {
        match self {
            Self::Greedy(index) => index.remove(block),
            Self::Fifo(index) => index.remove(block),
            Self::CostBenefit(set) | Self::DChoices(set, _) | Self::Random(set) => set.remove(block),
        }
    }

    /// The policy's choice; `None` if no block is sealed.
    pub(crate) fn choose(&mut self, live: &[u32], capacity: u32, ages: &Ages<'_>, random: &mut Random) -> Option<u32> {
        match self {
            Self::Greedy(index) => index.choose(live),
            Self::Fifo(index) => index.choose(),
            Self::CostBenefit(set) => cost_benefit::choose(set, live, capacity, ages),
            Self::DChoices(set, d) => d_choices::choose(set, *d, live, random),
            Self::Random(set) => random::choose(set, random),
        }
    }
}
