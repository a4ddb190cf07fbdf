//! The scout goes through the log of the block that will probably be emptied next while the host fills the rest of the
//! open block, so that collection finds it in a cache.

use super::Compressing;
use super::chunk::NONE;
use crate::observer::Observer;

/// Chunks of a victim's log that are fetched ahead, at least.
const CHUNKS_AHEAD: u32 = 3;

/// Chunks that the scout passes between two runs of host writes.
const STRIDE: u32 = 2;

/// Where the scout is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scout {
    victim: u32,
    /// The chunk to be fetched next; none at the end, nor before the first step.
    chunk: u32,
    steps: u32,
}

impl Scout {
    pub(super) const NOWHERE: Self = Self { victim: NONE, chunk: NONE, steps: 0 };
}

impl<O: Observer> Compressing<O> {
    /// Sends the scout to the block that would be emptied next, or on, if it is there. An overwrite can make that
    /// another block at any time: under uniform writes the victim is often one that has just fallen to the least live
    /// data.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self) {
        let kept = self.config.capacity.reserve_blocks() + self.config.streams.open_blocks();
        if self.table.free_blocks() > kept {
            return;
        }
        match self.table.likely_next() {
            Some(next) if next != self.scout.victim => self.send_scout(next),
            _ => self.scout(),
        }
    }

    fn send_scout(&mut self, victim: u32) {
        self.logs.prefetch_log(victim);
        self.spills.prefetch(victim);
        self.scout = Scout { victim, chunk: NONE, steps: 0 };
    }

    /// Goes some steps through the next victim's log.
    fn scout(&mut self) {
        let Scout { victim, mut chunk, mut steps } = self.scout;
        if steps == 0 && victim != NONE {
            // The first step: what runs into the block and out of it.
            chunk = self.logs.first(victim);
            let inflow = self.spills.prefetch_neighbours(victim);
            self.logs.prefetch(self.logs.last(victim));
            self.logs.prefetch_place(inflow);
        }
        for _ in 0..STRIDE {
            self.logs.prefetch(chunk);
            (chunk, steps) = (self.logs.after(chunk), steps + 1);
        }
        self.scout = Scout { victim, chunk, steps };
    }

    /// Sees to it that a victim's log has been scouted some chunks ahead. Returns the first that has not.
    pub(super) fn scout_ahead(&mut self, victim: u32) -> u32 {
        if self.scout.victim != victim {
            self.send_scout(victim);
        }
        while self.scout.steps < CHUNKS_AHEAD {
            self.scout();
        }
        self.scout.chunk
    }
}
