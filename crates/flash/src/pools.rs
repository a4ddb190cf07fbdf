//! Separate pools: each class of data has flash of its own, with a fixed share that the others cannot borrow.
//!
//! Like NVM sets: each pool is a drive with its own blocks, reserve, streams and garbage collection; the host sees
//! their logical blocks one after the other. What this does to write amplification is in
//! [`crate::theory::separation`].

use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Counters;
use crate::drive::{Drive, Location};
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::wear::Wear;

/// Drives side by side, as one.
#[derive(Debug, Clone)]
pub struct Pools<D: Drive> {
    drives: Vec<D>,
    /// For each pool, its first logical block and its first block of flash.
    starts: Vec<(u32, u32)>,
    logical_blocks: u32,
}

impl<D: Drive> Pools<D> {
    /// Puts drives one after the other: at least one, together at most 2^32 − 2 logical blocks.
    pub fn new(drives: Vec<D>) -> Result<Self, FlashError> {
        let total: u64 = drives.iter().map(|drive| u64::from(drive.logical_blocks())).sum();
        if drives.is_empty() {
            return Err(FlashError::invalid("pools", 0, "must be at least 1"));
        }
        if total >= u64::from(u32::MAX) {
            return Err(FlashError::invalid("logical blocks", total, "must be less than 2^32 - 1 over all pools"));
        }
        let (mut logical, mut flash) = (0, 0);
        let mut starts = Vec::with_capacity(drives.len());
        for drive in &drives {
            starts.push((logical, flash));
            logical += drive.logical_blocks();
            flash += drive.wear().erase_counts.len() as u32;
        }
        Ok(Self { drives, starts, logical_blocks: total as u32 })
    }

    /// The pools, in order.
    pub fn drives(&self) -> &[D] {
        &self.drives
    }

    /// The pool of a logical block, and the block's address in it.
    fn pool(&self, lba: u32) -> Result<(usize, u32), FlashError> {
        if lba >= self.logical_blocks {
            return Err(self.past_end(lba));
        }
        let pool = self.starts.partition_point(|&(first, _)| first <= lba) - 1;
        Ok((pool, lba - self.starts[pool].0))
    }

    fn past_end(&self, lba: u32) -> FlashError {
        FlashError::PastEnd { lba: u64::from(lba), logical_blocks: self.logical_blocks }
    }

    fn sum(&self, part: impl Fn(&D) -> u64) -> u64 {
        self.drives.iter().map(part).sum()
    }
}

impl<D: Drive> Drive for Pools<D> {
    type Observer = D::Observer;

    fn logical_blocks(&self) -> u32 {
        self.logical_blocks
    }

    fn write_placed(&mut self, lba: u32, compressed_bytes: u32, handle: u8) -> Result<(), FlashError> {
        let (pool, local) = self.pool(lba)?;
        self.drives[pool].write_placed(local, compressed_bytes, handle)
    }

    /// Each pool gets its part of the batch in order. Pools share nothing, so the result is that of single writes; but
    /// if one pool rejects a write, the others have done all of theirs.
    fn write_batch(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        if !compressed_bytes.is_empty() && compressed_bytes.len() != lbas.len() {
            return Err(FlashError::BatchLength { lbas: lbas.len(), sizes: compressed_bytes.len() });
        }
        let inside = lbas.iter().position(|&lba| lba >= self.logical_blocks).unwrap_or(lbas.len());
        let mut parts: Vec<(Vec<u32>, Vec<u16>)> = vec![Default::default(); self.drives.len()];
        for (index, &lba) in lbas[..inside].iter().enumerate() {
            let (pool, local) = self.pool(lba)?;
            parts[pool].0.push(local);
            parts[pool].1.extend(compressed_bytes.get(index));
        }
        for (drive, (local, sizes)) in self.drives.iter_mut().zip(&parts) {
            drive.write_batch(local, sizes)?;
        }
        lbas.get(inside).map_or(Ok(()), |&lba| Err(self.past_end(lba)))
    }

    fn trim(&mut self, lba: u32, count: u32) -> Result<(), FlashError> {
        let end = u64::from(lba) + u64::from(count);
        if end > u64::from(self.logical_blocks) {
            return Err(self.past_end(lba.max(self.logical_blocks)));
        }
        for (drive, &(first, _)) in self.drives.iter_mut().zip(&self.starts) {
            let from = lba.max(first);
            let to = end.min(u64::from(first) + u64::from(drive.logical_blocks()));
            if u64::from(from) < to {
                drive.trim(from - first, (to - u64::from(from)) as u32)?;
            }
        }
        Ok(())
    }

    fn locate(&self, lba: u32) -> Option<Location> {
        let (pool, local) = self.pool(lba).ok()?;
        let location = self.drives[pool].locate(local)?;
        Some(Location { block: location.block + self.starts[pool].1, ..location })
    }

    fn mapped_blocks(&self) -> u64 {
        self.sum(Drive::mapped_blocks)
    }

    fn live_bytes(&self) -> u64 {
        self.sum(Drive::live_bytes)
    }

    fn usable_bytes(&self) -> u64 {
        self.sum(Drive::usable_bytes)
    }

    fn free_blocks(&self) -> u32 {
        self.drives.iter().map(Drive::free_blocks).sum()
    }

    fn counters(&self) -> Counters {
        self.drives.iter().fold(Counters::default(), |sum, drive| sum.plus(&drive.counters()))
    }

    fn wear(&self) -> Wear {
        Wear::of(self.drives.iter().flat_map(|drive| drive.wear().erase_counts).collect())
    }

    /// The first pool's. Pools that one observer shall watch are made with clones of a [`Shared`] one.
    fn observer(&self) -> &Self::Observer {
        self.drives[0].observer()
    }

    fn observer_mut(&mut self) -> &mut Self::Observer {
        self.drives[0].observer_mut()
    }
}

/// One observer for several pools, which shifts the numbers of each pool's blocks so that they do not collide.
#[derive(Debug)]
pub struct Shared<O> {
    observer: Arc<Mutex<O>>,
    first_block: u32,
}

impl<O: Observer> Shared<O> {
    /// Shares an observer; the first pool's blocks keep their numbers.
    pub fn new(observer: O) -> Self {
        Self { observer: Arc::new(Mutex::new(observer)), first_block: 0 }
    }

    /// The same observer, for a pool whose block 0 is the drive's block `first_block`.
    pub fn from_block(&self, first_block: u32) -> Self {
        Self { observer: Arc::clone(&self.observer), first_block }
    }

    /// Reads or changes what is shared.
    pub fn with<R>(&self, action: impl FnOnce(&mut O) -> R) -> R {
        // An observer that panicked has lost no data of ours.
        action(&mut self.observer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<O: Observer> Observer for Shared<O> {
    const WATCHES: bool = O::WATCHES;

    fn program(&mut self, block: u32, offset: u64, bytes: u32, stream: u8, cause: Cause) {
        let block = block + self.first_block;
        self.with(|observer| observer.program(block, offset, bytes, stream, cause));
    }

    fn read(&mut self, block: u32, offset: u64, bytes: u32, cause: Cause) {
        let block = block + self.first_block;
        self.with(|observer| observer.read(block, offset, bytes, cause));
    }

    fn erase(&mut self, block: u32) {
        let block = block + self.first_block;
        self.with(|observer| observer.erase(block));
    }
}
