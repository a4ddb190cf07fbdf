//! Garbage collection in a compressing drive: move a victim's live extents, erase it.

use super::extent::Extent;
use super::log::{self, CHUNK, Chunk};
use super::{Compressing, Frontier, NO_VICTIM};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

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
        let packing = self.packing;
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
            self.prefetch_extents(next);
            // Live or not is what no processor can predict: the live extents are first picked without a branch.
            let mut picked = [(0, 0, 0); CHUNK as usize];
            let mut count = 0;
            for index in 0..chunk.len() {
                let (lba, size) = self.logs.get(chunk, index);
                let footprint = packing.footprint(size);
                offset += packing.skip(offset, footprint);
                let extent = Extent::new(packing.address(victim, offset), size);
                picked[count] = (lba, offset, size);
                let is_live = self.map[lba as usize] == extent;
                count += usize::from(is_live);
                live -= if is_live { footprint.min(packing.block_bytes - offset) } else { 0 };
                offset += footprint;
            }
            let mut picked = &picked[..count];
            loop {
                picked = &picked[self.move_run(picked, victim, destination, cause)..];
                let [(lba, offset, size), ref rest @ ..] = *picked else { break };
                self.move_extent(lba, victim, offset, size, destination, cause);
                picked = rest;
            }
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
            prefetch(&self.map, self.logs.get(chunk, index).0 as usize);
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

    /// Moves live extents (logical block, offset in the victim, size) as long as nothing special happens: the victim's
    /// last one, a skip to the next flash page, the end of the open block or of its log's chunk. Returns how many.
    #[inline(always)]
    fn move_run(&mut self, extents: &[(u32, u32, u32)], victim: u32, destination: u8, cause: Cause) -> usize {
        let Frontier { block, mut offset } = self.frontiers[usize::from(destination)];
        let (packing, start) = (self.packing, offset);
        let mut bytes = 0;
        let mut count = 0;
        for (entry, &(lba, from, size)) in self.logs.rest(block).iter_mut().zip(extents) {
            let footprint = packing.footprint(size);
            let special = packing.skip(offset, footprint) > 0 || from + footprint > packing.block_bytes;
            if special || offset + footprint >= packing.block_bytes {
                break;
            }
            *entry = log::entry(lba, size);
            self.map[lba as usize] = Extent::new(packing.address(block, offset), size);
            self.observer.read(victim, u64::from(from), size, cause);
            self.observer.program(block, u64::from(offset), size, destination, cause);
            if footprint > size {
                let end = u64::from(offset + size);
                self.observer.program(block, end, footprint - size, destination, Cause::Padding);
            }
            offset += footprint;
            bytes += u64::from(size);
            count += 1;
        }
        self.frontiers[usize::from(destination)].offset = offset;
        self.logs.extend(block, count as u32);
        self.counters.nand_bytes_written += u64::from(offset - start);
        self.counters.padding_bytes_written += u64::from(offset - start) - bytes;
        self.count_moved(bytes, cause);
        count
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
