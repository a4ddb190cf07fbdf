//! Garbage collection in a compressing drive: move a victim's live extents, erase it.

use std::cell::Cell;

use super::extent::Extent;
use super::log::{self, Chunk, Entry};
use super::{Compressing, Frontier, NO_VICTIM};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Where the emptying of a victim stands: an extent of its log, and the byte of the block at which that follows the one
/// before.
struct Source {
    chunk: Chunk,
    next: Chunk,
    index: u32,
    block: u32,
    offset: u32,
}

impl<O: Observer> Compressing<O> {
    /// Makes sure that the host can append an extent to a stream: it fits, or a free block beyond the reserve is there
    /// to take it or its end. The host never takes a block of the reserve, nor one that another stream will open.
    ///
    /// What padding takes is not known beforehand, so it can happen that emptying as many victims as there are blocks
    /// has freed none; then the write is rejected, and all others until something is trimmed.
    #[cold]
    pub(super) fn make_room(&mut self, stream: u8, footprint: u32, lba: u32) -> Result<(), FlashError> {
        let mut victims = 0;
        while !self.fits(stream, footprint) && self.table.free_blocks() <= self.set_aside(stream) {
            if victims > self.table.len() || !self.collect() {
                self.limits.stall(self.live_bytes, self.packing.block_bytes);
                return Err(self.reject(lba));
            }
            victims += 1;
        }
        Ok(())
    }

    /// Blocks that a stream cannot have: the reserve, and one for each other stream that has none open now.
    fn set_aside(&self, stream: u8) -> u32 {
        let others = self.frontiers.iter().enumerate().filter(|&(other, _)| other != usize::from(stream));
        let unopened = others.filter(|(_, frontier)| frontier.offset == self.packing.block_bytes).count();
        self.config.capacity.reserve_blocks() + unopened as u32
    }

    /// Frees the block of the policy's choice, and one that wear levelling finds. False if no block can be emptied.
    fn collect(&mut self) -> bool {
        let Some(choice) = self.table.choose() else { return false };
        let victim = if self.can_empty(choice) { Some(choice) } else { self.table.emptiest() };
        let Some(victim) = victim.filter(|&victim| self.can_empty(victim)) else { return false };
        self.empty(victim, Cause::GarbageCollection);
        if let Some(levelling) = self.config.wear_levelling {
            if let Some(cold) = self.table.trailing(levelling).filter(|&cold| self.can_empty(cold)) {
                self.empty(cold, Cause::WearLevelling);
            }
        }
        true
    }

    /// Whether the free blocks suffice to move what is live in a block.
    ///
    /// Without straddling one always does: packing extents in the same order from the start of a page, with some left
    /// out, never takes more pages. With it, an extent that runs in or out is moved as a whole, so that up to two
    /// extents more than the block's own bytes are written.
    fn can_empty(&self, block: u32) -> bool {
        let free = self.table.free_blocks();
        if !self.packing.straddling {
            return free >= 1;
        }
        let destination = self.config.streams.collecting(self.table.stream(block));
        let rest = self.packing.block_bytes - self.frontiers[usize::from(destination)].offset;
        let room = u64::from(free) * u64::from(self.packing.block_bytes) + u64::from(rest);
        u64::from(self.table.live(block)) + 2 * u64::from(BLOCK_BYTES) <= room
    }

