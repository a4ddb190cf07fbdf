//! Segments of the log: which are open, full and free, how much of each is live, and who still reads.
//!
//! Writers append under one lock and only copy while they hold it. Readers take none: they pin the segment, look at
//! the map again, and read if the block is still there. A segment is used again only when nothing in it is live and
//! no reader has pinned it; both sides are sequentially consistent, so one of them always sees the other.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::entry::Entry;
use super::media::Media;
use super::record::{HEADER_BYTES, Header, MAX_RECORD_BYTES, footprint};
use crate::error::DriveError;

/// Segments that only the cleaner may take.
const KEPT: usize = 2;

/// No segment.
const NONE: u32 = u32::MAX;

/// Who appends: the host's new data and what the cleaner moves lie apart, since they die at different times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appender {
    /// The host.
    Host = 0,
    /// The cleaner.
    Cleaner = 1,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    segment: u32,
    offset: usize,
}

#[derive(Debug)]
struct State {
    open: [Open; 2],
    free: Vec<u32>,
    /// Emptied, but somebody may still read.
    draining: Vec<u32>,
    /// Full segments, by number.
    full: Vec<bool>,
    /// Bytes filled of each segment that is not open.
    filled: Vec<u32>,
    /// Bytes that requests under way may still append.
    promised: u64,
}

/// The log.
pub struct Segments {
    media: Media,
    segment_bytes: usize,
    live: Vec<AtomicU32>,
    pins: Vec<AtomicU32>,
    state: Mutex<State>,
}

