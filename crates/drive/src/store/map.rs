//! The map from logical block to place: one per state of the drive (the present one, and each snapshot).

use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::Entry;

/// Entries in the smallest page of memory.
const PAGE_ENTRIES: usize = 4096 / size_of::<AtomicU64>();

/// A place for each logical block; read without locks, changed only by the thread that holds the block's stripe.
pub struct Map {
    entries: Box<[AtomicU64]>,
}

impl Map {
    /// All blocks unmapped. Every page of the table is touched, so that no memory is missing later.
    pub fn new(blocks: usize) -> Self {
        let entries = unwritten(blocks);
        // A swap, since the compiler leaves out stores of zeros to what it knows to be zero.
        for entry in entries.iter().step_by(PAGE_ENTRIES) {
            entry.swap(Entry::UNMAPPED.0, Ordering::Relaxed);
        }
        Self { entries }
    }

    /// A copy, which takes memory only where blocks are mapped. The map must not change meanwhile.
    pub fn copy(&self) -> Self {
        let copy = Self { entries: unwritten(self.entries.len()) };
        for (to, from) in copy.entries.iter().zip(&self.entries) {
            let entry = from.load(Ordering::Relaxed);
            if entry != Entry::UNMAPPED.0 {
                to.store(entry, Ordering::Relaxed);
            }
        }
        copy
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

    /// Bytes of memory that a copy of it takes.
    pub fn copied_bytes(&self) -> u64 {
        let is_used = |page: &&[AtomicU64]| page.iter().any(|entry| entry.load(Ordering::Relaxed) != Entry::UNMAPPED.0);
        (self.entries.chunks(PAGE_ENTRIES).filter(is_used).count() * PAGE_ENTRIES * size_of::<AtomicU64>()) as u64
    }

    /// Bytes of memory, at most.
    pub fn memory_bytes(&self) -> u64 {
        self.entries.len() as u64 * 8
    }
}

/// Unmapped entries in memory that the kernel gives when they are first written to.
fn unwritten(blocks: usize) -> Box<[AtomicU64]> {
    const { assert!(Entry::UNMAPPED.0 == 0 && align_of::<AtomicU64>() == align_of::<u64>()) };
    let zeros = Box::into_raw(vec![0_u64; blocks].into_boxed_slice());
    // SAFETY: an AtomicU64 has the size and the bits of a u64, and the alignment has just been compared.
    unsafe { Box::from_raw(zeros as *mut [AtomicU64]) }
}
