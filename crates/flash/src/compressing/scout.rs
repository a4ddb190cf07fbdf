//! The scout goes through the log of the block that will probably be emptied next while the host writes, so that
//! collection finds it in a cache. A log is a list: steps far enough apart find that the link to the next chunk has
//! come.

use super::Compressing;
use super::log::NONE;
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
    /// Sends the scout to the block that would be emptied next, wherever it is. An overwrite can make that another one
    /// at any time: under uniform writes the victim is often one that has just fallen to the least live data.
    #[inline(always)]
    pub(super) fn aim_scout(&mut self) {
        let kept = self.config.capacity.reserve_blocks() + self.config.streams.open_blocks();
        if self.table.free_blocks() <= kept {
            if let Some(next) = self.table.likely_next().filter(|&next| next != self.scout.victim) {
                self.send_scout(next);
            }
        }
    }

    fn send_scout(&mut self, victim: u32) {
        self.logs.prefetch_log(victim);
        self.spills.prefetch(victim);
        self.scout = Scout { victim, chunk: NONE, steps: 0 };
    }

    /// Goes some steps through the next victim's log.
    #[inline(always)]
    pub(super) fn scout(&mut self) {
        for _ in 0..STRIDE {
            let Scout { victim, chunk, steps } = self.scout;
            if chunk == NONE {
                if steps == 0 && victim != NONE {
                    self.begin_scouting(victim);
                }
                return;
            }
            self.logs.prefetch(chunk);
            self.scout = Scout { victim, chunk: self.logs.after(chunk), steps: steps + 1 };
        }
        self.logs.prefetch_link(self.scout.chunk);
    }

    /// The first step: the begin of the log, and what runs into the block and out of it.
    #[inline(never)]
    fn begin_scouting(&mut self, victim: u32) {
        let chunk = self.logs.first(victim);
        self.logs.prefetch_link(chunk);
        self.logs.prefetch_entry(self.logs.last(victim));
        self.logs.prefetch_entry(self.spills.prefetch_neighbours(victim));
        self.scout = Scout { victim, chunk, steps: 1 };
    }

    /// Sees to it that a victim's log has been scouted some chunks ahead. Returns the first that has not.
    pub(super) fn scout_ahead(&mut self, victim: u32) -> u32 {
        if self.scout.victim != victim {
            self.send_scout(victim);
        }
        while self.scout.steps < CHUNKS_AHEAD && (self.scout.steps == 0 || self.scout.chunk != NONE) {
            self.scout();
        }
        self.scout.chunk
    }
}
