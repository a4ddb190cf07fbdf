//! A host write to a compressing drive: admit, make room, let go of the old extent, append the new one. And TRIM.

use std::ops::Range;

use super::extent::Extent;
use super::{Compressing, Frontier, SpaceState};
use crate::BLOCK_BYTES;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch_whole;
use crate::requests::{self, RUN, Runs};

/// What the map had before a run of writes.
#[derive(Default)]
struct Replaced {
    places: [u32; RUN],
    sizes: [u16; RUN],
}

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
        self.aim_scout();
        let places = self.logs.rest(block, start);
        let most = fits.min(places.len()).min(lbas.len());
        let mut replaced = Replaced::default();
        let (count, bytes) = self.lead_to(places.start, &lbas[..most], &sizes[..most], &mut replaced);
        let programmed = u64::from(self.frontiers[0].offset - start);
        self.logs.write(places.start, &lbas[..count], &sizes[..count]);
        self.logs.extend(block, count as u32);
        self.live_bytes += programmed;
        self.scout();
        self.release_all(&replaced.places[..count], &replaced.sizes[..count]);
        self.counters.host_bytes_written += count as u64 * u64::from(BLOCK_BYTES);
        self.counters.compressed_bytes_written += u64::from(bytes);
        self.counters.nand_bytes_written += programmed;
        self.counters.padding_bytes_written += programmed - u64::from(bytes);
        count
    }

    /// Leads the map to the places from `first` on, keeps what it had, and fills the open block. Returns how many
    /// writes that are, up to a special one, and their bytes. Not inlined: its loop needs all registers.
    #[inline(never)]
    fn lead_to(&mut self, first: u32, lbas: &[u32], sizes: &[u16], replaced: &mut Replaced) -> (usize, u32) {
        let Self { map, logs, observer, packing, frontiers, .. } = self;
        let (map, uses, packing) = (&mut **map, logs.uses(), *packing);
        let Frontier { block, offset } = &mut frontiers[0];
        let (mut end, mut bytes, mut place) = (*offset, 0, first);
        let old = replaced.places.iter_mut().zip(&mut replaced.sizes);
        for ((&lba, &size), (old_place, old_size)) in lbas.iter().zip(sizes).zip(old) {
            let size = u32::from(size);
            let footprint = packing.footprint(size);
            let Some(extent) = map.get_mut(lba as usize) else { break };
            if size.wrapping_sub(1) >= BLOCK_BYTES || packing.skip(end, footprint) > 0 {
                break;
            }
            let (place_before, size_before) = extent.parts();
            uses.prefetch(place_before);
            (*old_place, *old_size) = (place_before, size_before);
            *extent = Extent::whole(place, size);
            observer.program(*block, u64::from(end), size, 0, Cause::Host);
            if footprint > size {
                observer.program(*block, u64::from(end + size), footprint - size, 0, Cause::Padding);
            }
            place += 1;
            end += footprint;
            bytes += size;
        }
        *offset = end;
        ((place - first) as usize, bytes)
    }

    /// Lets go of what the map had, extents or nothing. Not inlined, for the same reason.
    #[inline(never)]
    fn release_all(&mut self, places: &[u32], sizes: &[u16]) {
        let Self { logs, table, packing, .. } = self;
        let (packing, mut uses) = (*packing, logs.uses());
        let (mut freed, mut all_whole) = (0, true);
        table.invalidate_each(places.iter().zip(sizes).filter_map(|(&place, &size)| {
            let extent = Extent::of((place, size));
            if !extent.is_whole() {
                all_whole = false;
                return None;
            }
            let footprint = packing.footprint(extent.size());
            freed += footprint;
            Some((uses.kill(place), footprint))
        }));
        self.live_bytes -= u64::from(freed);
        if all_whole {
            return;
        }
        for pair in places.iter().zip(sizes) {
            let old = Extent::of((*pair.0, *pair.1));
            if !old.is_whole() {
                self.live_bytes -= u64::from(self.release(old));
                self.mapped += u64::from(old == Extent::UNMAPPED);
            }
        }
    }

    /// Zeros are kept in the map alone.
    fn write_zeros(&mut self, lba: u32, old: Extent) {
        let freed = self.release(old);
        self.shrink(freed);
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
            let freed = self.release(old);
            self.shrink(freed);
            self.mapped -= 1;
            self.counters.host_bytes_trimmed += u64::from(BLOCK_BYTES);
        }
    }

    /// An extent's bytes, if it has any, are garbage from now on. Returns how many it took.
    #[inline(always)]
    pub(super) fn release(&mut self, extent: Extent) -> u32 {
        let footprint = self.packing.footprint(extent.size());
        if extent.is_whole() {
            let block = self.logs.kill(extent.place());
            self.table.invalidate(block, footprint);
            return footprint;
        }
        if extent.is_stored() {
            self.release_straddling(extent);
            return footprint;
        }
        0
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
