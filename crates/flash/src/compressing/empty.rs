//! Emptying a victim of a compressing drive: its live extents are copied, and the map is led to the copies.

use super::extent::Extent;
use super::log::{CHUNK, Entry, NONE};
use super::scout::Scout;
use super::{Compressing, Frontier};
use crate::observer::{Cause, Observer};
use crate::prefetch::prefetch_whole;

impl<O: Observer> Compressing<O> {
    /// Moves what is live in a sealed block, then erases it.
    pub(super) fn empty(&mut self, victim: u32, cause: Cause) {
        let destination = self.config.streams.collecting(self.table.stream(victim));
        self.table.begin_emptying(victim);
        self.move_inflow(victim, destination, cause);
        self.move_outflow(victim, destination, cause);
        let mut chunk = self.logs.first(victim);
        let mut ahead = self.scout_ahead(victim);
        while chunk != NONE {
            self.logs.prefetch(ahead);
            self.fetch_entries(chunk, victim, cause);
            while self.waiting.is_full() {
                self.move_some(destination, cause);
            }
            (chunk, ahead) = (self.logs.after(chunk), self.logs.after(ahead));
        }
        while !self.waiting.is_empty() {
            self.move_some(destination, cause);
        }
        self.spills.forget(victim);
        self.logs.clear(victim);
        self.table.erase(victim);
        self.observer.erase(victim);
        self.scout = Scout::NOWHERE;
    }

    /// Starts to load the map's entries of what is live in a chunk.
    #[inline(always)]
    fn fetch_entries(&mut self, chunk: u32, victim: u32, cause: Cause) {
        let Self { map, logs, waiting, observer, packing, .. } = self;
        let live = logs.live(chunk);
        // Only who watches wants to know; for others this is compiled away.
        if O::WATCHES {
            let offsets = logs.offsets(chunk, *packing);
            for index in (0..CHUNK).filter(|index| live >> index & 1 == 1) {
                let size = logs.entry(chunk * CHUNK + index).size;
                observer.read(victim, u64::from(offsets[index as usize]), size, cause);
            }
        }
        let map: &[Extent] = map;
        waiting.come(logs.chunk(chunk), live, |lba| prefetch_whole(map, lba as usize));
    }

    /// Moves some of those that have waited longest, at least one.
    #[inline(always)]
    fn move_some(&mut self, destination: u8, cause: Cause) {
        let moved = if self.packing.straddling {
            self.move_run::<true>(destination, cause)
        } else {
            self.move_run::<false>(destination, cause)
        };
        if moved == 0 {
            let (lbas, sizes) = self.waiting.all();
            let (lba, size) = (lbas[0], u32::from(sizes[0]));
            self.append(lba, size, destination, cause);
            self.count_moved(u64::from(size), cause);
        }
        self.waiting.leave(moved.max(1));
    }

    /// Moves extents as long as nothing special can happen: a skip to the next flash page, the end of the open block or
    /// of its log's chunk. Returns how many.
    #[inline(always)]
    fn move_run<const STRADDLING: bool>(&mut self, destination: u8, cause: Cause) -> usize {
        let Frontier { block, offset: start } = self.frontiers[usize::from(destination)];
        let packing = self.packing;
        let fits = packing.surely_fit(start) as usize;
        if fits == 0 {
            return 0;
        }
        let places = self.logs.rest(block, start);
        let (mut place, mut offset, mut bytes) = (places.start, start, 0);
        // Borrowed apart, tables and lengths stay in registers.
        let Self { map, logs, waiting, observer, .. } = self;
        let (lbas, sizes) = waiting.all();
        let most = fits.min(places.len()).min(lbas.len());
        for (&lba, &size) in lbas[..most].iter().zip(&sizes[..most]) {
            let size = u32::from(size);
            let footprint = packing.footprint(size);
            if !STRADDLING && packing.skip(offset, footprint) > 0 {
                break;
            }
            map[lba as usize] = Extent::whole(place, size);
            observer.program(block, u64::from(offset), size, destination, cause);
            if footprint > size {
                let end = u64::from(offset + size);
                observer.program(block, end, footprint - size, destination, Cause::Padding);
            }
            place += 1;
            offset += footprint;
            bytes += size;
        }
        let count = place - places.start;
        logs.write(places.start, &lbas[..count as usize], &sizes[..count as usize]);
        self.frontiers[usize::from(destination)].offset = offset;
        self.logs.extend(block, count);
        self.counters.nand_bytes_written += u64::from(offset - start);
        self.counters.padding_bytes_written += u64::from(offset - start - bytes);
        self.count_moved(u64::from(bytes), cause);
        count as usize
    }

    /// Moves an extent that runs into the victim, if it is live.
    fn move_inflow(&mut self, victim: u32, destination: u8, cause: Cause) {
        let Some(inflow) = self.spills.inflow(victim).filter(|inflow| self.logs.is_live(inflow.place)) else { return };
        let entry = self.logs.entry(inflow.place);
        let head = self.packing.footprint(entry.size) - inflow.bytes;
        self.table.invalidate(inflow.source, head);
        self.move_straddling(inflow.place, inflow.source, victim, head, destination, cause);
    }

    /// Moves an extent that begins in the victim and runs out of it, if it is live.
    fn move_outflow(&mut self, victim: u32, destination: u8, cause: Cause) {
        let outflow = self.spills.outflow(victim).filter(|(_, end)| self.logs.is_live(end.place));
        let Some((next, end)) = outflow else { return };
        let entry = self.logs.entry(end.place);
        let head = self.packing.footprint(entry.size) - end.bytes;
        self.table.invalidate(next, end.bytes);
        self.move_straddling(end.place, victim, next, head, destination, cause);
    }

    /// Moves an extent of which `head` bytes are the end of `first`, and the others the start of `second`.
    fn move_straddling(&mut self, place: u32, first: u32, second: u32, head: u32, destination: u8, cause: Cause) {
        let Entry { lba, size } = self.logs.entry(place);
        self.logs.kill(place);
        self.observer.read(first, u64::from(self.packing.block_bytes - head), size.min(head), cause);
        if size > head {
            self.observer.read(second, 0, size - head, cause);
        }
        self.append(lba, size, destination, cause);
        self.count_moved(u64::from(size), cause);
    }

    fn count_moved(&mut self, bytes: u64, cause: Cause) {
        match cause {
            Cause::WearLevelling => self.counters.wear_levelling_bytes_written += bytes,
            _ => self.counters.gc_bytes_written += bytes,
        }
    }
}
