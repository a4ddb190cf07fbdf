//! A host write: make room, let go of the old copy, append the new one. And its opposite, TRIM.

use std::ops::Range;

use super::{Frontier, PageMapped, UNMAPPED};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Writes that a batch looks ahead: far enough for main memory, near enough for the first-level cache.
const LOOK_AHEAD: usize = 32;

/// Writes that are done side by side. What one of them waits for, the others wait for too.
pub(super) const CHUNK: usize = 16;

impl<O: Observer> PageMapped<O> {
    /// Writes a page that exists, through a handle that exists.
    #[inline(always)]
    pub(super) fn write_page(&mut self, lba: u32, handle: u8) {
        if self.room(handle) == 0 {
            self.make_room(handle);
        }
        self.append(&[lba], handle);
    }

    /// Writes many pages with handle 0.
    pub(super) fn write_pages(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        if !compressed_bytes.is_empty() && compressed_bytes.len() != lbas.len() {
            return Err(FlashError::BatchLength { lbas: lbas.len(), sizes: compressed_bytes.len() });
        }
        // What is before the first bad request is written, as if they had come one by one.
        let sizes_end = compressed_bytes.iter().position(|&bytes| u32::from(bytes) > BLOCK_BYTES);
        let end = sizes_end.unwrap_or(lbas.len());
        let highest = lbas[..end].iter().copied().max().unwrap_or(0);
        if highest as usize >= self.map.len() {
            let bad = lbas.iter().position(|&lba| lba as usize >= self.map.len()).unwrap_or(end);
            self.write_existing(&lbas[..bad]);
            return Err(self.past_end(u64::from(lbas[bad])));
        }
        self.write_existing(&lbas[..end]);
        let refused =
            |index: usize| FlashError::CompressedSize { lba: lbas[index], bytes: compressed_bytes[index].into() };
        sizes_end.map_or(Ok(()), |index| Err(refused(index)))
    }

    /// Writes pages that exist.
    fn write_existing(&mut self, mut lbas: &[u32]) {
        for &lba in lbas.iter().take(LOOK_AHEAD) {
            prefetch(&self.map, lba as usize);
        }
        while !lbas.is_empty() {
            if self.room(0) == 0 {
                self.make_room(0);
            }
            let room = self.room(0) as usize;
            if room > CHUNK && room <= 2 * CHUNK {
                self.prefetch_victim();
            }
            let (now, later) = lbas.split_at(lbas.len().min(room).min(CHUNK));
            for &lba in later.iter().skip(LOOK_AHEAD - CHUNK).take(now.len()) {
                prefetch(&self.map, lba as usize);
            }
            self.append(now, 0);
            lbas = later;
        }
    }

    /// Puts at most `CHUNK` logical blocks into the next pages of a stream whose open block has room for them.
    #[inline(always)]
    fn append(&mut self, lbas: &[u32], stream: u8) {
        let count = lbas.len() as u32;
        let Frontier { next, end } = self.frontiers[usize::from(stream)];
        self.owners[next as usize..(next + count) as usize].copy_from_slice(lbas);
        // First the map, which is far away, then the counts of the blocks that lose a page.
        let mut losers = [0; CHUNK];
        let mut overwritten = 0;
        for (page, &lba) in (next..).zip(lbas) {
            let old = std::mem::replace(&mut self.map[lba as usize], page);
            losers[overwritten] = self.block_of.quotient(old);
            overwritten += usize::from(old != UNMAPPED);
        }
        for &block in &losers[..overwritten] {
            self.table.invalidate(block, 1);
        }
        self.mapped += (lbas.len() - overwritten) as u64;
        self.counts.host += u64::from(count);
        self.counts.programmed += u64::from(count);
        let block = self.block_of.quotient(next);
        for page in next..next + count {
            let offset = u64::from(page - block * self.pages_per_block) * u64::from(BLOCK_BYTES);
            self.observer.program(block, offset, BLOCK_BYTES, stream, Cause::Host);
        }
        self.frontiers[usize::from(stream)].next = next + count;
        if next + count == end {
            self.table.seal(block);
        }
    }

    /// Forgets blocks that exist; those that hold nothing stay so.
    pub(super) fn trim_pages(&mut self, lbas: Range<u32>) {
        for lba in lbas {
            let old = self.map[lba as usize];
            if old != UNMAPPED {
                self.map[lba as usize] = UNMAPPED;
                self.table.invalidate(self.block_of.quotient(old), 1);
                self.mapped -= 1;
                self.counts.trimmed += 1;
            }
        }
    }
}
