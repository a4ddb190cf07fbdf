//! Garbage collection in a page-mapped drive: move a victim's live pages, erase it.

use std::cell::Cell;

use super::{Frontier, NO_VICTIM, PageMapped};
use crate::BLOCK_BYTES;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Pages of the victim that the scan looks ahead.
const LOOK_AHEAD: u32 = 96;

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
        let Frontier { next, end } = self.frontiers[usize::from(stream)];
        end - next
    }

    /// Blocks set aside for the streams besides the caller's that have none open now.
    fn unopened(&self) -> u32 {
        let open = self.frontiers.iter().filter(|frontier| frontier.next != frontier.end).count() as u32;
        self.config.streams.open_blocks() - open
    }

    fn open(&mut self, stream: u8) {
        let start = self.table.open(stream) * self.pages_per_block;
        self.frontiers[usize::from(stream)] = Frontier { next: start, end: start + self.pages_per_block };
        self.prefetch_owners(start);
    }

    /// Starts to load the owners of a block's first pages.
    fn prefetch_owners(&self, start: u32) {
        for page in (start..start + self.pages_per_block.min(HEAD)).step_by(LINE) {
            prefetch(&self.owners, page as usize);
        }
    }

    /// Starts to load what emptying the next victim will need first, if one is needed: its owners are there by now.
    #[inline(never)]
    pub(super) fn prefetch_victim(&mut self) {
        let kept = self.config.capacity.reserve_blocks() + self.config.streams.open_blocks();
        if self.table.free_blocks() <= kept {
            if let Some(victim) = self.table.likely_next().filter(|&victim| victim != self.expected) {
                self.expected = victim;
                self.prefetch_map(victim);
            }
        }
    }

    /// Starts to load the map entries of a block's first pages.
    fn prefetch_map(&self, block: u32) {
        let start = block * self.pages_per_block;
        for page in start..start + self.pages_per_block.min(LOOK_AHEAD) {
            prefetch(&self.map, self.owners[page as usize] as usize);
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
    fn empty(&mut self, victim: u32, cause: Cause) {
        let destination = self.config.streams.collecting(self.table.stream(victim));
        let mut live = self.table.live(victim);
        self.table.begin_emptying(victim);
        match cause {
            Cause::WearLevelling => self.counts.wear_levelling += u64::from(live),
            _ => self.counts.gc += u64::from(live),
        }
        let start = victim * self.pages_per_block;
        if victim != self.expected {
            self.prefetch_map(victim);
        }
        let mut page = start;
        while live > 0 {
            if self.room(destination) == 0 {
                self.open(destination);
            }
            let Frontier { next, end } = self.frontiers[usize::from(destination)];
            let count = live.min(end - next);
            page = self.move_live(page, count, destination, cause);
            live -= count;
        }
        self.expected = NO_VICTIM;
        self.table.erase(victim);
        self.observer.erase(victim);
        // A victim is read from cold memory: what the next one needs is on its way while the host writes.
        if let Some(next) = self.table.likely_next() {
            self.prefetch_owners(next * self.pages_per_block);
        }
    }

    /// Moves the next `count` live pages of a block, from `page` on, into the open block of a stream, which has room
    /// for them. Returns the page after the last one looked at.
    fn move_live(&mut self, page: u32, count: u32, stream: u8, cause: Cause) -> u32 {
        let Frontier { next, end } = self.frontiers[usize::from(stream)];
        let (source, destination) = (self.block_of.quotient(page), self.block_of.quotient(next));
        let source_end = (source + 1) * self.pages_per_block;
        // Borrowed apart, tables and lengths stay in registers; cells, since both runs lie in one table.
        let Self { map, owners, observer, pages_per_block, .. } = self;
        let (map, owners) = (&mut **map, Cell::from_mut(&mut **owners).as_slice_of_cells());
        let from = &owners[page as usize..source_end as usize];
        let to = &owners[next as usize..(next + count) as usize];
        let offset = |page: u32, block: u32| u64::from(page - block * *pages_per_block) * u64::from(BLOCK_BYTES);
        let (mut moved, mut looked) = (0, 0);
        let mut look = |lba: u32, ahead: u32| {
            prefetch(map, ahead as usize);
            let Some(owner) = to.get(moved) else { return false };
            let (page, now_at) = (page + looked, next + moved as u32);
            let entry = &mut map[lba as usize];
            let newest = *entry;
            let is_live = newest == page;
            // Live or not is what no processor can predict, so both tables are written in any case: a dead page's map
            // entry with the value it has, and its owner where the next page that is live will be put over it.
            owner.set(lba);
            *entry = if is_live { now_at } else { newest };
            if is_live {
                observer.read(source, offset(page, source), BLOCK_BYTES, cause);
                observer.program(destination, offset(now_at, destination), BLOCK_BYTES, stream, cause);
            }
            moved += usize::from(is_live);
            looked += 1;
            true
        };
        // Past the last page there is nothing to fetch that the victim needs.
        let (body, tail) = from.split_at(from.len().saturating_sub(LOOK_AHEAD as usize));
        let mut with_ahead = body.iter().zip(from.iter().skip(LOOK_AHEAD as usize));
        if with_ahead.all(|(lba, ahead)| look(lba.get(), ahead.get())) {
            tail.iter().map(Cell::get).all(|lba| look(lba, lba));
        }
        self.frontiers[usize::from(stream)].next = next + count;
        self.counts.programmed += u64::from(count);
        if next + count == end {
            self.table.seal(destination);
        }
        page + looked
    }
}
