//! A host write to a compressing drive: admit, make room, let go of the old extent, append the new one. And TRIM.

use std::ops::Range;

use super::extent::Extent;
use super::{Compressing, Frontier, SpaceState, log};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Writes that a batch looks ahead.
const LOOK_AHEAD: usize = 32;

/// Writes that are done side by side as long as nothing special happens.
const RUN: usize = 16;

impl<O: Observer> Compressing<O> {
    /// Writes one block through a handle that exists.
    #[inline(always)]
    pub(super) fn write_extent(&mut self, lba: u32, size: u32, handle: u8) -> Result<(), FlashError> {
        if size > BLOCK_BYTES {
            return Err(FlashError::CompressedSize { lba, bytes: size });
        }
        let Some(&old) = self.map.get(lba as usize) else {
            return Err(self.past_end(u64::from(lba)));
        };
        if size == 0 {
            self.write_zeros(lba, old);
            return Ok(());
        }
        let footprint = self.packing.footprint(size);
        let freed = if old.is_stored() { self.packing.footprint(old.size()) } else { 0 };
        let live_after = self.live_bytes - u64::from(freed) + u64::from(footprint);
        if !self.limits.admit(self.live_bytes, live_after) {
            return Err(self.reject(lba));
        }
        if !self.fits(handle, footprint) {
            self.make_room(handle, footprint, lba)?;
        }
        // Making room may have moved the old extent.
        self.release(self.map[lba as usize]);
        self.mapped += u64::from(old == Extent::UNMAPPED);
        self.live_bytes = live_after;
        self.append(lba, size, handle, Cause::Host);
        self.counters.host_bytes_written += u64::from(BLOCK_BYTES);
        self.counters.compressed_bytes_written += u64::from(size);
        self.counters.throttled_writes += u64::from(self.limits.state(live_after) != SpaceState::Normal);
        Ok(())
    }

    /// Writes many blocks with handle 0.
    pub(super) fn write_extents(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        if !compressed_bytes.is_empty() && compressed_bytes.len() != lbas.len() {
            return Err(FlashError::BatchLength { lbas: lbas.len(), sizes: compressed_bytes.len() });
        }
        for &lba in lbas.iter().take(LOOK_AHEAD) {
            prefetch(&self.map, lba as usize);
        }
        let size_of = |index: usize| compressed_bytes.get(index).map_or(BLOCK_BYTES, |&size| u32::from(size));
        let mut index = 0;
        while index < lbas.len() {
            let end = lbas.len().min(index + RUN);
            let mut written = self.write_run(&lbas[index..end], |offset| size_of(index + offset));
            if written == 0 {
                self.write_extent(lbas[index], size_of(index), 0)?;
                written = 1;
            }
            let ahead = lbas.iter().skip(index + LOOK_AHEAD).take(written);
            ahead.for_each(|&lba| prefetch(&self.map, lba as usize));
            index += written;
        }
        Ok(())
    }

    /// Writes with handle 0, as long as nothing special happens: an address or a size that is refused, zeros, too
    /// little space, a skip to the next flash page, the end of the open block or of its log's chunk. Returns how many.
    #[inline(always)]
    fn write_run(&mut self, lbas: &[u32], size: impl Fn(usize) -> u32) -> usize {
        if !self.limits.is_far(self.live_bytes + (RUN as u64) * u64::from(BLOCK_BYTES)) {
            return 0;
        }
        let Frontier { block, mut offset } = self.frontiers[0];
        let (packing, start) = (self.packing, offset);
        let mut replaced = [Extent::UNMAPPED; RUN];
        let (mut count, mut bytes) = (0, 0);
        for (entry, &lba) in self.logs.rest_mut(block).iter_mut().zip(lbas) {
            let size = size(count);
            let footprint = packing.footprint(size);
            let refused = size == 0 || size > BLOCK_BYTES || lba as usize >= self.map.len();
            if refused || packing.skip(offset, footprint) > 0 || offset + footprint >= packing.block_bytes {
                break;
            }
            *entry = log::entry(lba, size);
            let extent = Extent::new(packing.address(block, offset), size);
            replaced[count] = std::mem::replace(&mut self.map[lba as usize], extent);
            self.observer.program(block, u64::from(offset), size, 0, Cause::Host);
            if footprint > size {
                let end = u64::from(offset + size);
                self.observer.program(block, end, footprint - size, 0, Cause::Padding);
            }
            offset += footprint;
            bytes += u64::from(size);
            count += 1;
        }
        let mut freed = 0;
        for &old in &replaced[..count] {
            self.release(old);
            self.mapped += u64::from(old == Extent::UNMAPPED);
            freed += if old.is_stored() { u64::from(packing.footprint(old.size())) } else { 0 };
        }
        let programmed = u64::from(offset - start);
        self.frontiers[0].offset = offset;
        self.logs.extend(block, count as u32);
        self.live_bytes = self.live_bytes + programmed - freed;
        self.counters.host_bytes_written += count as u64 * u64::from(BLOCK_BYTES);
        self.counters.compressed_bytes_written += bytes;
        self.counters.nand_bytes_written += programmed;
        self.counters.padding_bytes_written += programmed - bytes;
        if self.packing.block_bytes - offset < 2 * RUN as u32 * BLOCK_BYTES {
            self.prefetch_victim();
        }
        count
    }

    /// Zeros are kept in the map alone.
    fn write_zeros(&mut self, lba: u32, old: Extent) {
        self.release(old);
        if old.is_stored() {
            self.shrink(self.packing.footprint(old.size()));
        }
        self.mapped += u64::from(old == Extent::UNMAPPED);
        self.map[lba as usize] = Extent::ZEROS;
        self.counters.host_bytes_written += u64::from(BLOCK_BYTES);
    }

    /// Forgets blocks that exist; those that hold nothing stay so.
    pub(super) fn trim_extents(&mut self, lbas: Range<u32>) {
        for lba in lbas {
            let old = std::mem::replace(&mut self.map[lba as usize], Extent::UNMAPPED);
            if old == Extent::UNMAPPED {
                continue;
            }
            self.release(old);
            if old.is_stored() {
                self.shrink(self.packing.footprint(old.size()));
            }
            self.mapped -= 1;
            self.counters.host_bytes_trimmed += u64::from(BLOCK_BYTES);
        }
    }

    /// An extent's bytes are garbage from now on, in one block or in two.
    #[inline(always)]
    pub(super) fn release(&mut self, extent: Extent) {
        if !extent.is_stored() {
            return;
        }
        let block = self.packing.block(extent.address());
        let footprint = self.packing.footprint(extent.size());
        let room = self.packing.block_bytes - self.packing.offset(extent.address());
        if footprint <= room {
            self.table.invalidate(block, footprint);
        } else {
            self.table.invalidate(block, room);
            self.table.invalidate(self.spills.outflow(block), footprint - room);
        }
    }

    fn shrink(&mut self, footprint: u32) {
        self.live_bytes -= u64::from(footprint);
        self.limits.trimmed(self.live_bytes);
    }

    #[cold]
    pub(super) fn reject(&mut self, lba: u32) -> FlashError {
        self.counters.rejected_writes += 1;
        FlashError::OutOfSpace { lba, live_bytes: self.live_bytes, usable_bytes: self.config.capacity.data_bytes() }
    }
}