    /// Moves what is live in a sealed block, then erases it.
    fn empty(&mut self, victim: u32, cause: Cause) {
        let destination = self.config.streams.collecting(self.table.stream(victim));
        let mut live = self.table.live(victim);
        self.table.begin_emptying(victim);
        live -= self.move_inflow(victim, destination, cause);
        let mut offset = self.spills.start(victim);
        let mut chunk = self.logs.first(victim);
        let mut next = self.logs.after(chunk);
        if victim != self.expected {
            self.prefetch_extents(chunk);
            self.logs.prefetch(next);
        }
        self.expected = NO_VICTIM;
        while live > 0 {
            assert!(chunk.len() > 0, "the log of a block names all that is live in it");
            let after_next = self.logs.after(next);
            self.logs.prefetch(after_next);
            let mut source = Source { chunk, next, index: 0, block: victim, offset };
            while live > 0 && source.index < chunk.len() {
                live -= if self.packing.straddling {
                    self.move_run::<true>(&mut source, destination, cause)
                } else {
                    self.move_run::<false>(&mut source, destination, cause)
                };
                if live > 0 && source.index < chunk.len() {
                    live -= self.move_one(&mut source, destination, cause);
                }
            }
            offset = source.offset;
            (chunk, next) = (next, after_next);
        }
        self.spills.forget(victim);
        self.logs.clear(victim);
        self.table.erase(victim);
        self.observer.erase(victim);
        // What names the next victim's extents is on its way while the host writes.
        if let Some(next) = self.table.likely_next() {
            self.logs.prefetch(self.logs.first(next));
        }
    }

    /// Starts to load what emptying the next victim will need first, if one is needed.
    #[inline(never)]
    pub(super) fn prefetch_victim(&mut self) {
        let kept = self.config.capacity.reserve_blocks() + self.config.streams.open_blocks();
        if self.table.free_blocks() <= kept {
            if let Some(victim) = self.table.likely_next().filter(|&victim| victim != self.expected) {
                self.expected = victim;
                let first = self.logs.first(victim);
                self.prefetch_extents(first);
                self.logs.prefetch(self.logs.after(first));
            }
        }
    }

    /// Starts to load the map's entries of all extents of a chunk.
    fn prefetch_extents(&self, chunk: Chunk) {
        for index in 0..chunk.len() {
            prefetch(&self.map, log::named(self.logs.get(chunk, index)).0 as usize);
        }
    }

    /// Moves an extent that runs into the victim, if it is live. Returns the bytes that leave the victim.
    fn move_inflow(&mut self, victim: u32, destination: u8, cause: Cause) -> u32 {
        let Some(inflow) = self.spills.inflow(victim) else { return 0 };
        if self.map[inflow.lba as usize] != inflow.extent {
            return 0;
        }
        let offset = self.packing.offset(inflow.extent.address());
        let head = self.packing.block_bytes - offset;
        self.table.invalidate(inflow.source, head);
        self.relocated(inflow.lba, inflow.extent.size(), destination, cause, |observer| {
            observer.read(inflow.source, u64::from(offset), head, cause);
            observer.read(victim, 0, inflow.extent.size() - head, cause);
        });
        inflow.bytes
    }

