//! Extents that collection has copied, but to which the map does not lead yet.
//!
//! An entry of the map is asked for when its extent is copied and changed when some more have been, so that nobody
//! waits for it. Between two requests there are none.

use std::collections::VecDeque;
use std::ops::Range;

/// Runs of places in the logs, in the order of copying.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    runs: VecDeque<Range<u32>>,
    waiting: u32,
}

impl Copies {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn push(&mut self, places: Range<u32>) {
        self.waiting += places.len() as u32;
        self.runs.push_back(places);
    }

    /// The oldest run, if at least `lag` extents have been copied since.
    #[inline(always)]
    pub(super) fn pop(&mut self, lag: u32) -> Option<Range<u32>> {
        let length = self.runs.front()?.len() as u32;
        if self.waiting < length + lag {
            return None;
        }
        self.waiting -= length;
        self.runs.pop_front()
    }
}
