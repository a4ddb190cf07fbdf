//! A host write to a compressing drive: admit, make room, invalidate the old extent, append the new one. And TRIM.

use std::ops::Range;

use super::chunk::CHUNK;
use super::footprint::{ASK, Footprint};
use super::map::{UNMAPPED, ZEROS, is_stored};
use super::packing::Packed;
use super::{Compressing, Frontier, SpaceState};
use crate::BLOCK_BYTES;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::requests::{self, RUN, Runs};

/// Extents that an open block still has room for when it is time to look at the next victim.
const NEAR: usize = 4 * RUN;

/// What the map had before a run of writes, and what that took.
#[derive(Default)]
struct Replaced {
    places: [u32; RUN],
    footprints: [Footprint; RUN],
}

impl<O: Observer> Runs for Compressing<O> {
    #[inline(always)]
    fn prefetch(&self, lba: u32) {
        self.map.prefetch(lba);
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
        if size == 0 {
            self.write_zeros(lba);
            return Ok(());
        }
        let footprint = self.packing.footprint(size);
        let live_after = self.live_bytes - u64::from(self.taken(lba)) + u64::from(footprint);
        if !self.limits.admit(self.live_bytes, live_after) {
            return Err(self.reject(lba));
        }
        if !self.fits(handle, footprint) {
            self.make_room(handle, footprint, lba)?;
        }
        let (old, old_footprint) = self.map.get(lba);
        self.release(old, old_footprint);
        self.mapped += u64::from(old == UNMAPPED);
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
        let fits = self.packing.surely_fit(start) as usize;
        if fits == 0 || !self.limits.is_far(self.live_bytes + (RUN as u64) * u64::from(BLOCK_BYTES)) {
            return 0;
        }
        let places = self.logs.rest(block, start);
        let most = self.plain(lbas, sizes).min(fits).min(places.len());
        let Packed { count, bytes, footprint } = self.packing.pack(start, &sizes[..most]);
        self.logs.extend(block, count as u32);
        self.watch_programs(0, &sizes[..count], Cause::Host);
        self.frontiers[0].offset += footprint;
        if fits <= NEAR {
            self.look_ahead();
        }
        let mut replaced = Replaced::default();
        self.lead_to(places.start, &lbas[..count], &sizes[..count], &mut replaced);
        self.live_bytes += u64::from(footprint);
        self.release_all(count, &replaced);
        self.counters.host_bytes_written += count as u64 * u64::from(BLOCK_BYTES);
        self.counters.compressed_bytes_written += u64::from(bytes);
        self.counters.nand_bytes_written += u64::from(footprint);
        self.counters.padding_bytes_written += u64::from(footprint - bytes);
        count
    }

    /// How many of at most `RUN` writes come before one that is refused, or of zeros.
    #[inline(always)]
    fn plain(&self, lbas: &[u32], sizes: &[u16]) -> usize {
        let blocks = self.logical_blocks();
        requests::before(lbas, sizes, |lba, size| lba >= blocks || u32::from(size).wrapping_sub(1) >= BLOCK_BYTES)
    }

    /// Writes extents to the places from `first` on, leads the map there, and keeps what it had. Not inlined: its loop
    /// needs all registers.
    #[inline(never)]
    fn lead_to(&mut self, first: u32, lbas: &[u32], sizes: &[u16], replaced: &mut Replaced) {
        let Self { map, logs, packing, scale, .. } = self;
        let (packing, scale) = (*packing, *scale);
        let (uses, names_ahead) = (logs.uses_ahead(), logs.names_ahead());
        let (names, slots) = logs.slots(first, lbas.len());
        let old = replaced.places.iter_mut().zip(&mut replaced.footprints);
        // Slices are zipped with each other first, or the loop would keep testing which of them ends.
        let to = names.iter_mut().zip(slots);
        for (place, (((&lba, &size), (name, slot)), old)) in (first..).zip(lbas.iter().zip(sizes).zip(to).zip(old)) {
            (*name, *slot) = (lba, size);
            let said = scale.say(packing.footprint(size.into()));
            let (old_place, old_footprint) = map.replace(lba, place, said);
            (*old.0, *old.1) = (old_place, old_footprint);
            uses.prefetch((old_place / CHUNK) as usize);
            if old_footprint == ASK {
                names_ahead.prefetch((old_place / CHUNK) as usize);
            }
        }
    }

