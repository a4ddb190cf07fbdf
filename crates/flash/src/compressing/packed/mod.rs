//! A state of a compressing drive in half its memory or less: what can be found out again is left out.
//!
//! Of the logs only the live extents are kept, in their order, each with the dead bytes before it; map, places and live
//! bits follow. A drive goes on from an unpacked state as it would have from the packed one, whatever it is written.

mod encoding;

use std::ops::Range;

use super::chunk::{CHUNK, NONE};
use super::footprint::ASK;
use super::map::ZEROS;
use super::scout::Scout;
use super::spill::Spills;
use super::throttling::Limits;
use super::{Compressing, Frontier};
use crate::block_table::BlockTable;
use crate::counters::Counters;
use crate::drive::Drive;
use crate::observer::Observer;
use encoding::{Reader, Writer};

/// Bytes that one entry of a log can stand for if nothing of it is live, and one granule.
const LONGEST: u32 = 1 << u16::BITS;

/// See the module.
#[derive(Debug, Clone)]
pub struct PackedCompressing {
    extents: Vec<u8>,
    /// Live extents of each block; the last are the logical blocks of zeros.
    counts: Vec<u32>,
    logical_blocks: u32,
    spills: Spills,
    table: BlockTable,
    frontiers: Vec<Frontier>,
    mapped: u64,
    live_bytes: u64,
    limits: Limits,
    counters: Counters,
}

impl PackedCompressing {
    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let extents = self.extents.len() + size_of_val(&*self.counts);
        extents as u64 + self.spills.memory_bytes() + self.table.memory_bytes()
    }

    /// Shows every logical block that takes flash, with its bytes after compression, in no order.
    pub fn visit(&self, mut visit: impl FnMut(u32, u32)) {
        let mut extents = self.reader();
        let (_, live) = self.counts.split_last().expect("zeros are counted last");
        for _ in 0..live.iter().map(|&count| u64::from(count)).sum::<u64>() {
            let (lba, size, _) = extents.read();
            visit(lba, size);
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new(&self.extents, self.logical_blocks)
    }
}

impl<O: Observer> Compressing<O> {
    /// The present state, to come back to. Who watches is no part of it.
    pub fn pack(&self) -> PackedCompressing {
        let mut extents = Writer::new(self.mapped, self.logical_blocks());
        let mut counts: Vec<u32> = (0..self.table.len()).map(|block| self.pack_block(block, &mut extents)).collect();
        counts.push(0);
        for (lba, _) in self.map.places().filter(|&(_, place)| place == ZEROS) {
            extents.write(lba, 1, 0);
            counts[self.table.len() as usize] += 1;
        }
        PackedCompressing {
            extents: extents.finish(),
            counts,
            logical_blocks: self.map.len(),
            spills: self.spills.unnamed(|place| self.logs.is_live(place)),
            table: self.table.clone(),
            frontiers: self.frontiers.clone(),
            mapped: self.mapped,
            live_bytes: self.live_bytes,
            limits: self.limits,
            counters: self.counters,
        }
    }

    /// Appends the live extents of a block; returns how many they are.
    fn pack_block(&self, block: u32, extents: &mut Writer) -> u32 {
        let mut end = self.spills.start(block);
        let mut count = 0;
        let mut chunk = self.logs.first(block);
        while chunk != NONE {
            let offsets = self.logs.offsets(chunk, self.packing);
            let mut live = self.logs.live(chunk);
            count += live.count_ones();
            while live != 0 {
                let index = live.trailing_zeros();
                let entry = self.logs.entry(chunk * CHUNK + index);
                let start = offsets[index as usize];
                extents.write(entry.lba, entry.size, (start - end) / self.packing.granularity);
                end = start + self.packing.footprint(entry.size);
                live &= live - 1;
            }
            chunk = self.logs.after(chunk);
        }
        count
    }

    /// Goes back to a state of this drive, or of one that was made of the same.
    ///
    /// # Panics
    /// If it is that of another drive.
    pub fn unpack(&mut self, packed: &PackedCompressing) {
        let is_alike = self.map.len() == packed.logical_blocks && self.table.len() == packed.table.len();
        assert!(is_alike, "a packed state belongs to drives of one make");
        self.spills.clone_from(&packed.spills);
        self.table.clone_from(&packed.table);
        self.frontiers.clone_from(&packed.frontiers);
        (self.mapped, self.live_bytes) = (packed.mapped, packed.live_bytes);
        (self.limits, self.counters) = (packed.limits, packed.counters);
        self.map.reset();
        self.logs.reset();
        self.scout = Scout::NOWHERE;
        let mut extents = packed.reader();
        let (&zeros, live) = packed.counts.split_last().expect("zeros are counted last");
        for (block, &count) in (0..).zip(live) {
            self.unpack_block(block, count, &mut extents);
        }
        for _ in 0..zeros {
            self.map.replace(extents.read().0, ZEROS, ASK);
        }
    }

    /// Writes the log of a block, and what the map has in it.
    fn unpack_block(&mut self, block: u32, count: u32, extents: &mut Reader) {
        let packing = self.packing;
        let mut end = self.spills.start(block);
        for _ in 0..count {
            let (lba, size, gap) = extents.read();
            let start = end + gap * packing.granularity;
            self.name_dead(block, end..start);
            let place = self.logs.push(block, lba, size, start);
            end = start + packing.footprint(size);
            let straddles = end > packing.block_bytes;
            self.map.replace(lba, place, if straddles { ASK } else { self.scale.say(end - start) });
            if straddles {
                self.spills.name(block, place);
            }
        }
        // Behind the last live extent only an open block goes on.
        let is_open = |frontier: &&Frontier| frontier.block == block && frontier.offset < packing.block_bytes;
        if let Some(&Frontier { offset, .. }) = self.frontiers.iter().find(is_open) {
            self.name_dead(block, end..offset);
        }
    }

    /// Lets entries stand for bytes of which nothing is live, so that what comes next begins where it did.
    #[inline(always)]
    fn name_dead(&mut self, block: u32, range: Range<u32>) {
        let packing = self.packing;
        let mut offset = range.start;
        while offset < range.end {
            let to_page_end = packing.flash_page_bytes - offset % packing.flash_page_bytes;
            let unbroken = if packing.straddling { u32::MAX } else { to_page_end };
            let bytes = (range.end - offset).min(unbroken).min(LONGEST - packing.granularity);
            let place = self.logs.push(block, 0, bytes, offset);
            self.logs.kill(place);
            offset += bytes;
        }
    }
}
