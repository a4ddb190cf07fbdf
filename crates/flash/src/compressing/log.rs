//! What was appended to each block, in order: the reverse map of a compressing drive, 6 bytes an extent.
//!
//! Extents have no addresses here: packing is deterministic, so the addresses follow from the sizes. The number of
//! extents of a block is not known beforehand; logs grow in *chunks* that all blocks share and give back when erased. A
//! chunk knows its block and has a bit for each of its extents that says whether it is live, so an overwrite finds both
//! in one place, and collection touches the map of live extents only.

use std::cell::Cell;
use std::ops::Range;

use super::extent::Packing;
use crate::huge_pages;
use crate::prefetch::prefetch;

/// Extents in a chunk, as many as a word has bits. Less wastes links, more the last chunk of each block.
pub(super) const CHUNK: u32 = u32::BITS;
/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// Chunks' entries begin and end with cache lines, three a chunk.
const ENTRIES_PER_LINE: u32 = 11;

/// One extent as it was appended.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(2))]
pub(super) struct Entry {
    lba: u32,
    size: u16,
}

impl Entry {
    #[inline(always)]
    pub(super) fn new(lba: u32, size: u32) -> Self {
        Self { lba, size: size as u16 }
    }

    #[inline(always)]
    pub(super) fn lba(self) -> u32 {
        self.lba
    }

    #[inline(always)]
    pub(super) fn size(self) -> u32 {
        u32::from(self.size)
    }
}

/// The log of a block: its chunks, and how many extents the last of them can still take.
#[derive(Debug, Clone, Copy)]
struct Log {
    first: u32,
    last: u32,
    left: u32,
}

const EMPTY: Log = Log { first: NONE, last: NONE, left: 0 };

/// What an overwrite looks at in a chunk.
#[derive(Debug, Clone, Copy)]
struct Use {
    block: u32,
    /// A bit for each extent.
    live: u32,
}

/// Where a chunk stands in its log.
#[derive(Debug, Clone, Copy)]
struct Link {
    next: u32,
    /// Bytes of the block before its first extent and what is skipped for that.
    offset: u32,
}

/// The logs of all blocks.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    logs: Vec<Log>,
    entries: Vec<Entry>,
    uses: Vec<Use>,
    links: Vec<Link>,
    free: u32,
}

impl Logs {
    /// Room is set aside for `extents`, at no price until they are there: what grows in small steps gets small pages.
    pub(super) fn new(blocks: u32, extents: u64) -> Self {
        let chunks = extents as usize / CHUNK as usize + blocks as usize;
        let mut entries = Vec::with_capacity(chunks * CHUNK as usize);
        huge_pages::advise_vec(&mut entries);
        let (uses, links) = (Vec::with_capacity(chunks), Vec::with_capacity(chunks));
        Self { logs: vec![EMPTY; blocks as usize], entries, uses, links, free: NONE }
    }

    /// Appends an extent to the log of a block of which `offset` bytes are taken. Returns its place.
    #[inline(always)]
    pub(super) fn push(&mut self, block: u32, entry: Entry, offset: u32) -> u32 {
        let place = self.rest(block, offset).start;
        self.entries[place as usize] = entry;
        self.extend(block, 1);
        place
    }

    /// The places that come next in the log of a block of which `offset` bytes are taken; at least one.
    #[inline(always)]
    pub(super) fn rest(&mut self, block: u32, offset: u32) -> Range<u32> {
        if self.logs[block as usize].left == 0 {
            self.lengthen(block, offset);
        }
        let Log { last, left, .. } = self.logs[block as usize];
        let end = (last + 1) * CHUNK;
        end - left..end
    }

    /// The entries of such places, to be written.
    #[inline(always)]
    pub(super) fn entries_mut(&mut self, places: Range<u32>) -> &mut [Entry] {
        &mut self.entries[places.start as usize..places.end as usize]
    }

    /// All entries, to be read and written side by side.
    #[inline(always)]
    pub(super) fn cells(&mut self) -> &[Cell<Entry>] {
        Cell::from_mut(self.entries.as_mut_slice()).as_slice_of_cells()
    }

    /// The first `count` entries of the rest have been written: so many extents are live.
    #[inline(always)]
    pub(super) fn extend(&mut self, block: u32, count: u32) {
        let log = &mut self.logs[block as usize];
        let written = ((1_u64 << count) - 1) << (CHUNK - log.left);
        log.left -= count;
        self.uses[log.last as usize].live |= written as u32;
    }

    #[inline(never)]
    fn lengthen(&mut self, block: u32, offset: u32) {
        let chunk = if self.free == NONE { self.grow() } else { self.free };
        self.free = self.links[chunk as usize].next;
        self.uses[chunk as usize] = Use { block, live: 0 };
        self.links[chunk as usize] = Link { next: NONE, offset };
        let log = &mut self.logs[block as usize];
        if log.last == NONE {
            log.first = chunk;
        } else {
            self.links[log.last as usize].next = chunk;
        }
        (log.last, log.left) = (chunk, CHUNK);
    }

