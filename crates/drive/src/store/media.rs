//! What lies below the log: memory, or a file that is read and written past the page cache.

use std::io;

use super::arena::Arena;
use super::file::FileStore;

/// Where segments are kept.
pub enum Media {
    /// In memory.
    Memory(Arena),
    /// In a file.
    File(FileStore),
}

impl Media {
    /// A segment is about to be filled; the one before it has been sealed.
    pub fn open(&self, segment: u32) {
        match self {
            Self::Memory(_) => {}
            Self::File(file) => file.open(segment),
        }
    }

    /// A segment is full.
    pub fn seal(&self, segment: u32) -> io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.seal(segment),
        }
    }

    /// Copies bytes into an open segment.
    ///
    /// # Safety
    /// No other thread reads or writes these bytes meanwhile.
    pub unsafe fn fill(&self, address: u64, bytes: &[u8]) {
        match self {
            // SAFETY: the caller's promise.
            Self::Memory(arena) => unsafe { arena.fill(address, bytes) },
            // SAFETY: the caller's promise.
            Self::File(file) => unsafe { file.fill(address, bytes) },
        }
    }

    /// Lets `look` see bytes that were filled before. It must not look at other bytes of the store.
    ///
    /// # Safety
    /// No thread writes these bytes meanwhile.
    pub unsafe fn look<T>(&self, address: u64, length: usize, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        match self {
            // SAFETY: the caller's promise.
            Self::Memory(arena) => Ok(look(unsafe { arena.slice(address, length) })),
            // SAFETY: the caller's promise.
            Self::File(file) => unsafe { file.look(address, length, look) },
        }
    }
}
