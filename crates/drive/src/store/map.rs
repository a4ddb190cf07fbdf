//! The map from logical block to place: one per state of the drive (the present one, and each snapshot).

use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::Entry;

/// A place for each logical block; read without locks, changed by whoever holds the block's stripe.
pub struct Map {
    entries: Box<[AtomicU64]>,
}

impl Map {
    /// All blocks unmapped. Every page of the table is touched, so that no memory is missing later.
    pub fn new(blocks: usize) -> Self {
        Self { entries: (0..blocks).map(|_| AtomicU64::new(Entry::UNMAPPED.0)).collect() }
    }

    /// A copy. Nobody may change the map meanwhile.
    pub fn copy(&self) -> Self {
        let entries = self.entries.iter().map(|entry| AtomicU64::new(entry.load(Ordering::Relaxed)));
        Self { entries: entries.collect() }
    }

    /// Number of logical blocks.
    pub fn blocks(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Where a block lies; unmapped past the end.
    ///
    /// Sequentially consistent with [`Map::set`] and with pins (see [`super::segments`]).
    pub fn get(&self, lba: u32) -> Entry {
        self.entries.get(lba as usize).map_or(Entry::UNMAPPED, |entry| Entry(entry.load(Ordering::SeqCst)))
    }

    /// Publishes a block's new place and returns the old one.
    pub fn set(&self, lba: u32, entry: Entry) -> Entry {
        match self.entries.get(lba as usize) {
            Some(old) => Entry(old.swap(entry.0, Ordering::SeqCst)),
            None => Entry::UNMAPPED,
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        self.entries.len() as u64 * 8
    }
}
