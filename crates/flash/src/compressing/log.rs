//! What was appended to each block, in order: the reverse map of a compressing drive, 6 bytes an extent.
//!
//! Extents have no addresses here: packing is deterministic, so the addresses follow from the sizes. The number of
//! extents of a block is not known beforehand; logs grow in *chunks* that all blocks share and give back when erased. A
//! chunk knows its block and has a bit for each of its extents that says whether it is live, so an overwrite finds both
//! in one place, and collection touches the map of live extents only. Names and sizes lie in tables of their own, as
//! the host gives them.

use std::ops::Range;

use super::extent::Packing;
use super::uses::{Use, Uses};
use crate::huge_pages;
use crate::prefetch::prefetch;

/// Extents in a chunk, as many as a word has bits. Less wastes links, more the last chunk of each block.
pub(super) const CHUNK: u32 = u32::BITS;
/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// Logical blocks that a cache line names, two lines a chunk.
const NAMES_PER_LINE: usize = 16;

/// One extent as it was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) lba: u32,
    /// Bytes after compression.
    pub(super) size: u32,
}

/// The log of a block: its chunks, and how many extents the last of them can still take.
#[derive(Debug, Clone, Copy)]
struct Log {
    first: u32,
    last: u32,
    left: u32,
}

const EMPTY: Log = Log { first: NONE, last: NONE, left: 0 };

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
    lbas: Vec<u32>,
    sizes: Vec<u16>,
    uses: Vec<Use>,
    links: Vec<Link>,
    free: u32,
}

impl Logs {
    /// Room is set aside for `extents`, at no price until they are there: what grows in small steps gets small pages.
    pub(super) fn new(blocks: u32, extents: u64) -> Self {
        let chunks = extents as usize / CHUNK as usize + blocks as usize;
        let places = chunks * CHUNK as usize;
        let (mut lbas, mut sizes) = (Vec::with_capacity(places), Vec::with_capacity(places));
        huge_pages::advise_vec(&mut lbas);
        huge_pages::advise_vec(&mut sizes);
        let (uses, links) = (Vec::with_capacity(chunks), Vec::with_capacity(chunks));
        Self { logs: vec![EMPTY; blocks as usize], lbas, sizes, uses, links, free: NONE }
    }

    /// Appends an extent to the log of a block of which `offset` bytes are taken. Returns its place.
    #[inline(always)]
    pub(super) fn push(&mut self, block: u32, lba: u32, size: u32, offset: u32) -> u32 {
        let place = self.rest(block, offset).start;
        self.write(place, &[lba], &[size as u16]);
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

    /// Names and sizes of such places, to be written.
    #[inline(always)]
    pub(super) fn slots(&mut self, places: Range<u32>) -> (&mut [u32], &mut [u16]) {
        let places = places.start as usize..places.end as usize;
        (&mut self.lbas[places.clone()], &mut self.sizes[places])
    }

    /// Writes extents to places from `first` on, as many of the rest as there are.
    #[inline(always)]
    pub(super) fn write(&mut self, first: u32, lbas: &[u32], sizes: &[u16]) {
        let (names, slots) = self.slots(first..first + lbas.len() as u32);
        names.copy_from_slice(lbas);
        slots.copy_from_slice(sizes);
    }

    /// The first `count` places of the rest have been written: so many extents are live.
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
        if self.lbas.len() == self.lbas.capacity() {
            let chunks = (self.uses.len() / 8).max(64);
            self.lbas.reserve_exact(chunks * CHUNK as usize);
            self.sizes.reserve_exact(chunks * CHUNK as usize);
            self.uses.reserve_exact(chunks);
            self.links.reserve_exact(chunks);
            huge_pages::advise_vec(&mut self.lbas);
            huge_pages::advise_vec(&mut self.sizes);
        }
        self.lbas.resize(self.lbas.len() + CHUNK as usize, 0);
        self.sizes.resize(self.sizes.len() + CHUNK as usize, 0);
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

    /// What chunks are used for, to let go of many extents.
    #[inline(always)]
    pub(super) fn uses(&mut self) -> Uses<'_> {
        Uses(&mut self.uses)
    }

    /// Empties all logs; their memory stays.
    pub(super) fn reset(&mut self) {
        self.logs.fill(EMPTY);
        self.lbas.clear();
        self.sizes.clear();
        self.uses.clear();
        self.links.clear();
        self.free = NONE;
    }

    /// An extent is dead from now on. Returns the block whose log names it.
    #[inline(always)]
    pub(super) fn kill(&mut self, place: u32) -> u32 {
        self.uses().kill(place)
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
        Entry { lba: self.lbas[place as usize], size: self.sizes[place as usize].into() }
    }

    /// Names and sizes in a chunk; at places never written they have no meaning.
    #[inline(always)]
    pub(super) fn chunk(&self, chunk: u32) -> (&[u32; CHUNK as usize], &[u16; CHUNK as usize]) {
        let first = (chunk * CHUNK) as usize;
        let lbas = self.lbas[first..].first_chunk().expect("the tables hold whole chunks");
        (lbas, self.sizes[first..].first_chunk().expect("the tables are equally long"))
    }

    /// Where in its block each extent of a chunk begins; what was never written has no meaning.
    pub(super) fn offsets(&self, chunk: u32, packing: Packing) -> [u32; CHUNK as usize] {
        let mut end = self.links[chunk as usize].offset;
        std::array::from_fn(|index| {
            let footprint = packing.footprint(self.entry(chunk * CHUNK + index as u32).size);
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

    /// Starts to load what a chunk names, and what it is used for.
    #[inline(always)]
    pub(super) fn prefetch(&self, chunk: u32) {
        if chunk == NONE {
            return;
        }
        prefetch(&self.uses, chunk as usize);
        prefetch(&self.links, chunk as usize);
        let first = (chunk * CHUNK) as usize;
        for name in (0..CHUNK as usize).step_by(NAMES_PER_LINE) {
            prefetch(&self.lbas, first + name);
        }
        // The table may begin anywhere in a line, so the last size may lie in a second one.
        prefetch(&self.sizes, first);
        prefetch(&self.sizes, first + CHUNK as usize - 1);
    }

    /// Starts to load which chunk follows in the same log.
    #[inline(always)]
    pub(super) fn prefetch_link(&self, chunk: u32) {
        prefetch(&self.links, chunk as usize);
    }

    /// Starts to load all that is known of the extent at a place.
    pub(super) fn prefetch_entry(&self, place: u32) {
        prefetch(&self.uses, (place / CHUNK) as usize);
        prefetch(&self.lbas, place as usize);
        prefetch(&self.sizes, place as usize);
    }

    /// Starts to load where a block's log begins and ends.
    pub(super) fn prefetch_log(&self, block: u32) {
        prefetch(&self.logs, block as usize);
    }

    /// The place of the last extent in a block's log; nowhere if that is empty.
    pub(super) fn last(&self, block: u32) -> u32 {
        let Log { last, left, .. } = self.logs[block as usize];
        last.wrapping_add(1).wrapping_mul(CHUNK).wrapping_sub(left + 1)
    }

    /// Bytes of memory that are in use: chunks, given back or not, and what each block has.
    pub(super) fn memory_bytes(&self) -> u64 {
        let extents = 6 * self.lbas.len();
        (extents + size_of_val(&*self.uses) + size_of_val(&*self.links) + size_of_val(&*self.logs)) as u64
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
