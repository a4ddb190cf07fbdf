//! Emptying a victim of a compressing drive: its live extents are copied, and the map is led to the copies.

use super::extent::Extent;
use super::log::{CHUNK, NONE};
use super::{Compressing, Frontier};
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch_whole;

/// Extents copied between the fetch of an extent's map entry and its change: far enough for main memory.
const LAG: u32 = 48;

/// Chunks of a victim's log that are fetched ahead.
const CHUNKS_AHEAD: usize = 3;

impl<O: Observer> Compressing<O> {
    /// Moves what is live in a sealed block, then erases it.
    pub(super) fn empty(&mut self, victim: u32, cause: Cause) {
        let destination = self.config.streams.collecting(self.table.stream(victim));
        self.table.begin_emptying(victim);
        self.move_inflow(victim, destination, cause);
        self.move_outflow(victim, destination, cause);
        let mut chunk = self.logs.first(victim);
        let mut ahead = self.prefetch_log(chunk);
        while chunk != NONE {
            self.logs.prefetch(ahead);
            self.copy_chunk(chunk, victim, destination, cause);
            (chunk, ahead) = (self.logs.after(chunk), self.logs.after(ahead));
        }
        self.remap(0);
        self.spills.forget(victim);
        self.logs.clear(victim);
        self.table.erase(victim);
        self.observer.erase(victim);
        // What names the next victim's extents is on its way while the host writes.
        if let Some(next) = self.table.likely_next() {
            self.logs.prefetch(self.logs.first(next));
        }
    }

    /// Starts to load what emptying the next victim will need first, if one is needed.
    #[inline(never)]
    pub(super) fn prefetch_victim(&mut self) {
        let kept = self.config.capacity.reserve_blocks() + self.config.streams.open_blocks();
        if self.table.free_blocks() <= kept {
            if let Some(victim) = self.table.likely_next() {
                self.prefetch_log(self.logs.first(victim));
            }
        }
    }

    /// Starts to load a chunk and some that follow; returns the one after these.
    fn prefetch_log(&self, first: u32) -> u32 {
        (0..CHUNKS_AHEAD).fold(first, |chunk, _| {
            self.logs.prefetch(chunk);
            self.logs.after(chunk)
        })
    }

    /// Copies the live extents of a chunk.
    fn copy_chunk(&mut self, chunk: u32, victim: u32, destination: u8, cause: Cause) {
        let mut live = self.logs.live(chunk);
        // Only who watches wants to know; for others this is compiled away.
        let offsets = if O::WATCHES { self.logs.offsets(chunk, self.packing) } else { [0; CHUNK as usize] };
        let reads = |observer: &mut O, index: u32, size: u32| {
            observer.read(victim, u64::from(offsets[index as usize]), size, cause);
        };
        while live != 0 {
            let left = if self.packing.straddling {
                self.copy_run::<true>(chunk, live, destination, cause, reads)
            } else {
                self.copy_run::<false>(chunk, live, destination, cause, reads)
            };
            if left == live {
                let index = live.trailing_zeros();
                let entry = self.logs.entry(chunk * CHUNK + index);
                reads(&mut self.observer, index, entry.size());
                self.append(entry.lba(), entry.size(), destination, cause);
                self.count_moved(u64::from(entry.size()), cause);
                live &= live - 1;
            } else {
                live = left;
                self.remap(LAG);
            }
        }
    }

