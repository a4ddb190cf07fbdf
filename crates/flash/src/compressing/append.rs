//! Packing: where the next extent goes, and what is lost at the ends of granules, flash pages and blocks.

use super::footprint::ASK;
use super::spill::Inflow;
use super::{Compressing, Frontier};
use crate::observer::{Cause, Observer};

impl<O: Observer> Compressing<O> {
    /// Whether an extent fits into the open block of a stream.
    #[inline(always)]
    pub(super) fn fits(&self, stream: u8, footprint: u32) -> bool {
        let Frontier { offset, .. } = self.frontiers[usize::from(stream)];
        footprint + self.packing.skip(offset, footprint) <= self.packing.block_bytes - offset
    }

    /// Appends an extent to a stream. If it does not fit into the open block, a free one must exist: `make_room` sees
    /// to that for the host, the reserve for garbage collection.
    #[inline(always)]
    pub(super) fn append(&mut self, lba: u32, size: u32, stream: u8, cause: Cause) {
        let footprint = self.packing.footprint(size);
        let Frontier { block, offset } = self.frontiers[usize::from(stream)];
        let skip = self.packing.skip(offset, footprint);
        if footprint + skip > self.packing.block_bytes - offset {
            return self.append_across(lba, size, stream, cause);
        }
        if skip > 0 {
            self.pad(stream, skip);
        }
        let place = self.logs.push(block, lba, size, offset + skip);
        self.map.replace(lba, place, self.scale.say(footprint));
        self.program(stream, footprint, size, cause);
    }

    /// The same for an extent that does not fit: it straddles two blocks if it may and a byte is left in this one;
    /// else the rest is padded and the extent opens a new block.
    #[cold]
    fn append_across(&mut self, lba: u32, size: u32, stream: u8, cause: Cause) {
        let Frontier { block, offset } = self.frontiers[usize::from(stream)];
        let room = self.packing.block_bytes - offset;
        let footprint = self.packing.footprint(size);
        if self.packing.straddling && room > 0 {
            let place = self.logs.push(block, lba, size, offset);
            self.map.replace(lba, place, ASK);
            self.program(stream, room, size.min(room), cause);
            let inflow = Inflow { place, source: block, bytes: footprint - room };
            let block = self.open(stream);
            self.spills.record(block, inflow);
            self.program(stream, inflow.bytes, size.saturating_sub(room), cause);
        } else {
            if room > 0 {
                self.pad(stream, room);
            }
            let block = self.open(stream);
            let place = self.logs.push(block, lba, size, 0);
            self.map.replace(lba, place, self.scale.say(footprint));
            self.program(stream, footprint, size, cause);
        }
    }

    fn open(&mut self, stream: u8) -> u32 {
        let block = self.table.open(stream);
        self.frontiers[usize::from(stream)] = Frontier { block, offset: 0 };
        block
    }

    /// Programs `footprint` bytes at the end of the open block, of which the first `size` hold data.
    #[inline(always)]
    fn program(&mut self, stream: u8, footprint: u32, size: u32, cause: Cause) {
        let frontier = &mut self.frontiers[usize::from(stream)];
        let Frontier { block, offset } = *frontier;
        frontier.offset += footprint;
        let full = frontier.offset == self.packing.block_bytes;
        self.counters.nand_bytes_written += u64::from(footprint);
        self.counters.padding_bytes_written += u64::from(footprint - size);
        self.observer.program(block, u64::from(offset), size, stream, cause);
        if footprint > size {
            self.observer.program(block, u64::from(offset + size), footprint - size, stream, Cause::Padding);
        }
        if full {
            self.table.seal(block);
        }
    }

    /// Shows the observer what will be programmed at the end of the open block of a stream, extent by extent.
    #[inline(always)]
    pub(super) fn watch_programs(&mut self, stream: u8, sizes: &[u16], cause: Cause) {
        if !O::WATCHES {
            return;
        }
        let Frontier { block, mut offset } = self.frontiers[usize::from(stream)];
        for &size in sizes {
            let (size, footprint) = (u32::from(size), self.packing.footprint(size.into()));
            self.observer.program(block, u64::from(offset), size, stream, cause);
            if footprint > size {
                self.observer.program(block, u64::from(offset + size), footprint - size, stream, Cause::Padding);
            }
            offset += footprint;
        }
    }

    /// Leaves `bytes` of the open block empty: garbage from the start.
    fn pad(&mut self, stream: u8, bytes: u32) {
        self.table.invalidate(self.frontiers[usize::from(stream)].block, bytes);
        self.program(stream, bytes, 0, Cause::Padding);
    }
}
