//! What was appended to each block, in order: the reverse map of a compressing drive, 6 1/2 bytes an extent.
//!
//! Extents have no addresses here: packing is deterministic, so the addresses follow from the sizes. A log is made of
//! chunks ([`chunk`](super::chunk)). Those that a full block needs in any case are its own and lie side by side, so
//! that a processor sees what comes next; how many more it needs depends on how well its extents compress, and these
//! are taken from a list that all blocks share, and given back when it is erased.

use std::ops::Range;

use super::chunk::{CHUNK, LINKS_PER_LINE, Link, NONE, Names};
use super::uses::{Use, Uses};
use crate::huge_pages;
use crate::prefetch::{Ahead, prefetch, prefetch_whole};

/// One extent as it was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) lba: u32,
    /// Bytes after compression.
    pub(super) size: u32,
}

/// The end of a block's log: its last chunk, and how many extents that can still take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log {
    pub(super) last: u32,
    pub(super) left: u32,
}

const EMPTY: Log = Log { last: NONE, left: 0 };

/// The logs of all blocks.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    logs: Vec<Log>,
    names: Vec<Names>,
    uses: Vec<Use>,
    links: Vec<Link>,
    /// Chunks that each block has of its own.
    home: u32,
    free: u32,
}

impl Logs {
    /// Whether places can name the extents of so many blocks, which hold at least so many each when they are full.
    pub(super) fn can_name(blocks: u32, extents: u32) -> bool {
        u64::from(blocks) * u64::from(Self::home_chunks(extents)) < u64::from(u32::MAX / CHUNK)
    }

    /// Chunks that each block has of its own: as many as it fills in any case, or one.
    fn home_chunks(extents: u32) -> u32 {
        (extents / CHUNK).max(1)
    }

    /// Empty logs of blocks that hold at least so many extents each when they are full.
    pub(super) fn new(blocks: u32, extents: u32) -> Self {
        let home = Self::home_chunks(extents);
        let chunks = blocks as usize * home as usize;
        // Room for one more each is set aside at no price until it is used: what grows in small steps gets small pages.
        let room = chunks + blocks as usize;
        Self {
            logs: vec![EMPTY; blocks as usize],
            names: huge_pages::vec(Names::UNWRITTEN, chunks, room),
            uses: huge_pages::vec(Use { block: NONE, live: 0 }, chunks, room),
            links: huge_pages::vec(Link { next: NONE, offset: 0 }, chunks, room),
            home,
            free: NONE,
        }
    }

    /// Appends an extent to the log of a block of which `offset` bytes are taken. Returns its place.
    #[inline(always)]
    pub(super) fn push(&mut self, block: u32, lba: u32, size: u32, offset: u32) -> u32 {
        let place = self.rest(block, offset).start;
        let (names, sizes) = self.slots(place, 1);
        (names[0], sizes[0]) = (lba, size as u16);
        self.extend(block, 1);
        place
    }

    /// The places that come next in the log of a block of which `offset` bytes are taken; at least one.
    #[inline(always)]
    pub(super) fn rest(&mut self, block: u32, offset: u32) -> Range<u32> {
        if self.logs[block as usize].left == 0 {
            self.lengthen(block, offset);
        }
        let Log { last, left } = self.logs[block as usize];
        let end = (last + 1) * CHUNK;
        end - left..end
    }

    /// Names and sizes of such places, to be written.
    #[inline(always)]
    pub(super) fn slots(&mut self, first: u32, count: usize) -> (&mut [u32], &mut [u16]) {
        let (names, start) = (&mut self.names[(first / CHUNK) as usize], (first % CHUNK) as usize);
        (&mut names.lbas[start..start + count], &mut names.sizes[start..start + count])
    }

    /// The logical blocks that some places of a chunk name.
    #[inline(always)]
    pub(super) fn named(&self, first: u32, count: usize) -> &[u32] {
        let start = (first % CHUNK) as usize;
        &self.names[(first / CHUNK) as usize].lbas[start..start + count]
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
        let Log { last, .. } = self.logs[block as usize];
        let home = self.home(block);
        let next = if last == NONE { home.start } else { last + 1 };
        let chunk = if home.contains(&next) { next } else { self.take() };
        self.uses[chunk as usize] = Use { block, live: 0 };
        self.links[chunk as usize] = Link { next: NONE, offset };
        if last != NONE {
            self.links[last as usize].next = chunk;
        }
        self.logs[block as usize] = Log { last: chunk, left: CHUNK };
    }

    /// The chunks that a block has of its own, side by side.
    #[inline(always)]
    fn home(&self, block: u32) -> Range<u32> {
        block * self.home..(block + 1) * self.home
    }