    /// Copies live extents of a chunk, as long as nothing special can happen: a skip to the next flash page, the end of
    /// the open block or of its log's chunk. Returns the bits of those left.
    #[inline(always)]
    fn copy_run<const STRADDLING: bool>(
        &mut self,
        chunk: u32,
        mut live: u32,
        destination: u8,
        cause: Cause,
        reads: impl Fn(&mut O, u32, u32),
    ) -> u32 {
        let Frontier { block, offset: start } = self.frontiers[usize::from(destination)];
        let packing = self.packing;
        let fits = packing.surely_fit(start);
        if fits == 0 {
            return live;
        }
        let places = self.logs.rest(block, start);
        let run = live.count_ones().min(places.len() as u32).min(fits);
        // Borrowed apart, tables and lengths stay in registers; cells, since both runs lie in one table.
        let Self { map, logs, observer, .. } = self;
        let (map, entries) = (&**map, logs.cells());
        let from = &entries[(chunk * CHUNK) as usize..][..CHUNK as usize];
        let to = &entries[places.start as usize..][..run as usize];
        let (mut offset, mut bytes, mut count) = (start, 0, 0);
        for slot in to {
            let index = live.trailing_zeros() % CHUNK;
            let entry = from[index as usize].get();
            let (size, footprint) = (entry.size(), packing.footprint(entry.size()));
            if !STRADDLING && packing.skip(offset, footprint) > 0 {
                break;
            }
            prefetch_whole(map, entry.lba() as usize);
            slot.set(entry);
            reads(observer, index, size);
            observer.program(block, u64::from(offset), size, destination, cause);
            if footprint > size {
                let end = u64::from(offset + size);
                observer.program(block, end, footprint - size, destination, Cause::Padding);
            }
            live &= live - 1;
            offset += footprint;
            bytes += size;
            count += 1;
        }
        self.frontiers[usize::from(destination)].offset = offset;
        self.logs.extend(block, count);
        self.copies.push(places.start..places.start + count);
        self.counters.nand_bytes_written += u64::from(offset - start);
        self.counters.padding_bytes_written += u64::from(offset - start - bytes);
        self.count_moved(u64::from(bytes), cause);
        live
    }

    /// Leads the map to extents after which at least `lag` others have been copied.
    #[inline(always)]
    fn remap(&mut self, lag: u32) {
        while let Some(places) = self.copies.pop(lag) {
            for place in places {
                let entry = self.logs.entry(place);
                self.map[entry.lba() as usize] = Extent::whole(place, entry.size());
            }
        }
    }

    /// Moves an extent that runs into the victim, if it is live.
    fn move_inflow(&mut self, victim: u32, destination: u8, cause: Cause) {
        let Some(inflow) = self.spills.inflow(victim).filter(|inflow| self.logs.is_live(inflow.place)) else { return };
        let entry = self.logs.entry(inflow.place);
        let head = self.packing.footprint(entry.size()) - inflow.bytes;
        self.table.invalidate(inflow.source, head);
        self.move_straddling(inflow.place, inflow.source, victim, head, destination, cause);
    }

    /// Moves an extent that begins in the victim and runs out of it, if it is live.
    fn move_outflow(&mut self, victim: u32, destination: u8, cause: Cause) {
        let outflow = self.spills.outflow(victim).filter(|(_, end)| self.logs.is_live(end.place));
        let Some((next, end)) = outflow else { return };
        let entry = self.logs.entry(end.place);
        let head = self.packing.footprint(entry.size()) - end.bytes;
        self.table.invalidate(next, end.bytes);
        self.move_straddling(end.place, victim, next, head, destination, cause);
    }

    /// Moves an extent of which `head` bytes are the end of `first`, and the others the start of `second`.
    fn move_straddling(&mut self, place: u32, first: u32, second: u32, head: u32, destination: u8, cause: Cause) {
        let entry = self.logs.entry(place);
        let size = entry.size();
        self.logs.kill(place);
        self.observer.read(first, u64::from(self.packing.block_bytes - head), size.min(head), cause);
        if size > head {
            self.observer.read(second, 0, size - head, cause);
        }
        self.append(entry.lba(), size, destination, cause);
        self.count_moved(u64::from(size), cause);
    }

    fn count_moved(&mut self, bytes: u64, cause: Cause) {
        match cause {
            Cause::WearLevelling => self.counters.wear_levelling_bytes_written += bytes,
            _ => self.counters.gc_bytes_written += bytes,
        }
    }
}