    /// Releases what the map had, extents or nothing. Not inlined, for the same reason.
    #[inline(never)]
    fn release_all(&mut self, count: usize, replaced: &Replaced) {
        let Self { logs, table, scale, .. } = self;
        let (scale, mut uses) = (*scale, logs.uses());
        let (mut freed, mut all_said) = (0, true);
        let old = replaced.places[..count].iter().zip(&replaced.footprints[..count]);
        table.invalidate_each(old.clone().filter_map(|(&place, &footprint)| {
            let Some(bytes) = scale.bytes(footprint) else {
                all_said = false;
                return None;
            };
            freed += bytes;
            Some((uses.kill(place), bytes))
        }));
        self.live_bytes -= u64::from(freed);
        if !all_said {
            for (&place, &footprint) in old.filter(|&(_, &footprint)| footprint == ASK) {
                self.live_bytes -= u64::from(self.release(place, footprint));
                self.mapped += u64::from(place == UNMAPPED);
            }
        }
    }

    /// Zeros are kept in the map alone.
    fn write_zeros(&mut self, lba: u32) {
        let old = self.take_out(lba);
        self.mapped += u64::from(old == UNMAPPED);
        self.map.replace(lba, ZEROS, ASK);
        self.counters.host_bytes_written += u64::from(BLOCK_BYTES);
    }

    /// Forgets blocks that exist; those that hold nothing stay so.
    pub(super) fn trim_extents(&mut self, lbas: Range<u32>) {
        for lba in lbas {
            if self.take_out(lba) != UNMAPPED {
                self.mapped -= 1;
                self.counters.host_bytes_trimmed += u64::from(BLOCK_BYTES);
            }
        }
    }

    /// Releases what a block has. Returns what the map had.
    fn take_out(&mut self, lba: u32) -> u32 {
        let (old, footprint) = self.map.replace(lba, UNMAPPED, ASK);
        let freed = self.release(old, footprint);
        self.live_bytes -= u64::from(freed);
        self.limits.trimmed(self.live_bytes);
        old
    }

    /// The bytes of an extent, if there is one at this place, are garbage from now on. Returns how many it took.
    pub(super) fn release(&mut self, place: u32, footprint: Footprint) -> u32 {
        let bytes = self.bytes(place, footprint);
        if bytes > 0 {
            let block = self.logs.kill(place);
            let end = if footprint == ASK { self.spills.end(block, place) } else { None };
            self.table.invalidate(block, bytes - end.map_or(0, |(_, end)| end));
            if let Some((outflow, end)) = end {
                self.table.invalidate(outflow, end);
            }
        }
        bytes
    }

    /// Bytes of flash that a block takes.
    fn taken(&self, lba: u32) -> u32 {
        let (place, footprint) = self.map.get(lba);
        self.bytes(place, footprint)
    }

    /// Bytes of flash that the extent at a place takes, if there is one.
    fn bytes(&self, place: u32, footprint: Footprint) -> u32 {
        match self.scale.bytes(footprint) {
            Some(bytes) => bytes,
            None if is_stored(place) => self.packing.footprint(self.logs.entry(place).size),
            None => 0,
        }
    }

    #[cold]
    pub(super) fn reject(&mut self, lba: u32) -> FlashError {
        self.counters.rejected_writes += 1;
        FlashError::OutOfSpace { lba, live_bytes: self.live_bytes, usable_bytes: self.config.capacity.data_bytes() }
    }
}
