//! What lies below the log: memory, or a file that is read and written past the page cache.

use std::io;

use super::arena::Arena;

/// Where segments are kept.
pub enum Media {
    /// In memory.
    Memory(Arena),
}

impl Media {
    /// Copies bytes into an open segment.
    ///
    /// # Safety
    /// No other thread reads or writes these bytes meanwhile.
    pub unsafe fn fill(&self, address: u64, bytes: &[u8]) {
        match self {
            // SAFETY: the caller's promise.
            Self::Memory(arena) => unsafe { arena.fill(address, bytes) },
        }
    }

    /// Lets `look` see bytes that were filled before.
    ///
    /// # Safety
    /// No thread writes these bytes meanwhile.
    pub unsafe fn look<T>(&self, address: u64, length: usize, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        match self {
            // SAFETY: the caller's promise.
            Self::Memory(arena) => Ok(look(unsafe { arena.slice(address, length) })),
        }
    }
}
