//! Garbage collection in a page-mapped drive: move a victim's live pages, erase it.

use std::ops::Range;

use super::{Frontier, PageMapped, live_pages};
use crate::BLOCK_BYTES;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Pages moved between the fetch of a page's map entry and its change: far enough for main memory.
const LAG: u32 = 64;

/// Owners whose cache lines are fetched when a block comes into use; the processor sees the pattern of longer runs.
const HEAD: u32 = 1024;

/// Owners in a cache line of 64 bytes.
const LINE: usize = 16;

impl<O: Observer> PageMapped<O> {
    /// Gives a host stream an open block. The host never takes a block of the reserve, nor one that another stream will
    /// open: while no more than these are free, victims are emptied.
    #[cold]
    pub(super) fn make_room(&mut self, stream: u8) {
        while self.room(stream) == 0 {
            if self.table.free_blocks() > self.config.capacity.reserve_blocks() + self.unopened() {
                self.open(stream);
                return;
            }
            self.collect();
        }
    }

    /// Pages that the open block of a stream has left.
    #[inline(always)]
    pub(super) fn room(&self, stream: u8) -> u32 {
        let Frontier { next, end } = self.frontier(stream);
        end - next
    }

    #[inline(always)]
    fn frontier(&self, stream: u8) -> Frontier {
        self.frontiers[usize::from(stream)]
    }

    /// Blocks set aside for the streams besides the caller's that have none open now.
    fn unopened(&self) -> u32 {
        let open = self.frontiers.iter().filter(|frontier| frontier.next != frontier.end).count() as u32;
        self.config.streams.open_blocks() - open
    }

    fn open(&mut self, stream: u8) {
        let start = self.table.open(stream) * self.pages_per_block;
        let end = start + self.pages_per_block;
        self.frontiers[usize::from(stream)] = Frontier { next: start, end };
        self.live_pages.set(start..end);
        self.prefetch_owners(start);
    }

    /// Starts to load the owners of a block's first pages.
    fn prefetch_owners(&self, start: u32) {
        for page in (start..start + self.pages_per_block.min(HEAD)).step_by(LINE) {
            prefetch(&self.owners, page as usize);
        }
    }

    /// Frees the block of the policy's choice, and one that wear levelling finds. At least one data block's worth of
    /// pages is spare, so some sealed block always holds garbage and repeated choices come to an end.
    fn collect(&mut self) {
        let victim = self.table.choose().expect("all data blocks are sealed when no block is free");
        self.empty(victim, Cause::GarbageCollection);
        if let Some(levelling) = self.config.wear_levelling {
            if let Some(cold) = self.table.trailing(levelling) {
                self.empty(cold, Cause::WearLevelling);
            }
        }
    }

    /// Moves what is live in a sealed block, then erases it. Takes at most one free block and gives one back.
    ///
    /// Owners are copied first and the map is changed `LAG` pages later, when the entry is there. That is safe: the map
    /// is not read before the block is empty.
    fn empty(&mut self, victim: u32, cause: Cause) {
        let destination = self.config.streams.collecting(self.table.stream(victim));
        let live = self.table.live(victim);
        self.table.begin_emptying(victim);
        match cause {
            Cause::WearLevelling => self.counts.wear_levelling += u64::from(live),
            _ => self.counts.gc += u64::from(live),
        }
        self.counts.programmed += u64::from(live);
        let start = victim * self.pages_per_block;
        let mut remapped = self.frontier(destination).next;
        for (word, within) in live_pages::words(start..start + self.pages_per_block) {
            let mut bits = self.live_pages.bits(word) & within;
            while bits != 0 {
                if self.room(destination) == 0 {
                    self.remap(remapped..self.frontier(destination).end);
                    self.open(destination);
                    remapped = self.frontier(destination).next;
                }
                bits = self.copy_owners(word * live_pages::WORD, bits, destination, cause);
                let due = self.frontier(destination).next.saturating_sub(LAG).max(remapped);
                self.remap(remapped..due);
                remapped = due;
            }
        }
        self.remap(remapped..self.frontier(destination).next);
        self.table.erase(victim);
        self.observer.erase(victim);
        // A victim is read from cold memory: what the next one needs is on its way while the host writes.
        if let Some(next) = self.table.likely_next() {
            self.prefetch_owners(next * self.pages_per_block);
            self.live_pages.prefetch(next * self.pages_per_block);
        }
    }

    /// Appends the owners of the live pages among 64 to the open block of a stream, as many as it has room for, and
    /// starts to load their map entries. Returns the bits of those left.
    #[inline(always)]
    fn copy_owners(&mut self, first: u32, mut bits: u64, stream: u8, cause: Cause) -> u64 {
        let Frontier { next, end } = self.frontier(stream);
        let destination = self.block_of.quotient(next);
        let count = bits.count_ones().min(end - next);
        for to in next..next + count {
            let from = first + bits.trailing_zeros();
            bits &= bits - 1;
            let lba = self.owners[from as usize];
            prefetch(&self.map, lba as usize);
            self.owners[to as usize] = lba;
            let source = self.block_of.quotient(from);
            self.observer.read(source, self.offset(from, source), BLOCK_BYTES, cause);
            self.observer.program(destination, self.offset(to, destination), BLOCK_BYTES, stream, cause);
        }
        self.frontiers[usize::from(stream)].next = next + count;
        if next + count == end {
            self.table.seal(destination);
        }
        bits
    }

    /// Byte offset of a page in its block.
    #[inline(always)]
    pub(super) fn offset(&self, page: u32, block: u32) -> u64 {
        u64::from(page - block * self.pages_per_block) * u64::from(BLOCK_BYTES)
    }

    /// Leads the map to pages that have been copied.
    #[inline(always)]
    fn remap(&mut self, pages: Range<u32>) {
        for page in pages {
            self.map[self.owners[page as usize] as usize] = page;
        }
    }
}