    /// A chunk that no block has.
    fn take(&mut self) -> u32 {
        let chunk = if self.free == NONE { self.grow() } else { self.free };
        self.free = self.links[chunk as usize].next;
        chunk
    }

    /// Adds a chunk to the free list. The table grows by an eighth, not twofold, as it may be most of the memory.
    #[cold]
    fn grow(&mut self) -> u32 {
        let chunk = self.uses.len() as u32;
        assert!(chunk < u32::MAX / CHUNK, "the logs of a drive hold at most 2^32 extents");
        if self.names.len() == self.names.capacity() {
            let chunks = (self.names.len() / 8).max(64);
            huge_pages::reserve(&mut self.names, chunks);
            huge_pages::reserve(&mut self.uses, chunks);
            huge_pages::reserve(&mut self.links, chunks);
        }
        self.names.push(Names::UNWRITTEN);
        self.uses.push(Use { block: NONE, live: 0 });
        self.links.push(Link { next: self.free, offset: 0 });
        chunk
    }

    /// Empties the log of an erased block.
    pub(super) fn clear(&mut self, block: u32) {
        let Log { last, .. } = std::mem::replace(&mut self.logs[block as usize], EMPTY);
        let home = self.home(block);
        if last != NONE && !home.contains(&last) {
            self.links[last as usize].next = self.free;
            self.free = self.links[home.end as usize - 1].next;
        }
    }

    /// What chunks are used for, to release many extents.
    #[inline(always)]
    pub(super) fn uses(&mut self) -> Uses<'_> {
        Uses(&mut self.uses)
    }

    /// The same, to load it while the logs are written.
    #[inline(always)]
    pub(super) fn uses_ahead(&self) -> Ahead<Use> {
        Ahead::of(&self.uses)
    }

    /// What chunks name, to load it while the logs are written.
    #[inline(always)]
    pub(super) fn names_ahead(&self) -> Ahead<Names> {
        Ahead::of(&self.names)
    }

    /// Empties all logs; their memory stays.
    pub(super) fn reset(&mut self) {
        self.logs.fill(EMPTY);
        let chunks = self.logs.len() * self.home as usize;
        self.names.truncate(chunks);
        self.uses.truncate(chunks);
        self.links.truncate(chunks);
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
        let (names, index) = (&self.names[(place / CHUNK) as usize], (place % CHUNK) as usize);
        Entry { lba: names.lbas[index], size: names.sizes[index].into() }
    }

    /// What a chunk names.
    #[inline(always)]
    pub(super) fn names(&self, chunk: u32) -> &Names {
        &self.names[chunk as usize]
    }

    /// The first chunk of a block's log; none if that is empty.
    #[inline(always)]
    pub(super) fn first(&self, block: u32) -> u32 {
        if self.logs[block as usize].last == NONE { NONE } else { self.home(block).start }
    }

    /// Where a chunk stands in its log.
    pub(super) fn link(&self, chunk: u32) -> Link {
        self.links[chunk as usize]
    }

    /// The end of a block's log.
    pub(super) fn log(&self, block: u32) -> Log {
        self.logs[block as usize]
    }

    /// The chunk that follows in the same log; none behind the last, nor behind none.
    #[inline(always)]
    pub(super) fn after(&self, chunk: u32) -> u32 {
        self.links.get(chunk as usize).map_or(NONE, |link| link.next)
    }

    /// Which extents of a chunk are live.
    #[inline(always)]
    pub(super) fn live(&self, chunk: u32) -> u32 {
        self.uses[chunk as usize].live
    }

    /// Starts to load a chunk, which may be none.
    #[inline(always)]
    pub(super) fn prefetch(&self, chunk: u32) {
        prefetch(&self.uses, chunk as usize);
        prefetch(&self.links, chunk as usize);
        prefetch_whole(&self.names, chunk as usize);
    }

    /// Starts to load the chunk that has a place, which may be nowhere.
    pub(super) fn prefetch_place(&self, place: u32) {
        self.prefetch(place / CHUNK);
    }

    /// Starts to load where a block's log begins and ends.
    pub(super) fn prefetch_log(&self, block: u32) {
        prefetch(&self.logs, block as usize);
        // Of a long log the other links come as the scout goes.
        for chunk in self.home(block).step_by(LINKS_PER_LINE).take(2) {
            prefetch(&self.links, chunk as usize);
        }
    }

    /// The last chunk of a block's log; none if that is empty.
    pub(super) fn last(&self, block: u32) -> u32 {
        self.logs[block as usize].last
    }

    /// Bytes of memory that are in use: chunks, given back or not, and what each block has.
    pub(super) fn memory_bytes(&self) -> u64 {
        let names = size_of_val(&*self.names);
        (names + size_of_val(&*self.uses) + size_of_val(&*self.links) + size_of_val(&*self.logs)) as u64
    }
}
