//! Packing: where the next extent goes, and what is lost at the ends of granules, flash pages and blocks.

use super::extent::Extent;
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
        if !self.fits(stream, footprint) {
            self.turn_over(stream);
        }
        let Frontier { block, offset } = self.frontiers[usize::from(stream)];
        let skip = self.packing.skip(offset, footprint);
        if skip > 0 {
            self.pad(stream, skip);
        }
        let offset = offset + skip;
        let extent = Extent::new(self.packing.address(block, offset), size);
        self.map[lba as usize] = extent;
        self.logs.push(block, lba, size);
        let room = self.packing.block_bytes - offset;
        if footprint <= room {
            self.program(stream, footprint, size, cause);
        } else {
            self.spill(Inflow { lba, extent, source: block, bytes: footprint - room }, room, stream, cause);
        }
    }

    /// The extent at hand does not fit: if it may straddle and a byte is left, nothing is to be done, else the rest of
    /// the block is padded and a new one opened.
    #[cold]
    fn turn_over(&mut self, stream: u8) {
        let rest = self.packing.block_bytes - self.frontiers[usize::from(stream)].offset;
        if self.packing.straddling && rest > 0 {
            return;
        }
        if rest > 0 {
            self.pad(stream, rest);
        }
        self.open(stream);
    }

    fn open(&mut self, stream: u8) {
        let block = self.table.open(stream);
        self.frontiers[usize::from(stream)] = Frontier { block, offset: 0 };
    }

    /// Writes an extent's first `room` bytes to the end of the open block and the rest to a new one.
    #[cold]
    fn spill(&mut self, inflow: Inflow, room: u32, stream: u8, cause: Cause) {
        let size = inflow.extent.size();
        self.program(stream, room, size.min(room), cause);
        self.open(stream);
        let block = self.frontiers[usize::from(stream)].block;
        self.spills.record(block, inflow);
        self.program(stream, inflow.bytes, size.saturating_sub(room), cause);
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

    /// Leaves `bytes` of the open block empty: garbage from the start.
    fn pad(&mut self, stream: u8, bytes: u32) {
        self.table.invalidate(self.frontiers[usize::from(stream)].block, bytes);
        self.program(stream, bytes, 0, Cause::Padding);
    }
}
