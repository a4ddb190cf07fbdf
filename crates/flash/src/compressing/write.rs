//! A host write to a compressing drive: admit, make room, let go of the old extent, append the new one. And TRIM.

use std::ops::Range;

use super::extent::Extent;
use super::log::Entry;
use super::{Compressing, Frontier, SpaceState};
use crate::BLOCK_BYTES;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch_whole;
use crate::requests::{self, RUN, Runs};

impl<O: Observer> Runs for Compressing<O> {
    #[inline(always)]
    fn prefetch(&self, lba: u32) {
        prefetch_whole(&self.map, lba as usize);
    }

    #[inline(always)]
    fn write_run(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<usize, FlashError> {
        let written = self.write_alike(lbas, compressed_bytes);
        if written == 0 {
            self.write_extent(lbas[0], compressed_bytes[0].into(), 0)?;
        }
        Ok(written.max(1))
    }
}

impl<O: Observer> Compressing<O> {
    /// Writes one block through a handle that exists.
    #[inline(always)]
    pub(super) fn write_extent(&mut self, lba: u32, size: u32, handle: u8) -> Result<(), FlashError> {
        requests::check_write(lba, size, self.logical_blocks())?;
        let old = self.map[lba as usize];
        if size == 0 {
            self.write_zeros(lba, old);
            return Ok(());
        }
        let footprint = self.packing.footprint(size);
        let live_after = self.live_bytes - u64::from(self.packing.taken(old)) + u64::from(footprint);
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

    /// Writes with handle 0, as long as nothing special happens: an address or a size that is refused, zeros, too
    /// little space, a skip to the next flash page, the end of the open block or of its log's chunk. Returns how many.
    #[inline(always)]
    fn write_alike(&mut self, lbas: &[u32], sizes: &[u16]) -> usize {
        let Frontier { block, offset: start } = self.frontiers[0];
        let packing = self.packing;
        let fits = packing.surely_fit(start) as usize;
        if fits == 0 || !self.limits.is_far(self.live_bytes + (RUN as u64) * u64::from(BLOCK_BYTES)) {
            return 0;
        }
        let places = self.logs.rest(block, start);
        let first = places.start;
        let mut replaced = [Extent::UNMAPPED; RUN];
        let (mut offset, mut bytes, mut count) = (start, 0, 0);
        let pairs = lbas.iter().zip(sizes).take(fits);
        for (entry, (&lba, &size)) in self.logs.entries_mut(places).iter_mut().zip(pairs) {
            let size = u32::from(size);
            let footprint = packing.footprint(size);
            let refused = size.wrapping_sub(1) >= BLOCK_BYTES || lba as usize >= self.map.len();
            if refused || packing.skip(offset, footprint) > 0 {
                break;
            }
            *entry = Entry::new(lba, size);
            let extent = Extent::whole(first + count as u32, size);
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
        let replaced = &replaced[..count];
        replaced.iter().for_each(|old| self.logs.prefetch_use(old.place()));
        self.logs.extend(block, count as u32);
        self.frontiers[0].offset = offset;
        let programmed = u64::from(offset - start);
        self.live_bytes += programmed;
        self.release_all(replaced);
        self.counters.host_bytes_written += count as u64 * u64::from(BLOCK_BYTES);
        self.counters.compressed_bytes_written += bytes;
        self.counters.nand_bytes_written += programmed;
        self.counters.padding_bytes_written += programmed - bytes;
        if self.packing.block_bytes - offset < 2 * RUN as u32 * BLOCK_BYTES {
            self.prefetch_victim();
        }
        count
    }

    /// Lets go of what was mapped before, extents or nothing.
    #[inline(always)]
    fn release_all(&mut self, replaced: &[Extent]) {
        let mut freed = 0;
        for &old in replaced {
            self.release(old);
            freed += u64::from(self.packing.taken(old));
            self.mapped += u64::from(old == Extent::UNMAPPED);
        }
        self.live_bytes -= freed;
    }

    /// Zeros are kept in the map alone.
    fn write_zeros(&mut self, lba: u32, old: Extent) {
        self.release(old);
        self.shrink(self.packing.taken(old));
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
            self.shrink(self.packing.taken(old));
            self.mapped -= 1;
            self.counters.host_bytes_trimmed += u64::from(BLOCK_BYTES);
        }
    }

    /// An extent's bytes, if it has any, are garbage from now on.
    #[inline(always)]
    pub(super) fn release(&mut self, extent: Extent) {
        if extent.is_whole() {
            let block = self.logs.kill(extent.place());
            self.table.invalidate(block, self.packing.footprint(extent.size()));
        } else if extent.is_stored() {
            self.release_straddling(extent);
        }
    }

    /// The same for bytes in two blocks.
    #[inline(never)]
    fn release_straddling(&mut self, extent: Extent) {
        let block = self.logs.kill(extent.place());
        let (outflow, end) = self.spills.outflow(block).expect("what straddles ends in another block");
        self.table.invalidate(block, self.packing.footprint(extent.size()) - end.bytes);
        self.table.invalidate(outflow, end.bytes);
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
