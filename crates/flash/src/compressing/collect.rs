//! Garbage collection in a compressing drive: which block is emptied, and whether that can be done.

use super::{Compressing, Frontier};
use crate::BLOCK_BYTES;
use crate::block_table::State;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};

/// Bytes that emptying a block may write besides its own: an extent that runs in and one that runs out, moved whole.
const OVERHANG: u64 = 2 * BLOCK_BYTES as u64;

impl<O: Observer> Compressing<O> {
    /// Makes sure that the host can append an extent to a stream: it fits, or a free block beyond the reserve is there
    /// to take it or its end. The host never takes a block of the reserve, nor one that another stream will open.
    ///
    /// As many victims of the policy's choice as there are blocks may free none: in a small drive random choices can
    /// miss the garbage, and where extents straddle, emptying one block makes garbage in its neighbours. Then every
    /// block is emptied once, the oldest first, so that each comes after the one that runs into it. If even that frees
    /// none, padding takes what live bytes seemed to leave (how much that will be is not known beforehand): the write
    /// is rejected, and all others until something is trimmed.
    #[cold]
    pub(super) fn make_room(&mut self, stream: u8, footprint: u32, lba: u32) -> Result<(), FlashError> {
        for _ in 0..=self.table.len() {
            if self.has_room(stream, footprint) {
                return Ok(());
            }
            if !self.collect() {
                break;
            }
        }
        for victim in self.table.sealed_by_age() {
            if self.has_room(stream, footprint) {
                return Ok(());
            }
            if self.table.state(victim) == State::Sealed && self.can_empty(victim, 0) {
                self.empty(victim, Cause::GarbageCollection);
            }
        }
        if self.has_room(stream, footprint) {
            return Ok(());
        }
        self.limits.stall(self.live_bytes, self.packing.block_bytes);
        Err(self.reject(lba))
    }

    fn has_room(&self, stream: u8, footprint: u32) -> bool {
        self.fits(stream, footprint) || self.table.free_blocks() > self.set_aside(stream)
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
        let kept = OVERHANG * self.frontiers.len() as u64;
        let victim = if self.can_empty(choice, kept) { Some(choice) } else { self.table.emptiest() };
        let Some(victim) = victim.filter(|&victim| self.can_empty(victim, kept)) else { return false };
        self.empty(victim, Cause::GarbageCollection);
        if let Some(levelling) = self.config.wear_levelling {
            if let Some(cold) = self.table.trailing(levelling).filter(|&cold| self.can_empty(cold, kept)) {
                self.empty(cold, Cause::WearLevelling);
            }
        }
        true
    }

    /// Whether the free blocks suffice to move what is live in a block, and leave `kept` bytes more.
    ///
    /// Without straddling one always does: packing extents in the same order from the start of a page, with some left
    /// out, never takes more pages. With it, an extent that runs in or out is moved as a whole, so that up to two
    /// extents more than the block's own bytes are written.
    fn can_empty(&self, block: u32, kept: u64) -> bool {
        let free = self.table.free_blocks();
        if !self.packing.straddling {
            return free >= 1;
        }
        let destination = self.config.streams.collecting(self.table.stream(block));
        let Frontier { offset, .. } = self.frontiers[usize::from(destination)];
        let block_bytes = u64::from(self.packing.block_bytes);
        let room = u64::from(free) * block_bytes + (block_bytes - u64::from(offset));
        u64::from(self.table.live(block)) + OVERHANG + kept <= room
    }
}
