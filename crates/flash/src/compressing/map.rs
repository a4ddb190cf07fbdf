//! The map: for each logical block the *place* in the logs at which it is named, and what it takes on flash.
//!
//! A place needs 32 bits where an address on flash would need 48, and leads to all there is to know: the block and the
//! bit that says live or dead, name and size. The address follows from the log, whose sizes add up. What a block takes
//! is said in a byte beside the place, so that an overwrite need not look into the logs, which lie as far away as the
//! map. Twelve blocks share a cache line.

use super::footprint::{ASK, Footprint};
use crate::huge_pages::Table;
use crate::prefetch::prefetch;

/// The place of a logical block that holds nothing.
pub(super) const UNMAPPED: u32 = u32::MAX;
/// The place of a logical block that holds zeros, which take no flash.
pub(super) const ZEROS: u32 = u32::MAX - 1;

/// Whether there is an extent at a place.
#[inline(always)]
pub(super) fn is_stored(place: u32) -> bool {
    place < ZEROS
}

/// Logical blocks in a cache line.
const WIDTH: u32 = 12;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    places: [u32; WIDTH as usize],
    footprints: [Footprint; WIDTH as usize],
}

/// The map of all logical blocks.
#[derive(Debug, Clone)]
pub(super) struct Map {
    lines: Table<Line>,
    logical_blocks: u32,
}

impl Map {
    /// A map of so many blocks that hold nothing; at least one.
    pub(super) fn empty(logical_blocks: u32) -> Self {
        let line = Line { places: [UNMAPPED; _], footprints: [ASK; _] };
        Self { lines: Table::filled(logical_blocks.div_ceil(WIDTH) as usize, line), logical_blocks }
    }

    /// No block holds anything any more.
    pub(super) fn reset(&mut self) {
        self.lines.fill(Line { places: [UNMAPPED; _], footprints: [ASK; _] });
    }

    /// Logical blocks.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.logical_blocks
    }

    /// Starts to load what is known of a block, which may not exist.
    #[inline(always)]
    pub(super) fn prefetch(&self, lba: u32) {
        prefetch(&self.lines, (lba / WIDTH) as usize);
    }

    /// Where the logs name a block that exists.
    #[inline(always)]
    pub(super) fn place(&self, lba: u32) -> u32 {
        self.lines[(lba / WIDTH) as usize].places[(lba % WIDTH) as usize]
    }

    /// Where the logs name a block that exists, and what it takes.
    #[inline(always)]
    pub(super) fn get(&self, lba: u32) -> (u32, Footprint) {
        let (line, index) = (&self.lines[(lba / WIDTH) as usize], (lba % WIDTH) as usize);
        (line.places[index], line.footprints[index])
    }

    /// Leads a block to an extent, or to none. Returns what there was.
    #[inline(always)]
    pub(super) fn replace(&mut self, lba: u32, place: u32, footprint: Footprint) -> (u32, Footprint) {
        let (line, index) = (&mut self.lines[(lba / WIDTH) as usize], (lba % WIDTH) as usize);
        let old = (line.places[index], line.footprints[index]);
        (line.places[index], line.footprints[index]) = (place, footprint);
        old
    }

    /// A block's extent has moved within the logs and takes what it took.
    #[inline(always)]
    pub(super) fn lead(&mut self, lba: u32, place: u32) {
        self.lines[(lba / WIDTH) as usize].places[(lba % WIDTH) as usize] = place;
    }

    /// The places of all blocks.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u32)> + use<'_> {
        (0..self.logical_blocks).map(|lba| (lba, self.place(lba)))
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.lines) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{ASK, Line, Map, UNMAPPED};

    #[test]
    fn blocks_keep_what_they_are_given() {
        assert_eq!(size_of::<Line>(), 64);
        let mut map = Map::empty(25);
        for lba in 0..25 {
            assert_eq!(map.replace(lba, 100 + lba, lba as u8), (UNMAPPED, ASK));
        }
        map.lead(13, 7);
        assert_eq!(map.get(13), (7, 13));
        assert!(map.places().all(|(lba, place)| place == if lba == 13 { 7 } else { 100 + lba }));
        assert_eq!((map.places().count(), map.memory_bytes()), (25, 3 * 64));
        map.reset();
        assert!(map.places().all(|(lba, _)| map.get(lba) == (UNMAPPED, ASK)));
    }
}
