//! Emptying a victim of a compressing drive: its live extents are copied, and the map is led to the copies.

use super::chunk::{CHUNK, NONE, Names};
use super::log::Entry;
use super::scout::Scout;
use super::waiting::Run;
use super::{Compressing, Frontier};
use crate::observer::{Cause, Observer};

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
            self.move_chunk(chunk, victim, destination, cause);
            (chunk, ahead) = (self.logs.after(chunk), self.logs.after(ahead));
        }
        while let Some(run) = self.waiting.leave() {
            self.lead_map(run);
        }
        self.spills.forget(victim);
        self.logs.clear(victim);
        self.table.erase(victim);
        self.observer.erase(victim);
        self.scout = Scout::NOWHERE;
    }

    /// Moves what is live in a chunk of the victim's log.
    #[inline(always)]
    fn move_chunk(&mut self, chunk: u32, victim: u32, destination: u8, cause: Cause) {
        let mut left = self.logs.live(chunk);
        // Only who watches wants to know; for others this is compiled away.
        if O::WATCHES {
            let offsets = self.logs.offsets(chunk, self.packing);
            for index in (0..CHUNK).filter(|index| left >> index & 1 == 1) {
                let Entry { size, .. } = self.logs.entry(chunk * CHUNK + index);
                self.observer.read(victim, u64::from(offsets[index as usize]), size, cause);
            }
        }
        // A copy, since the logs are written meanwhile.
        let names = *self.logs.names(chunk);
        while left != 0 {
            let moved = if self.packing.straddling {
                self.move_run::<true>(&names, &mut left, destination, cause)
            } else {
                self.move_run::<false>(&names, &mut left, destination, cause)
            };
            if moved == 0 {
                let (lba, size) = names.first(left);
                self.append(lba, size.into(), destination, cause);
                self.count_moved(size.into(), cause);
                left &= left - 1;
            }
            while let Some(run) = self.waiting.due() {
                self.lead_map(run);
            }
        }
    }

    /// Moves extents whose bits are `left` as long as nothing special can happen: a skip to the next flash page, the
    /// end of the open block or of its log's chunk. Returns how many.
    #[inline(always)]
    fn move_run<const STRADDLING: bool>(
        &mut self,
        names: &Names,
        left: &mut u32,
        destination: u8,
        cause: Cause,
    ) -> usize {
        let Frontier { block, offset: start } = self.frontiers[usize::from(destination)];
        let fits = self.packing.surely_fit(start) as usize;
        if fits == 0 {
            return 0;
        }
        let places = self.logs.rest(block, start);
        // Borrowed apart, tables and lengths stay in registers.
        let Self { map, logs, packing, .. } = self;
        let packing = *packing;
        let most = (left.count_ones() as usize).min(fits).min(places.len());
        let (mut rest, mut end, mut bytes, mut count) = (*left, start, 0, 0);
        // Sums are formed here: copies that are read again at once, several at a time, keep a processor waiting until
        // they and all that was written before them have reached the cache.
        let slots = logs.slots(places.start, most);
        for (name, slot) in slots.0.iter_mut().zip(slots.1) {
            let (lba, size) = names.first(rest);
            let size_bytes = u32::from(size);
            let footprint = packing.footprint(size_bytes);
            if !STRADDLING && packing.skip(end, footprint) > 0 {
                break;
            }
            (*name, *slot) = (lba, size);
            map.prefetch(lba);
            end += footprint;
            bytes += size_bytes;
            count += 1;
            rest &= rest - 1;
        }
        *left = rest;
        let footprint = end - start;
        if O::WATCHES {
            let sizes = self.logs.slots(places.start, count).1.to_vec();
            self.watch_programs(destination, &sizes, cause);
        }
        self.logs.extend(block, count as u32);
        self.frontiers[usize::from(destination)].offset += footprint;
        self.counters.nand_bytes_written += u64::from(footprint);
        self.counters.padding_bytes_written += u64::from(footprint - bytes);
        self.count_moved(u64::from(bytes), cause);
        if count > 0 {
            self.waiting.come(Run { first: places.start, count });
        }
        count
    }

    /// Leads the map to copies whose entries have had time to come.
    #[inline(always)]
    fn lead_map(&mut self, run: Run) {
        let Self { map, logs, .. } = self;
        for (place, &lba) in (run.first..).zip(logs.named(run.first, run.count)) {
            map.lead(lba, place);
        }
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
