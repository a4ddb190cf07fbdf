//! Loads made by formula: who is written how often (a [`Pattern`]), and how well it compresses ([`Sizes`]).
//!
//! An [`Input`] yields host writes batch by batch, the same ones for the same seed, at a few nanoseconds a write, so
//! that the drive model and not its load takes the time. All patterns but the sequential one draw each write
//! independently of the last (the *independent reference model*), which is what the formulas of [`crate::theory`]
//! assume; [`Input::popularity`] gives them the classes that they need.
//!
//! | concept | file |
//! |---|---|
//! | which block comes next: uniform, sequential, Zipf, hot and cold | `pattern`, `zipf` |
//! | a range of the drive with a pattern and sizes; a mixture has several | `component` |
//! | where hot blocks lie | `scatter` |
//! | how well blocks compress, and how that goes with heat | `sizes` |
//! | drawing by weight in constant time | `alias` |
//! | what the formulas need to know | `popularity` |

mod alias;
mod component;
mod pattern;
mod popularity;
mod scatter;
mod sizes;
mod zipf;

pub use alias::AliasTable;
pub use component::{Component, Placement};
pub use pattern::Pattern;
pub use popularity::PopularityClass;
pub use sizes::{HeatClass, Redraw, SizeDistribution, Sizes};
pub use zipf::Zipf;

use crate::drive::Drive;
use crate::error::FlashError;
use crate::random::Random;
use component::Sampler;

/// Host writes that [`Input::apply`] makes at a time: enough to hide the cost of a call, few enough to stay in cache.
pub const BATCH_WRITES: usize = 4096;

/// Host writes in order, as parallel arrays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Logical blocks written.
    pub lbas: Vec<u32>,
    /// Bytes of each after compression.
    pub compressed_bytes: Vec<u16>,
    /// Placement handle of each; empty if all are 0.
    pub handles: Vec<u8>,
}

impl Batch {
    /// Number of writes.
    pub fn len(&self) -> usize {
        self.lbas.len()
    }

    /// Whether it holds no write.
    pub fn is_empty(&self) -> bool {
        self.lbas.is_empty()
    }

    /// Writes all of it, in order, on the fast path where no write has a placement handle.
    pub fn write_to<D: Drive>(&self, drive: &mut D) -> Result<(), FlashError> {
        if self.handles.is_empty() {
            return drive.write_batch(&self.lbas, &self.compressed_bytes);
        }
        for ((&lba, &bytes), &handle) in self.lbas.iter().zip(&self.compressed_bytes).zip(&self.handles) {
            drive.write_placed(lba, u32::from(bytes), handle)?;
        }
        Ok(())
    }
}

/// An endless load: one component, or a mixture of several.
#[derive(Debug, Clone)]
pub struct Input {
    components: Vec<Component>,
    samplers: Vec<Sampler>,
    choice: Option<AliasTable>,
    has_handles: bool,
    random: Random,
}

impl Input {
    /// A load from its components (at least one), for a drive of `logical_blocks`. Each component gets
    /// `share_of_writes` over the sum of all shares.
    pub fn new(logical_blocks: u32, components: Vec<Component>, seed: u64) -> Result<Self, FlashError> {
        if components.is_empty() {
            return Err(FlashError::invalid("mixture", 0, "must have at least one component"));
        }
        let samplers = components
            .iter()
            .enumerate()
            .map(|(number, component)| Sampler::new(component, logical_blocks, seed.wrapping_add(number as u64)))
            .collect::<Result<Vec<_>, _>>()?;
        let shares: Vec<f64> = components.iter().map(|component| component.share_of_writes).collect();
        let choice = if components.len() > 1 { Some(AliasTable::new(&shares)?) } else { None };
        let has_handles = components.iter().any(|component| component.handle != 0);
        Ok(Self { components, samplers, choice, has_handles, random: Random::new(seed) })
    }

    /// One pattern over the whole drive.
    pub fn whole_drive(logical_blocks: u32, pattern: Pattern, sizes: Sizes, seed: u64) -> Result<Self, FlashError> {
        Self::new(logical_blocks, vec![Component::whole_drive(logical_blocks, pattern, sizes)], seed)
    }

    /// The components as they were given.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Replaces the contents of `batch` by the next `writes` writes.
    pub fn fill(&mut self, batch: &mut Batch, writes: usize) {
        batch.lbas.resize(writes, 0);
        batch.compressed_bytes.resize(writes, 0);
        batch.handles.clear();
        let Some(choice) = &self.choice else {
            self.samplers[0].fill(&mut self.random, &mut batch.lbas, &mut batch.compressed_bytes);
            if self.has_handles {
                batch.handles.resize(writes, self.components[0].handle);
            }
            return;
        };
        for (lba, bytes) in batch.lbas.iter_mut().zip(&mut batch.compressed_bytes) {
            let number = choice.draw(self.random.bits());
            (*lba, *bytes) = self.samplers[number].next(&mut self.random);
            if self.has_handles {
                batch.handles.push(self.components[number].handle);
            }
        }
    }

    /// Makes and writes the next `writes` writes. An error stops it; the writes before the failing one are done.
    pub fn apply<D: Drive>(&mut self, drive: &mut D, writes: u64) -> Result<(), FlashError> {
        let mut batch = Batch::default();
        let mut left = writes;
        while left > 0 {
            let now = left.min(BATCH_WRITES as u64);
            self.fill(&mut batch, now as usize);
            batch.write_to(drive)?;
            left -= now;
        }
        Ok(())
    }

    /// What each logical block holds at the start: one size a block, by its address, as its component draws it.
    /// Blocks of no component are `None`.
    pub fn initial_sizes(&self, logical_blocks: u32) -> Vec<Option<u16>> {
        let mut sizes = vec![None; logical_blocks as usize];
        for sampler in &self.samplers {
            sampler.initial_sizes(&mut sizes);
        }
        sizes
    }

    /// Classes of blocks that are written equally often, for [`crate::theory`]; see [`PopularityClass`]. Sizes are
    /// rounded up to multiples of `granularity` ≥ 1, as a drive stores them.
    ///
    /// `None` where the independent reference model does not hold (sequential writes, overlapping components).
    pub fn popularity(&self, granularity: u32) -> Option<Vec<PopularityClass>> {
        popularity::of(&self.components, granularity)
    }
}

#[cfg(test)]
mod tests;
