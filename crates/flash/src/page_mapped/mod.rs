//! The normal SSD: a map from each logical block to the 4 KiB page that holds its newest copy.
//!
//! Two tables of 32-bit numbers are the whole drive: `map` (logical block → page) and `owners` (page → logical block
//! last written there). A page is live exactly if `map[owners[page]] == page`; a bit for each page says the same from
//! nearer by ([`live_pages`]). Memory: 8 1/8 bytes a page, and the spare.

mod check;
mod collect;
mod live_pages;
mod packed;
mod write;

use crate::BLOCK_BYTES;
use crate::block_table::BlockTable;
use crate::capacity::Capacity;
use crate::counters::Counters;
use crate::division::Division;
use crate::drive::{Drive, Location};
use crate::error::FlashError;
use crate::gc::Policy;
use crate::huge_pages::Table;
use crate::observer::{NoObserver, Observer};
use crate::requests;
use crate::streams::Streams;
use crate::wear::Wear;
use crate::wear_levelling::StaticWearLevelling;
use live_pages::LivePages;
pub use packed::PackedPageMapped;

/// The entry of a logical block that holds nothing.
const UNMAPPED: u32 = u32::MAX;

/// What a page-mapped drive is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageMappedConfig {
    /// Blocks and user capacity.
    pub capacity: Capacity,
    /// How garbage collection chooses.
    pub policy: Policy,
    /// Who writes into which open block.
    pub streams: Streams,
    /// Whether cold data are moved for the sake of wear.
    pub wear_levelling: Option<StaticWearLevelling>,
    /// Seed of the policies that draw at random.
    pub seed: u64,
}

/// The end of a stream's open block: pages `next` to `end` − 1 are unwritten. `next == end` means no block is open.
#[derive(Debug, Clone, Copy, Default)]
struct Frontier {
    next: u32,
    end: u32,
}

/// Pages programmed, by cause.
#[derive(Debug, Clone, Copy, Default)]
struct PageCounts {
    host: u64,
    gc: u64,
    wear_levelling: u64,
    programmed: u64,
    trimmed: u64,
}

/// A page-mapped drive, watched by `O`.
#[derive(Debug, Clone)]
pub struct PageMapped<O: Observer = NoObserver> {
    config: PageMappedConfig,
    pages_per_block: u32,
    block_of: Division,
    map: Table<u32>,
    owners: Table<u32>,
    live_pages: LivePages,
    table: BlockTable,
    frontiers: Vec<Frontier>,
    mapped: u64,
    counts: PageCounts,
    observer: O,
}

impl PageMapped<NoObserver> {
    /// A fresh drive without an observer.
    pub fn new(config: PageMappedConfig) -> Result<Self, FlashError> {
        Self::watched(config, NoObserver)
    }
}

impl<O: Observer> PageMapped<O> {
    /// A fresh drive.
    pub fn watched(config: PageMappedConfig, observer: O) -> Result<Self, FlashError> {
        config.policy.check()?;
        let capacity = config.capacity;
        let blocks = capacity.total_blocks(config.streams);
        let pages_per_block = capacity.geometry().pages_per_block();
        let pages = blocks as usize * pages_per_block as usize;
        Ok(Self {
            config,
            pages_per_block,
            block_of: Division::by(pages_per_block),
            map: Table::filled(capacity.user_blocks() as usize, UNMAPPED),
            owners: Table::filled(pages, 0),
            live_pages: LivePages::none(pages),
            table: BlockTable::new(blocks, pages_per_block, pages_per_block, config.policy, config.seed),
            frontiers: vec![Frontier::default(); usize::from(config.streams.count())],
            mapped: 0,
            counts: PageCounts::default(),
            observer,
        })
    }

    /// What the drive was made of.
    pub fn config(&self) -> &PageMappedConfig {
        &self.config
    }

    /// Bytes of memory that the drive's tables take.
    pub fn memory_bytes(&self) -> u64 {
        let tables = size_of_val(&*self.map) + size_of_val(&*self.owners);
        tables as u64 + self.live_pages.memory_bytes() + self.table.memory_bytes()
    }
}

impl<O: Observer> Drive for PageMapped<O> {
    type Observer = O;

    fn logical_blocks(&self) -> u32 {
        self.map.len() as u32
    }

    fn write_placed(&mut self, lba: u32, compressed_bytes: u32, handle: u8) -> Result<(), FlashError> {
        requests::check_write(lba, compressed_bytes, self.logical_blocks())?;
        requests::check_handle(handle, self.config.streams)?;
        self.write_page(lba, handle);
        Ok(())
    }

    fn write_batch(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        requests::write_batch(self, lbas, compressed_bytes)
    }

    fn trim(&mut self, lba: u32, count: u32) -> Result<(), FlashError> {
        self.trim_pages(requests::check_trim(lba, count, self.logical_blocks())?);
        Ok(())
    }

    fn locate(&self, lba: u32) -> Option<Location> {
        let page = *self.map.get(lba as usize)?;
        (page != UNMAPPED).then(|| {
            let block = self.block_of.quotient(page);
            let offset = u64::from(page - block * self.pages_per_block) * u64::from(BLOCK_BYTES);
            Location { block, offset, bytes: BLOCK_BYTES }
        })
    }

    fn mapped_blocks(&self) -> u64 {
        self.mapped
    }

    fn live_bytes(&self) -> u64 {
        self.mapped * u64::from(BLOCK_BYTES)
    }

    fn usable_bytes(&self) -> u64 {
        self.config.capacity.data_bytes()
    }

    fn free_blocks(&self) -> u32 {
        self.table.free_blocks()
    }

    fn counters(&self) -> Counters {
        let bytes = |pages: u64| pages * u64::from(BLOCK_BYTES);
        Counters {
            host_bytes_written: bytes(self.counts.host),
            compressed_bytes_written: bytes(self.counts.host),
            gc_bytes_written: bytes(self.counts.gc),
            wear_levelling_bytes_written: bytes(self.counts.wear_levelling),
            nand_bytes_written: bytes(self.counts.programmed),
            host_bytes_trimmed: bytes(self.counts.trimmed),
            blocks_erased: self.table.erases(),
            ..Counters::default()
        }
    }

    fn wear(&self) -> Wear {
        self.table.wear()
    }

    fn observer(&self) -> &O {
        &self.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }
}