    /// Moves the live ones of the extents that come next, as long as nothing special can happen: the victim's last
    /// extent, a skip to the next flash page, the end of the open block or of its log's chunk. Returns the bytes that
    /// leave the victim.
    #[inline(always)]
    fn move_run<const STRADDLING: bool>(&mut self, source: &mut Source, destination: u8, cause: Cause) -> u32 {
        let Frontier { block, offset: start } = self.frontiers[usize::from(destination)];
        let (packing, victim) = (self.packing, source.block);
        let rest = self.logs.rest(block);
        // All of the sizes may be the largest; a block's last byte is left to the general case, which seals it.
        let fits = ((packing.block_bytes - start).saturating_sub(1) / BLOCK_BYTES)
            .min((packing.block_bytes - source.offset) / BLOCK_BYTES);
        let run = (source.chunk.len() - source.index).min(rest.len() as u32).min(fits);
        // Borrowed apart, tables and lengths stay in registers; cells, since all three runs lie in one table.
        let Self { map, logs, observer, .. } = self;
        let (map, logs) = (&mut **map, logs.cells());
        let rest = &logs[rest.start as usize..rest.end as usize];
        let names = &logs[source.chunk.entries_from(source.index)][..run as usize];
        let ahead = &logs[source.next.entries_from(source.index)];
        let (mut from, mut to) = (packing.address(victim, source.offset), packing.address(block, start));
        let skip = |address: u64, footprint: u32| {
            if STRADDLING { 0 } else { packing.skip(packing.offset(address), footprint) }
        };
        let (mut bytes, mut count, mut looked) = (0, 0, 0);
        let mut look = |entry: Entry, ahead: Entry| {
            prefetch(map, log::named(ahead).0 as usize);
            let (lba, size) = log::named(entry);
            let footprint = packing.footprint(size);
            let at = from + u64::from(skip(from, footprint));
            let slot = &mut map[lba as usize];
            let newest = *slot;
            let is_live = newest == Extent::new(at, size);
            if is_live && skip(to, footprint) > 0 {
                return false;
            }
            // Live or not is what no processor can predict, so map and log are written in any case: a dead extent's map
            // entry with the value it has, and its name where that of the next extent that is live will be put over it.
            rest[count].set(entry);
            *slot = if is_live { Extent::new(to, size) } else { newest };
            if is_live {
                let offset = packing.offset(to);
                observer.read(victim, u64::from(packing.offset(at)), size, cause);
                observer.program(block, u64::from(offset), size, destination, cause);
                if footprint > size {
                    let end = u64::from(offset + size);
                    observer.program(block, end, footprint - size, destination, Cause::Padding);
                }
            }
            let live = u32::from(is_live).wrapping_neg();
            to += u64::from(footprint & live);
            bytes += size & live;
            count += usize::from(is_live);
            from = at + u64::from(footprint);
            looked += 1;
            true
        };
        let (with_ahead, tail) = names.split_at(names.len().min(ahead.len()));
        if with_ahead.iter().zip(ahead).all(|(name, ahead)| look(name.get(), ahead.get())) {
            tail.iter().map(Cell::get).all(|name| look(name, name));
        }
        let moved = (to - packing.address(block, start)) as u32;
        source.offset += (from - packing.address(victim, source.offset)) as u32;
        source.index += looked;
        self.frontiers[usize::from(destination)].offset = start + moved;
        self.logs.extend(block, count as u32);
        self.counters.nand_bytes_written += u64::from(moved);
        self.counters.padding_bytes_written += u64::from(moved - bytes);
        self.count_moved(u64::from(bytes), cause);
        moved
    }

    /// Moves the extent that comes next, if it is live, whatever is special. Returns the bytes that leave the victim.
    #[inline(never)]
    fn move_one(&mut self, source: &mut Source, destination: u8, cause: Cause) -> u32 {
        let (packing, victim) = (self.packing, source.block);
        let (lba, size) = log::named(self.logs.get(source.chunk, source.index));
        self.logs.ahead(source.next, source.index, |lba| prefetch(&self.map, lba as usize));
        let footprint = packing.footprint(size);
        let at = source.offset + packing.skip(source.offset, footprint);
        (source.offset, source.index) = (at + footprint, source.index + 1);
        if self.map[lba as usize] != Extent::new(packing.address(victim, at), size) {
            return 0;
        }
        self.move_extent(lba, victim, at, size, destination, cause);
        footprint.min(packing.block_bytes - at)
    }

    fn count_moved(&mut self, bytes: u64, cause: Cause) {
        match cause {
            Cause::WearLevelling => self.counters.wear_levelling_bytes_written += bytes,
            _ => self.counters.gc_bytes_written += bytes,
        }
    }

    /// Moves a live extent that starts in the victim. The victim's own live bytes are not kept up: it is erased soon.
    #[inline(always)]
    fn move_extent(&mut self, lba: u32, victim: u32, offset: u32, size: u32, destination: u8, cause: Cause) {
        let room = self.packing.block_bytes - offset;
        let footprint = self.packing.footprint(size);
        if footprint > room {
            self.table.invalidate(self.spills.outflow(victim), footprint - room);
        }
        let outflow = self.spills.outflow(victim);
        self.relocated(lba, size, destination, cause, |observer| {
            observer.read(victim, u64::from(offset), size.min(room), cause);
            if size > room {
                observer.read(outflow, 0, size - room, cause);
            }
        });
    }

    /// Shows the reads of an extent, appends it elsewhere and counts.
    #[inline(always)]
    fn relocated(&mut self, lba: u32, size: u32, destination: u8, cause: Cause, reads: impl FnOnce(&mut O)) {
        reads(&mut self.observer);
        self.append(lba, size, destination, cause);
        self.count_moved(u64::from(size), cause);
    }
}
