//! Writes: compress, make room, tell the model, append, publish. Discards and zeroes only change the map.

use std::sync::atomic::Ordering;
use std::time::Duration;

use codec::Codec;
use flash::trace::Operation;

use super::Disk;
use super::cache::Logged;
use super::kept::Kept;
use super::scratch::{MAX_BLOCKS, Scratch, thread_cpu_ns, with_scratch};
use super::stripes::STRIPE_BLOCKS;
use crate::error::DriveError;
use crate::persistence::{Flushes, Shape, has_wal};
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{BLOCK_BYTES, Entry};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// What blocks become without being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// Nothing: the drive may forget them.
    Discard,
    /// Zeros that the host asked for.
    Zeroes,
}

impl Disk {
    /// Writes bytes at any offset inside the drive. Parts of blocks are read, changed and written as a whole.
    ///
    /// After an error, blocks before the one that failed may have been written, as with a real drive.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), DriveError> {
        let range = self.range(offset, data.len() as u64)?;
        self.tallies.writes.add(1);
        self.tallies.written_bytes.add(data.len() as u64);
        if !self.keeps_contents {
            return Ok(());
        }
        if self.is_armed.load(Ordering::Relaxed) {
            self.cut_if_awaited(offset, data);
        }
        let kept = self.gate.read();
        let outcome = with_scratch(self.codec, |scratch| {
            let (mut at, mut rest) = (range.start, data);
            while !rest.is_empty() {
                let lba = (at / BLOCK) as u32;
                let within = (at % BLOCK) as usize;
                let part = if within == 0 && rest.len() >= BLOCK_BYTES {
                    let part = &rest[..(rest.len() / BLOCK_BYTES).min(MAX_BLOCKS) * BLOCK_BYTES];
                    self.write_blocks(lba, part, scratch, &kept)?;
                    part
                } else {
                    let part = &rest[..(BLOCK_BYTES - within).min(rest.len())];
                    self.write_part(lba, within, part, scratch, &kept)?;
                    part
                };
                at += part.len() as u64;
                rest = &rest[part.len()..];
            }
            Ok(())
        });
        drop(kept);
        self.relieve_cache();
        outcome
    }

    /// How long the host has to wait for its answer because the drive is short of physical space.
    pub fn throttled_for(&self) -> Duration {
        self.throttle.wait()
    }

    /// Whole blocks, at most 256.
    fn write_blocks(&self, lba: u32, data: &[u8], scratch: &mut Scratch, kept: &Kept) -> Result<(), DriveError> {
        self.compress(lba, data, scratch);
        let promised = (scratch.sizes.iter().filter(|&&size| size > 0).count() * MAX_RECORD_BYTES) as u64;
        self.make_room(promised, kept)?;
        let held = self.stripes.hold(lba, scratch.lbas.len() as u32);
        let outcome = self.place(data, scratch, kept);
        drop(held);
        self.segments.settle(promised);
        outcome
    }

    /// Part of a block.
    fn write_part(
        &self,
        lba: u32,
        within: usize,
        part: &[u8],
        scratch: &mut Scratch,
        kept: &Kept,
    ) -> Result<(), DriveError> {
        self.tallies.unaligned.add(1);
        let promised = MAX_RECORD_BYTES as u64;
        self.make_room(promised, kept)?;
        // Between reading and writing no other thread may write the block.
        let held = self.stripes.hold(lba, 1);
        let mut block = [0; BLOCK_BYTES];
        let outcome = self.read_block(&self.map, lba, &mut block, scratch).and_then(|()| {
            block[within..within + part.len()].copy_from_slice(part);
            self.compress(lba, &block, scratch);
            self.place(&block, scratch, kept)
        });
        drop(held);
        self.segments.settle(promised);
        outcome
    }

    /// Compresses whole blocks into the scratch.
    pub(super) fn compress(&self, lba: u32, data: &[u8], scratch: &mut Scratch) {
        let started_ns = if self.codec == Codec::None { 0 } else { thread_cpu_ns() };
        scratch.lbas.clear();
        scratch.sizes.clear();
        for (lba, (block, out)) in
            (lba..).zip(data.chunks_exact(BLOCK_BYTES).zip(scratch.compressed.chunks_exact_mut(BLOCK_BYTES)))
        {
            let stored = scratch.compressor.compress(block);
            // What did not shrink is taken from the host's own bytes.
            if stored.len() < BLOCK_BYTES {
                out[..stored.len()].copy_from_slice(stored);
            }
            scratch.lbas.push(lba);
            scratch.sizes.push(stored.len() as u16);
        }
        if self.codec != Codec::None {
            self.tallies.codec_ns.add(thread_cpu_ns() - started_ns);
        }
    }

    /// Tells the model and puts what it accepts into the store. Stripes are held and room is promised.
    fn place(&self, data: &[u8], scratch: &Scratch, kept: &Kept) -> Result<(), DriveError> {
        let mut model = self.model.lock();
        let throttled_before = model.drive().counters().throttled_writes;
        let (accepted, refusal) = model.write(&scratch.lbas, &scratch.sizes);
        self.throttle.slow(model.drive().counters().throttled_writes - throttled_before);
        if let (Some(&first), 1..) = (scratch.lbas.first(), accepted) {
            self.note(Operation::Write, first, accepted as u32, &scratch.sizes[..accepted]);
        }
        drop(model);
        let blocks = data.chunks_exact(BLOCK_BYTES).zip(scratch.compressed.chunks_exact(BLOCK_BYTES));
        let placed = scratch.lbas.iter().zip(&scratch.sizes).zip(blocks).take(accepted);
        let mut published = Vec::with_capacity(if kept.cache.is_some() { accepted } else { 0 });
        let outcome = placed.map(|((&lba, &size), (block, compressed))| {
            let entry = self.keep(lba, size, block, compressed)?;
            self.publish(lba, entry, kept);
            if kept.cache.is_some() {
                published.push(entry);
            }
            Ok(())
        });
        let outcome: Result<(), DriveError> = outcome.collect();
        if let Some(&first) = scratch.lbas.first() {
            self.cache(kept, first, published, data);
        }
        outcome.and(refusal.map_or(Ok(()), |error| Err(error.into())))
    }

    /// Puts what was published of a write into the volatile cache, if there is one. Stripes are held.
    fn cache(&self, kept: &Kept, first: u32, entries: Vec<Entry>, data: &[u8]) {
        if let (Some(cache), false) = (&kept.cache, entries.is_empty()) {
            let shape = Shape { first, blocks: entries.len() as u32, is_cleared: false };
            let is_wal = self.persistence.flush == Flushes::DataFirst && has_wal(data);
            cache.add(Logged { shape, entries, is_wal });
        }
    }

    /// A cache that holds too much writes its older half back. No lock is held.
    fn relieve_cache(&self) {
        let limit = self.persistence.cache_blocks();
        if !self.persistence.is_volatile() {
            return;
        }
        let is_full = self.gate.read().cache.as_ref().is_some_and(|cache| cache.blocks() > limit);
        if is_full {
            self.destage(&self.gate.write(), limit / 2);
        }
    }

    /// Makes an entry a block's present one, and forgets the old one unless another state has it too. The block's
    /// stripe is held.
    fn publish(&self, lba: u32, entry: Entry, kept: &Kept) {
        let old = self.map.set(lba, entry);
        self.tallies.count(entry);
        self.tallies.uncount(old);
        if old.is_stored() && !kept.has(lba, old) {
            self.segments.forget(old);
        }
    }

    /// Clears a range of any length. Parts of blocks at its ends are zeroed, or left as they are if discarded.
    pub fn clear(&self, offset: u64, length: u64, clearing: Clearing) -> Result<(), DriveError> {
        let range = self.range(offset, length)?;
        let (requests, bytes) = match clearing {
            Clearing::Discard => (&self.tallies.discards, &self.tallies.discarded_bytes),
            Clearing::Zeroes => (&self.tallies.zeroes, &self.tallies.zeroed_bytes),
        };
        requests.add(1);
        bytes.add(length);
        let first = range.start.div_ceil(BLOCK);
        let last = range.end / BLOCK;
        if first > last || (first == last && clearing == Clearing::Zeroes) {
            return self.zero_parts(range.start, range.end, clearing);
        }
        self.zero_parts(range.start, first * BLOCK, clearing)?;
        self.clear_blocks(first as u32..last as u32, clearing)?;
        self.zero_parts(last * BLOCK, range.end, clearing)
    }

    fn zero_parts(&self, start: u64, end: u64, clearing: Clearing) -> Result<(), DriveError> {
        if start >= end || clearing == Clearing::Discard {
            return Ok(());
        }
        const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
        let middle = (start / BLOCK + 1) * BLOCK;
        self.write(start, &ZEROS[..(end.min(middle) - start) as usize])?;
        if end > middle { self.write(middle, &ZEROS[..(end - middle) as usize]) } else { Ok(()) }
    }

    fn clear_blocks(&self, lbas: std::ops::Range<u32>, clearing: Clearing) -> Result<(), DriveError> {
        if !self.keeps_contents {
            return Ok(());
        }
        let kept = self.gate.read();
        let entry = if clearing == Clearing::Discard { Entry::UNMAPPED } else { Entry::ZEROS };
        let mut next = lbas.start;
        while next < lbas.end {
            let count = (STRIPE_BLOCKS - next % STRIPE_BLOCKS).min(lbas.end - next);
            let _held = self.stripes.hold(next, count);
            let mut cleared = count;
            let mut outcome: Result<(), DriveError> = Ok(());
            let mut model = self.model.lock();
            match clearing {
                Clearing::Discard => {
                    model.drive_mut().trim(next, count)?;
                    self.note(Operation::Trim, next, count, &[]);
                }
                Clearing::Zeroes => {
                    let lbas: Vec<u32> = (next..next + count).collect();
                    let (accepted, refusal) = model.write(&lbas, &vec![0; lbas.len()]);
                    cleared = accepted as u32;
                    if accepted > 0 {
                        self.note(Operation::WriteZeroes, next, cleared, &[]);
                    }
                    outcome = refusal.map_or(Ok(()), |error| Err(error.into()));
                }
            }
            drop(model);
            (next..next + cleared).for_each(|lba| self.publish(lba, entry, &kept));
            if let (Some(cache), 1..) = (&kept.cache, cleared) {
                let shape = Shape { first: next, blocks: cleared, is_cleared: true };
                cache.add(Logged { shape, entries: vec![entry], is_wal: false });
            }
            outcome?;
            next += count;
        }
        drop(kept);
        self.relieve_cache();
        Ok(())
    }
}
