//! A host write to a compressing drive: admit, make room, let go of the old extent, append the new one. And TRIM.

use std::ops::Range;

use super::extent::Extent;
use super::{Compressing, SpaceState};
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch;

/// Writes that a batch looks ahead.
const LOOK_AHEAD: usize = 32;

/// Writes ahead at which the map entry has arrived, so that the block it names can be prefetched in turn.
const LOOK_AHEAD_BLOCK: usize = 12;

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
        for (index, &lba) in lbas.iter().enumerate() {
            if let Some(&ahead) = lbas.get(index + LOOK_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            if let Some(&extent) = lbas.get(index + LOOK_AHEAD_BLOCK).and_then(|&ahead| self.map.get(ahead as usize)) {
                self.table.prefetch(self.packing.block(extent.address()));
            }
            let size = compressed_bytes.get(index).map_or(BLOCK_BYTES, |&size| u32::from(size));
            self.write_extent(lba, size, 0)?;
        }
        Ok(())
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
