//! What was appended to each block, in order: the reverse map of a compressing drive, 6 bytes an extent.
//!
//! Extents have no addresses here: packing is deterministic, so the addresses follow from the sizes. The number of
//! extents of a block is not known beforehand; logs grow in chunks that all blocks share and give back when erased.

use std::cell::Cell;
use std::ops::Range;

use crate::huge_pages;
use crate::prefetch::prefetch;

/// Extents in a chunk.
pub(super) const CHUNK: u32 = 64;
const NONE: u32 = u32::MAX;

/// Extents that begin in a cache line of 64 bytes, at least.
const ENTRIES_PER_LINE: usize = 10;

/// One extent as it was appended: logical block (low half, high half) and size in bytes.
pub(super) type Entry = [u16; 3];

#[inline(always)]
pub(super) fn entry(lba: u32, size: u32) -> Entry {
    [lba as u16, (lba >> 16) as u16, size as u16]
}

/// Logical block and size.
#[inline(always)]
pub(super) fn named([low, high, size]: Entry) -> (u32, u32) {
    (u32::from(high) << 16 | u32::from(low), u32::from(size))
}

#[derive(Debug, Clone, Copy)]
struct Log {
    first: u32,
    last: u32,
    entries: u32,
}

/// The logs of all blocks.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    logs: Vec<Log>,
    entries: Vec<Entry>,
    next: Vec<u32>,
    free: u32,
}

/// A part of a block's log. Chunks stay where they are while others are appended to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    start: u32,
    length: u32,
    next: u32,
    left: u32,
}

impl Chunk {
    /// Number of extents in the chunk; 0 behind the last one.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.length
    }

    /// Where its entries lie among all, from one of them on; nothing if it has so few.
    #[inline(always)]
    pub(super) fn entries_from(&self, index: u32) -> Range<usize> {
        (self.start + index.min(self.length)) as usize..(self.start + self.length) as usize
    }
}

impl Logs {
    /// Room is set aside for `extents`, at no price until they are there: what grows in small steps gets small pages.
    pub(super) fn new(blocks: u32, extents: u64) -> Self {
        let empty = Log { first: NONE, last: NONE, entries: 0 };
        let chunks = extents as usize / CHUNK as usize + blocks as usize;
        let mut entries = Vec::with_capacity(chunks * CHUNK as usize);
        huge_pages::advise_vec(&mut entries);
        Self { logs: vec![empty; blocks as usize], entries, next: Vec::with_capacity(chunks), free: NONE }
    }

    /// Appends an extent to a block's log.
    #[inline(always)]
    pub(super) fn push(&mut self, block: u32, lba: u32, size: u32) {
        let log = self.logs[block as usize];
        let index = log.entries % CHUNK;
        let chunk = if index == 0 { self.lengthen(block) } else { log.last };
        self.logs[block as usize].entries = log.entries + 1;
        self.entries[(chunk * CHUNK + index) as usize] = entry(lba, size);
    }

    /// The unwritten rest of a block's last chunk: as many extents as it takes without growing.
    #[inline(always)]
    pub(super) fn rest(&self, block: u32) -> Range<u32> {
        let log = self.logs[block as usize];
        let used = log.entries % CHUNK;
        if used == 0 { 0..0 } else { log.last * CHUNK + used..(log.last + 1) * CHUNK }
    }

    /// The same, to be written.
    #[inline(always)]
    pub(super) fn rest_mut(&mut self, block: u32) -> &mut [Entry] {
        let Range { start, end } = self.rest(block);
        &mut self.entries[start as usize..end as usize]
    }

    /// All entries, to be read and written side by side.
    #[inline(always)]
    pub(super) fn cells(&mut self) -> &[Cell<Entry>] {
        Cell::from_mut(self.entries.as_mut_slice()).as_slice_of_cells()
    }

    /// The first `count` entries of the rest have been written.
    #[inline(always)]
    pub(super) fn extend(&mut self, block: u32, count: u32) {
        self.logs[block as usize].entries += count;
    }

    #[cold]
    fn lengthen(&mut self, block: u32) -> u32 {
        let chunk = if self.free == NONE { self.grow() } else { self.free };
        self.free = self.next[chunk as usize];
        self.next[chunk as usize] = NONE;
        let log = &mut self.logs[block as usize];
        if log.last == NONE {
            log.first = chunk;
        } else {
            self.next[log.last as usize] = chunk;
        }
        log.last = chunk;
        chunk
    }

    /// Adds a chunk to the free list. The table grows by an eighth, not twofold, as it may be most of the memory.
    fn grow(&mut self) -> u32 {
        let chunk = self.next.len() as u32;
        assert!(chunk < u32::MAX / CHUNK, "the logs of a drive hold at most 2^32 extents");
        if self.entries.len() == self.entries.capacity() {
            let chunks = (self.next.len() / 8).max(64);
            self.entries.reserve_exact(chunks * CHUNK as usize);
            self.next.reserve_exact(chunks);
            huge_pages::advise_vec(&mut self.entries);
        }
        self.entries.resize(self.entries.len() + CHUNK as usize, [0; 3]);
        self.next.push(self.free);
        chunk
    }

    /// Empties the log of an erased block.
    pub(super) fn clear(&mut self, block: u32) {
        let log = &mut self.logs[block as usize];
        if log.last != NONE {
            self.next[log.last as usize] = self.free;
            self.free = log.first;
        }
        *log = Log { first: NONE, last: NONE, entries: 0 };
    }

    /// The first chunk of a block's log.
    pub(super) fn first(&self, block: u32) -> Chunk {
        let log = self.logs[block as usize];
        self.chunk(log.first, log.entries)
    }

    /// The chunk that follows in the same log.
    pub(super) fn after(&self, chunk: Chunk) -> Chunk {
        self.chunk(chunk.next, chunk.left)
    }

    fn chunk(&self, chunk: u32, left: u32) -> Chunk {
        if left == 0 {
            return Chunk { start: 0, length: 0, next: NONE, left: 0 };
        }
        let length = left.min(CHUNK);
        Chunk { start: chunk * CHUNK, length, next: self.next[chunk as usize], left: left - length }
    }

    /// Starts to load what names the extents of a chunk.
    #[inline(always)]
    pub(super) fn prefetch(&self, chunk: Chunk) {
        for index in (0..chunk.length).step_by(ENTRIES_PER_LINE) {
            prefetch(&self.entries, (chunk.start + index) as usize);
        }
        prefetch(&self.next, chunk.next as usize);
    }

    /// An extent of a chunk.
    #[inline(always)]
    pub(super) fn get(&self, chunk: Chunk, index: u32) -> Entry {
        self.entries[(chunk.start + index) as usize]
    }

    /// Shows the logical block of an extent of a chunk to `see`, if there is such an extent.
    #[inline(always)]
    pub(super) fn ahead(&self, chunk: Chunk, index: u32, see: impl FnOnce(u32)) {
        if index < chunk.length {
            see(named(self.get(chunk, index)).0);
        }
    }

    /// Number of extents, live and dead, that the logs hold.
    pub(super) fn extents(&self) -> u64 {
        self.logs.iter().map(|log| u64::from(log.entries)).sum()
    }
}
