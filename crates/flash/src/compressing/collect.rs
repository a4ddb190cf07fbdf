//! Garbage collection in a compressing drive: move a victim's live extents, erase it.

use super::Compressing;
use super::extent::Extent;
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Extents of the victim that the scan looks ahead.
const LOOK_AHEAD: usize = 24;

impl<O: Observer> Compressing<O> {
    /// Makes sure that the host can append an extent to a stream: it fits, or a free block beyond the reserve is there
    /// to take it or its end. The host never takes a block of the reserve.
    ///
    /// What padding takes is not known beforehand, so it can happen that emptying as many victims as there are blocks
    /// has freed none; then the write is rejected, and all others until something is trimmed.
    #[cold]
    pub(super) fn make_room(&mut self, stream: u8, footprint: u32, lba: u32) -> Result<(), FlashError> {
        let mut victims = 0;
        while !self.fits(stream, footprint) && self.table.free_blocks() <= self.config.capacity.reserve_blocks() {
            if victims > self.table.len() || !self.collect() {
                self.limits.stall(self.live_bytes, self.packing.block_bytes);
                return Err(self.reject(lba));
            }
            victims += 1;
        }
        Ok(())
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
        self.table.begin_emptying(victim);
        if let Some(inflow) = self.spills.inflow(victim) {
            if self.map[inflow.lba as usize] == inflow.extent {
                self.relocate(inflow.lba, inflow.extent, destination, cause);
            }
        }
        let mut offset = self.spills.start(victim);
        let mut cursor = self.logs.cursor(victim);
        let mut ahead = cursor;
        for _ in 0..LOOK_AHEAD {
            self.prefetch_next(&mut ahead);
        }
        while self.table.live(victim) > 0 {
            self.prefetch_next(&mut ahead);
            let (lba, size) = self.logs.step(&mut cursor).expect("the log of a block names all that is live in it");
            let footprint = self.packing.footprint(size);
            offset += self.packing.skip(offset, footprint);
            let extent = Extent::new(self.packing.address(victim, offset), size);
            if self.map[lba as usize] == extent {
                self.relocate(lba, extent, destination, cause);
            }
            offset += footprint;
        }
        self.spills.forget(victim);
        self.logs.clear(victim);
        self.table.erase(victim);
        self.observer.erase(victim);
    }

    #[inline(always)]
    fn prefetch_next(&self, ahead: &mut super::log::Cursor) {
        if let Some((lba, _)) = self.logs.step(ahead) {
            prefetch(&self.map, lba as usize);
        }
    }

    /// Reads a live extent and appends it to another block.
    #[inline(always)]
    fn relocate(&mut self, lba: u32, extent: Extent, destination: u8, cause: Cause) {
        let size = extent.size();
        let block = self.packing.block(extent.address());
        let offset = self.packing.offset(extent.address());
        let head = size.min(self.packing.block_bytes - offset);
        self.observer.read(block, u64::from(offset), head, cause);
        if head < size {
            self.observer.read(self.spills.outflow(block), 0, size - head, cause);
        }
        self.release(extent);
        self.append(lba, size, destination, cause);
        match cause {
            Cause::WearLevelling => self.counters.wear_levelling_bytes_written += u64::from(size),
            _ => self.counters.gc_bytes_written += u64::from(size),
        }
    }
}
