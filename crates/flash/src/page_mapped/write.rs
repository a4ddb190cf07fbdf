//! A host write: make room, invalidate the old copy, append the new one. And its opposite, TRIM.

use std::ops::Range;

use super::{Frontier, PageMapped, UNMAPPED};
use crate::BLOCK_BYTES;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;
use crate::requests::{self, RUN, Runs};

impl<O: Observer> Runs for PageMapped<O> {
    #[inline(always)]
    fn prefetch(&self, lba: u32) {
        prefetch(&self.map, lba as usize);
    }

    #[inline(always)]
    fn write_run(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<usize, FlashError> {
        let blocks = self.logical_blocks();
        let refused = |lba, bytes| lba >= blocks || u32::from(bytes) > BLOCK_BYTES;
        // What is before the first bad request is written, as if they had come one by one.
        let run = &lbas[..requests::before(lbas, compressed_bytes, refused)];
        if run.is_empty() {
            requests::check_write(lbas[0], compressed_bytes[0].into(), blocks)?;
        }
        if self.room(0) == 0 {
            self.make_room(0);
        }
        let run = &run[..run.len().min(self.room(0) as usize)];
        self.append(run, 0);
        Ok(run.len())
    }
}

impl<O: Observer> PageMapped<O> {
    /// Writes a page that exists, through a handle that exists.
    #[inline(always)]
    pub(super) fn write_page(&mut self, lba: u32, handle: u8) {
        if self.room(handle) == 0 {
            self.make_room(handle);
        }
        self.append(&[lba], handle);
    }

    /// Puts at most `RUN` logical blocks into the next pages of a stream whose open block has room for them.
    #[inline(always)]
    fn append(&mut self, lbas: &[u32], stream: u8) {
        let count = lbas.len() as u32;
        let Frontier { next, end } = self.frontiers[usize::from(stream)];
        self.owners[next as usize..(next + count) as usize].copy_from_slice(lbas);
        // First the map, which is far away, then the bits of the old pages and the counts of their blocks.
        let mut dead = [0; RUN];
        let mut overwritten = 0;
        for (page, &lba) in (next..).zip(lbas) {
            let old = std::mem::replace(&mut self.map[lba as usize], page);
            self.live_pages.prefetch(old);
            dead[overwritten] = old;
            overwritten += usize::from(old != UNMAPPED);
        }
        for &page in &dead[..overwritten] {
            self.let_go(page);
        }
        self.mapped += (lbas.len() - overwritten) as u64;
        self.counts.host += u64::from(count);
        self.counts.programmed += u64::from(count);
        let block = self.block_of.quotient(next);
        for page in next..next + count {
            self.observer.program(block, self.offset(page, block), BLOCK_BYTES, stream, Cause::Host);
        }
        self.frontiers[usize::from(stream)].next = next + count;
        if next + count == end {
            self.table.seal(block);
        }
    }

    /// A page holds garbage from now on.
    #[inline(always)]
    fn let_go(&mut self, page: u32) {
        self.live_pages.clear(page);
        self.table.invalidate(self.block_of.quotient(page), 1);
    }

    /// Forgets blocks that exist; those that hold nothing stay so.
    pub(super) fn trim_pages(&mut self, lbas: Range<u32>) {
        for lba in lbas {
            let old = self.map[lba as usize];
            if old != UNMAPPED {
                self.map[lba as usize] = UNMAPPED;
                self.let_go(old);
                self.mapped -= 1;
                self.counts.trimmed += 1;
            }
        }
    }
}