/// Keeps a segment from being used again while it lives.
pub struct Pin<'a> {
    pins: &'a AtomicU32,
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.pins.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Segments {
    /// `count` segments of `segment_bytes` each over media of that size.
    pub fn new(media: Media, segment_bytes: usize, count: u32) -> Self {
        let closed = Open { segment: NONE, offset: segment_bytes };
        let state = State {
            open: [closed; 2],
            free: (0..count).rev().collect(),
            draining: Vec::with_capacity(count as usize),
            full: vec![false; count as usize],
            filled: vec![0; count as usize],
            promised: 0,
        };
        let zeros = || (0..count).map(|_| AtomicU32::new(0)).collect();
        Self { media, segment_bytes, live: zeros(), pins: zeros(), state: Mutex::new(state) }
    }

    /// The size of a segment that suits a store of so many bytes: about a thousand segments, 256 KiB to 1 MiB each.
    pub fn suitable_bytes(store_bytes: u64) -> usize {
        (store_bytes / 1024).next_power_of_two().clamp(256 << 10, 1 << 20) as usize
    }

    /// Promises room for `bytes` more; to be taken back with [`Segments::settle`] once they are appended or not needed.
    pub fn promise(&self, bytes: u64) -> bool {
        let mut state = self.state.lock();
        self.collect_drained(&mut state);
        let room = state.free.len().saturating_sub(KEPT) * (self.segment_bytes - MAX_RECORD_BYTES);
        let granted = state.promised + bytes <= room as u64;
        if granted {
            state.promised += bytes;
        }
        granted
    }

    /// Takes a promise back.
    pub fn settle(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.promised = state.promised.saturating_sub(bytes);
    }

    /// Appends a block's bytes. There is a free segment if room was promised.
    pub fn append(&self, lba: u32, bytes: &[u8], appender: Appender) -> Result<Entry, DriveError> {
        let size = footprint(bytes.len());
        let mut state = self.state.lock();
        let state = &mut *state;
        let open = &mut state.open[appender as usize];
        if open.offset + size > self.segment_bytes {
            // If this fails, the segment stays open and is tried again by the next append.
            if open.segment != NONE {
                self.media.seal(open.segment).map_err(|error| DriveError::io("cannot write the store", error))?;
            }
            let next = state.free.pop().ok_or(DriveError::StoreFull)?;
            if let Some(full) = state.full.get_mut(open.segment as usize) {
                *full = true;
                state.filled[open.segment as usize] = open.offset as u32;
            }
            self.media.open(next);
            *open = Open { segment: next, offset: 0 };
        }
        let address = u64::from(open.segment) * self.segment_bytes as u64 + open.offset as u64;
        let header = Header { lba, length: bytes.len() };
        // SAFETY: these bytes lie behind all that was published of the open segment, and the lock is ours.
        unsafe {
            self.media.fill(address, &header.to_bytes());
            self.media.fill(address + HEADER_BYTES as u64, bytes);
        }
        self.live[open.segment as usize].fetch_add(size as u32, Ordering::SeqCst);
        open.offset += size;
        Ok(Entry::stored(address, bytes.len()))
    }

    /// Says that nothing refers to a stored block any more.
    pub fn forget(&self, entry: Entry) {
        if let Some(live) = self.live.get(self.segment_of(entry)) {
            live.fetch_sub(footprint(entry.length()) as u32, Ordering::SeqCst);
        }
    }

    /// Pins a stored block's segment. The caller then looks at the map again before it reads.
    pub fn pin(&self, entry: Entry) -> Pin<'_> {
        let pins = &self.pins[self.segment_of(entry)];
        pins.fetch_add(1, Ordering::SeqCst);
        Pin { pins }
    }

    /// Lets `look` see the bytes of a block that was found in the map after its segment was pinned.
    pub fn look<T>(&self, _pin: &Pin<'_>, entry: Entry, look: impl FnOnce(&[u8]) -> T) -> std::io::Result<T> {
        // SAFETY: published bytes are not written again before the segment is free, which the pin prevents.
        unsafe { self.media.look(entry.address() + HEADER_BYTES as u64, entry.length(), look) }
    }

    /// The header that lies before a stored block.
    pub fn header(&self, _pin: &Pin<'_>, entry: Entry) -> std::io::Result<Option<Header>> {
        // SAFETY: as in `look`.
        unsafe { self.media.look(entry.address(), HEADER_BYTES, Header::from_bytes) }
    }

    /// The full segment with the fewest live bytes, those bytes, and those that are dead.
    pub fn emptiest(&self) -> Option<(u32, u32, u32)> {
        let state = self.state.lock();
        let full = state.full.iter().enumerate().filter(|(_, full)| **full);
        let with_live = full.map(|(segment, _)| (segment, self.live[segment].load(Ordering::SeqCst)));
        let (segment, live) = with_live.min_by_key(|&(_, live)| live)?;
        // The rest at a segment's end, too short for a block, is not won by emptying it.
        Some((segment as u32, live, state.filled[segment].saturating_sub(live)))
    }

    /// Gives every block of a full segment to `visit`, in order. Stops at the first error.
    pub fn walk<E: From<std::io::Error>>(
        &self,
        segment: u32,
        mut visit: impl FnMut(Header, Entry, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let filled = self.state.lock().filled[segment as usize] as usize;
        let start = u64::from(segment) * self.segment_bytes as u64;
        let visit_all = |bytes: &[u8]| {
            let mut offset = 0;
            while let Some(header) = bytes.get(offset..).and_then(Header::from_bytes) {
                let from = offset + HEADER_BYTES;
                let Some(block) = bytes.get(from..from + header.length) else { break };
                visit(header, Entry::stored(start + offset as u64, header.length), block)?;
                offset += footprint(header.length);
            }
            Ok(())
        };
        // SAFETY: a full segment is not written before it is released, which only the one cleaner does.
        unsafe { self.media.look(start, filled, visit_all) }?
    }

    /// Hands a full segment, of which nothing is live any more, back for use.
    pub fn release(&self, segment: u32) {
        let mut state = self.state.lock();
        state.full[segment as usize] = false;
        state.draining.push(segment);
        self.collect_drained(&mut state);
    }

    fn collect_drained(&self, state: &mut State) {
        let State { draining, free, .. } = state;
        draining.retain(|&segment| {
            let in_use = self.pins[segment as usize].load(Ordering::SeqCst) > 0;
            if !in_use {
                free.push(segment);
            }
            in_use
        });
    }

    /// What lies below: `memory` or `file`.
    pub fn media_kind(&self) -> &'static str {
        match self.media {
            Media::Memory(_) => "memory",
            Media::File(_) => "file",
        }
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Live bytes of each segment, headers included. The caller keeps everyone from changing them.
    pub fn live_bytes(&self) -> Vec<u32> {
        self.live.iter().map(|live| live.load(Ordering::SeqCst)).collect()
    }

    /// Segments that are free or about to be.
    pub fn free_segments(&self) -> usize {
        let state = self.state.lock();
        state.free.len() + state.draining.len()
    }

    /// The segment that a stored block lies in.
    pub fn segment_of(&self, entry: Entry) -> usize {
        (entry.address() / self.segment_bytes as u64) as usize
    }
}