    /// Adds a chunk to the free list. The table grows by an eighth, not twofold, as it may be most of the memory.
    #[cold]
    fn grow(&mut self) -> u32 {
        let chunk = self.uses.len() as u32;
        assert!(chunk < u32::MAX / CHUNK, "the logs of a drive hold at most 2^32 extents");
        if self.entries.len() == self.entries.capacity() {
            let chunks = (self.uses.len() / 8).max(64);
            self.entries.reserve_exact(chunks * CHUNK as usize);
            self.uses.reserve_exact(chunks);
            self.links.reserve_exact(chunks);
            huge_pages::advise_vec(&mut self.entries);
        }
        self.entries.resize(self.entries.len() + CHUNK as usize, Entry::new(0, 0));
        self.uses.push(Use { block: NONE, live: 0 });
        self.links.push(Link { next: self.free, offset: 0 });
        chunk
    }

    /// Empties the log of an erased block.
    pub(super) fn clear(&mut self, block: u32) {
        let log = &mut self.logs[block as usize];
        if log.last != NONE {
            self.links[log.last as usize].next = self.free;
            self.free = log.first;
        }
        *log = EMPTY;
    }

    /// An extent is dead from now on. Returns the block whose log names it.
    #[inline(always)]
    pub(super) fn kill(&mut self, place: u32) -> u32 {
        let chunk = &mut self.uses[(place / CHUNK) as usize];
        chunk.live &= !(1 << (place % CHUNK));
        chunk.block
    }

    pub(super) fn is_live(&self, place: u32) -> bool {
        self.uses[(place / CHUNK) as usize].live >> (place % CHUNK) & 1 == 1
    }

    /// The block whose log has a place.
    #[inline(always)]
    pub(super) fn block(&self, place: u32) -> u32 {
        self.uses[(place / CHUNK) as usize].block
    }

    #[inline(always)]
    pub(super) fn entry(&self, place: u32) -> Entry {
        self.entries[place as usize]
    }

    /// Where in its block each extent of a chunk begins; what was never written has no meaning.
    pub(super) fn offsets(&self, chunk: u32, packing: Packing) -> [u32; CHUNK as usize] {
        let mut end = self.links[chunk as usize].offset;
        std::array::from_fn(|index| {
            let footprint = packing.footprint(self.entry(chunk * CHUNK + index as u32).size());
            let start = end + packing.skip(end, footprint);
            end = start + footprint;
            start
        })
    }

    /// Where in its block an extent begins.
    pub(super) fn offset(&self, place: u32, packing: Packing) -> u32 {
        self.offsets(place / CHUNK, packing)[(place % CHUNK) as usize]
    }

    /// The first chunk of a block's log.
    #[inline(always)]
    pub(super) fn first(&self, block: u32) -> u32 {
        self.logs[block as usize].first
    }

    /// The chunk that follows in the same log; none behind the last, nor behind none.
    #[inline(always)]
    pub(super) fn after(&self, chunk: u32) -> u32 {
        self.links.get(chunk as usize).map_or(NONE, |link| link.next)
    }

    /// Which extents of a chunk are live; none of none.
    #[inline(always)]
    pub(super) fn live(&self, chunk: u32) -> u32 {
        self.uses.get(chunk as usize).map_or(0, |chunk| chunk.live)
    }

    /// Starts to load a chunk's entries, and what it is used for.
    #[inline(always)]
    pub(super) fn prefetch(&self, chunk: u32) {
        if chunk == NONE {
            return;
        }
        prefetch(&self.uses, chunk as usize);
        prefetch(&self.links, chunk as usize);
        for index in (0..CHUNK).step_by(ENTRIES_PER_LINE as usize) {
            prefetch(&self.entries, (chunk * CHUNK + index) as usize);
        }
    }

    /// Starts to load what an extent's chunk is used for.
    #[inline(always)]
    pub(super) fn prefetch_use(&self, place: u32) {
        prefetch(&self.uses, (place / CHUNK) as usize);
    }

    /// Number of extents, live and dead, that the logs hold.
    pub(super) fn extents(&self) -> u64 {
        (0..self.logs.len() as u32).map(|block| self.places(block).count() as u64).sum()
    }

    /// The places of a block's log, in order.
    pub(super) fn places(&self, block: u32) -> impl Iterator<Item = u32> + use<'_> {
        let Log { first, last, left } = self.logs[block as usize];
        let chunks = std::iter::successors((first != NONE).then_some(first), |&chunk| {
            Some(self.after(chunk)).filter(|&next| next != NONE)
        });
        chunks.flat_map(move |chunk| {
            let end = (chunk + 1) * CHUNK;
            chunk * CHUNK..if chunk == last { end - left } else { end }
        })
    }
}
