//! A store in a file: full segments are written and read past the page cache, open ones lie in memory.
//!
//! Past the page cache (O_DIRECT), because dirty pages of the store would have to be written while the kernel waits for
//! this very program to free memory. The file has no name once it is open, so that nothing is left behind however the
//! program ends; its room is reserved beforehand, so that the disk cannot fill up under the drive.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::arena::Arena;

/// What O_DIRECT wants addresses, lengths and memory to be multiples of.
const ALIGNMENT: u64 = 4096;

/// Segments in memory: the two open ones.
const SLOTS: usize = 2;

/// No segment.
const NONE: u32 = u32::MAX;

struct Slot {
    segment: AtomicU32,
    readers: AtomicU32,
}

/// The file and the open segments.
pub struct FileStore {
    file: File,
    segment_bytes: u64,
    buffers: Arena,
    slots: [Slot; SLOTS],
}

thread_local! {
    static BUFFER: RefCell<Option<Arena>> = const { RefCell::new(None) };
}

impl FileStore {
    /// Makes a file of `bytes` at `path`, where none may be, reserves its room and takes its name away.
    pub fn new(path: &Path, bytes: u64, segment_bytes: usize) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600).custom_flags(libc::O_DIRECT);
        let file = options.open(path)?;
        fs::remove_file(path)?;
        // SAFETY: a valid descriptor.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as i64) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let slot = || Slot { segment: AtomicU32::new(NONE), readers: AtomicU32::new(0) };
        let buffers = Arena::new(SLOTS * segment_bytes)?;
        Ok(Self { file, segment_bytes: segment_bytes as u64, buffers, slots: [slot(), slot()] })
    }

    /// Gives a segment that is about to be opened a place in memory; the caller has sealed the one before it.
    pub fn open(&self, segment: u32) {
        if let Some(slot) = self.slots.iter().find(|slot| slot.segment.load(Ordering::SeqCst) == NONE) {
            slot.segment.store(segment, Ordering::SeqCst);
        }
    }

    /// Writes a segment that has become full, and frees its place in memory once no thread reads it there.
    pub fn seal(&self, segment: u32) -> io::Result<()> {
        let Some(slot) = self.slot_of(segment) else { return Ok(()) };
        let length = self.segment_bytes as usize;
        // SAFETY: only the holder of the log's lock writes to open segments, and that is our caller.
        let bytes = unsafe { self.buffers.slice(slot as u64 * self.segment_bytes, length) };
        self.file.write_all_at(bytes, u64::from(segment) * self.segment_bytes)?;
        self.slots[slot].segment.store(NONE, Ordering::SeqCst);
        while self.slots[slot].readers.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Copies bytes into an open segment.
    ///
    /// # Safety
    /// No other thread reads or writes these bytes meanwhile.
    pub unsafe fn fill(&self, address: u64, bytes: &[u8]) {
        let segment = (address / self.segment_bytes) as u32;
        if let Some(slot) = self.slot_of(segment) {
            let within = address % self.segment_bytes;
            // SAFETY: the caller's promise.
            unsafe { self.buffers.fill(slot as u64 * self.segment_bytes + within, bytes) };
        }
    }

    /// Lets `look` see bytes that were filled before.
    ///
    /// # Safety
    /// No thread writes these bytes meanwhile.
    pub unsafe fn look<T>(&self, address: u64, length: usize, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let segment = (address / self.segment_bytes) as u32;
        if let Some(slot) = self.slot_of(segment) {
            let readers = &self.slots[slot].readers;
            readers.fetch_add(1, Ordering::SeqCst);
            let is_here = self.slots[slot].segment.load(Ordering::SeqCst) == segment;
            let place = slot as u64 * self.segment_bytes + address % self.segment_bytes;
            if is_here {
                // SAFETY: the caller's promise, and the slot is not given away while it has readers.
                let seen = look(unsafe { self.buffers.slice(place, length) });
                readers.fetch_sub(1, Ordering::SeqCst);
                return Ok(seen);
            }
            readers.fetch_sub(1, Ordering::SeqCst);
        }
        self.read(address, length, look)
    }

    fn read<T>(&self, address: u64, length: usize, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let start = address / ALIGNMENT * ALIGNMENT;
        let end = (address + length as u64).next_multiple_of(ALIGNMENT);
        let wanted = (end - start) as usize;
        BUFFER.with_borrow_mut(|slot| {
            let buffer = match slot {
                Some(buffer) if buffer.bytes() >= wanted => buffer,
                _ => slot.insert(Arena::new(wanted.max(4 * ALIGNMENT as usize))?),
            };
            let bytes = buffer.own();
            self.file.read_exact_at(&mut bytes[..wanted], start)?;
            let from = (address - start) as usize;
            Ok(look(&bytes[from..from + length]))
        })
    }

    fn slot_of(&self, segment: u32) -> Option<usize> {
        self.slots.iter().position(|slot| slot.segment.load(Ordering::SeqCst) == segment)
    }
}
