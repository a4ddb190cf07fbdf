//! Flushes of a buffer that a loss of power would empty: each waits for what was buffered before it, and for no more.
//!
//! Work that empties the buffer belongs to the epoch in which it was given out; a flush ends the epoch. It is answered
//! when nothing of its epoch or an earlier one is left.

use std::collections::VecDeque;

/// Epochs that are not done, the present one last.
#[derive(Debug)]
pub(super) struct Flushes {
    first: u64,
    left: VecDeque<u64>,
    waiting: VecDeque<(u64, u32)>,
}

impl Flushes {
    pub(super) fn new() -> Self {
        Self { first: 0, left: VecDeque::from([0]), waiting: VecDeque::new() }
    }

    /// Work has been given out; its epoch.
    pub(super) fn given(&mut self) -> u64 {
        if let Some(left) = self.left.back_mut() {
            *left += 1;
        }
        self.present()
    }

    /// The epoch of what is given out now.
    pub(super) fn present(&self) -> u64 {
        self.first + self.left.len() as u64 - 1
    }

    /// Whether a flush would be answered at once.
    pub(super) fn is_clean(&self) -> bool {
        self.left.iter().all(|&left| left == 0)
    }

    /// Whether a flush waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A flush waits for all that has been given out so far.
    pub(super) fn wait(&mut self, number: u32) {
        self.waiting.push_back((self.present(), number));
        self.left.push_back(0);
    }

    /// Work of an epoch is done; gives each flush that waits no more.
    pub(super) fn done(&mut self, epoch: u64, mut answer: impl FnMut(u32)) {
        self.left[(epoch - self.first) as usize] -= 1;
        while self.left.len() > 1 && self.left[0] == 0 {
            self.left.pop_front();
            self.first += 1;
        }
        while let Some(&(last, number)) = self.waiting.front() {
            if last >= self.first {
                return;
            }
            self.waiting.pop_front();
            answer(number);
        }
    }
}
