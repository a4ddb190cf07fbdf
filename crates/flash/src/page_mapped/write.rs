//! A host write: make room, let go of the old copy, append the new one. And its opposite, TRIM.

use std::ops::Range;

use super::{PageMapped, UNMAPPED};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Writes that a batch looks ahead: far enough for main memory, near enough for the first-level cache.
const LOOK_AHEAD: usize = 32;

/// Writes ahead at which the map entry has arrived, so that the block it names can be prefetched in turn.
const LOOK_AHEAD_BLOCK: usize = 12;

impl<O: Observer> PageMapped<O> {
    /// Writes a page that exists, through a handle that exists.
    #[inline(always)]
    pub(super) fn write_page(&mut self, lba: u32, handle: u8) {
        let frontier = self.frontiers[usize::from(handle)];
        if frontier.next == frontier.end {
            self.make_room(handle);
        }
        let old = self.map[lba as usize];
        if old == UNMAPPED {
            self.mapped += 1;
        } else {
            self.table.invalidate(self.block_of.quotient(old), 1);
        }
        self.append(lba, handle, Cause::Host);
        self.counts.host += 1;
    }

    /// Writes many pages with handle 0.
    pub(super) fn write_pages(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        if !compressed_bytes.is_empty() {
            if compressed_bytes.len() != lbas.len() {
                return Err(FlashError::BatchLength { lbas: lbas.len(), sizes: compressed_bytes.len() });
            }
            if let Some(index) = compressed_bytes.iter().position(|&bytes| u32::from(bytes) > BLOCK_BYTES) {
                let bytes = u32::from(compressed_bytes[index]);
                self.write_pages(&lbas[..index], &[])?;
                return Err(FlashError::CompressedSize { lba: lbas[index], bytes });
            }
        }
        for (index, &lba) in lbas.iter().enumerate() {
            if let Some(&ahead) = lbas.get(index + LOOK_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            if let Some(&page) = lbas.get(index + LOOK_AHEAD_BLOCK).and_then(|&ahead| self.map.get(ahead as usize)) {
                self.table.prefetch(self.block_of.quotient(page));
            }
            self.check_lba(lba)?;
            self.write_page(lba, 0);
        }
        Ok(())
    }

    /// Puts a logical block into the next page of a stream whose block has room.
    #[inline(always)]
    pub(super) fn append(&mut self, lba: u32, stream: u8, cause: Cause) {
        let frontier = &mut self.frontiers[usize::from(stream)];
        let page = frontier.next;
        frontier.next += 1;
        let full = frontier.next == frontier.end;
        self.owners[page as usize] = lba;
        self.map[lba as usize] = page;
        self.counts.programmed += 1;
        let block = self.block_of.quotient(page);
        let offset = u64::from(page - block * self.pages_per_block) * u64::from(BLOCK_BYTES);
        self.observer.program(block, offset, BLOCK_BYTES, stream, cause);
        if full {
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
