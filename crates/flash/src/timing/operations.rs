//! Seeing what a drive does to its flash: a log of operations, kept only while someone times them.

use crate::observer::{Cause, Observer};

/// One operation, as the drive decided on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Bytes appended to an open block.
    Program {
        /// Superblock.
        block: u32,
        /// Offset in it.
        offset: u64,
        /// Length.
        bytes: u32,
        /// Why.
        cause: Cause,
    },
    /// Bytes read in order to be moved.
    Read {
        /// Superblock.
        block: u32,
        /// Offset in it.
        offset: u64,
        /// Length.
        bytes: u32,
    },
    /// A superblock erased.
    Erase {
        /// Superblock.
        block: u32,
    },
}

/// An observer that keeps what it sees while it is watching; at first it is not, so that a drive can be aged unseen.
#[derive(Debug, Clone, Default)]
pub struct OperationLog {
    watching: bool,
    calls: Vec<Call>,
}

impl OperationLog {
    /// Starts or stops to watch; either way the log is emptied.
    pub fn watch(&mut self, watching: bool) {
        self.watching = watching;
        self.calls.clear();
    }

    /// Swaps what was seen since the last time for an empty list, so that no memory is allocated twice.
    pub fn swap(&mut self, calls: &mut Vec<Call>) {
        calls.clear();
        std::mem::swap(&mut self.calls, calls);
    }
}

impl Observer for OperationLog {
    #[inline(always)]
    fn program(&mut self, block: u32, offset: u64, bytes: u32, _stream: u8, cause: Cause) {
        if self.watching {
            self.calls.push(Call::Program { block, offset, bytes, cause });
        }
    }

    #[inline(always)]
    fn read(&mut self, block: u32, offset: u64, bytes: u32, _cause: Cause) {
        if self.watching {
            self.calls.push(Call::Read { block, offset, bytes });
        }
    }

    #[inline(always)]
    fn erase(&mut self, block: u32) {
        if self.watching {
            self.calls.push(Call::Erase { block });
        }
    }
}
