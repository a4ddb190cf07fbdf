//! The drive with transparent compression: a map from each logical block to an extent of variable length.
//!
//! Each 4 KiB block comes with its size after compression. Extents are appended to flash, rounded to a granularity, and
//! either straddle flash pages or not. The host may be shown more logical space than there is flash (thin
//! provisioning), so physical space can run out: see [`Throttling`]. Memory: 8 bytes a logical block (a 6-byte address
//! and a 2-byte size) and 6 bytes an extent on flash, live or dead.

mod append;
mod check;
mod collect;
mod extent;
mod log;
mod spill;
mod throttling;
mod write;

use crate::BLOCK_BYTES;
use crate::block_table::BlockTable;
use crate::capacity::Capacity;
use crate::counters::Counters;
use crate::drive::{Drive, Location};
use crate::error::FlashError;
use crate::gc::Policy;
use crate::huge_pages::Table;
use crate::observer::{NoObserver, Observer};
use crate::streams::Streams;
use crate::wear::Wear;
use crate::wear_levelling::StaticWearLevelling;
use extent::{Extent, Packing};
use log::Logs;
use spill::Spills;
use throttling::Limits;
pub use throttling::{SpaceState, Throttling};

/// Amounts of live bytes that greedy tells apart: 1/4096 of a block is less than what a single extent changes, and the
/// buckets stay in the first-level cache.
const GREEDY_LEVELS: u32 = 4096;

/// No block is being got ready for emptying.
const NO_VICTIM: u32 = u32::MAX;

/// What a compressing drive is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressingConfig {
    /// Blocks, and the user capacity that over-provisioning refers to.
    pub capacity: Capacity,
    /// Logical blocks shown to the host: the user capacity's, or more on a thin-provisioned drive.
    pub logical_blocks: u32,
    /// Bytes that an extent's length is rounded up to: a power of two, 1 to 4096.
    pub granularity: u32,
    /// Whether an extent may cross from one flash page (and one block) into the next.
    pub straddling: bool,
    /// How garbage collection chooses.
    pub policy: Policy,
    /// Who writes into which open block.
    pub streams: Streams,
    /// Whether cold data are moved for the sake of wear.
    pub wear_levelling: Option<StaticWearLevelling>,
    /// What happens as physical space runs out.
    pub throttling: Throttling,
    /// Seed of the policies that draw at random.
    pub seed: u64,
}

/// The end of a stream's open block. `offset == block_bytes` means no block is open.
#[derive(Debug, Clone, Copy)]
struct Frontier {
    block: u32,
    offset: u32,
}

/// A compressing drive, watched by `O`.
#[derive(Debug, Clone)]
pub struct Compressing<O: Observer = NoObserver> {
    config: CompressingConfig,
    packing: Packing,
    map: Table<Extent>,
    logs: Logs,
    spills: Spills,
    table: BlockTable,
    frontiers: Vec<Frontier>,
    /// The block whose first map entries have been prefetched, since it will probably be emptied next.
    expected: u32,
    mapped: u64,
    live_bytes: u64,
    limits: Limits,
    counters: Counters,
    observer: O,
}

impl Compressing<NoObserver> {
    /// A fresh drive that nobody watches.
    pub fn new(config: CompressingConfig) -> Result<Self, FlashError> {
        Self::watched(config, NoObserver)
    }
}

impl<O: Observer> Compressing<O> {
    /// A fresh drive.
    pub fn watched(config: CompressingConfig, observer: O) -> Result<Self, FlashError> {
        let capacity = config.capacity;
        let geometry = capacity.geometry();
        let blocks = capacity.total_blocks(config.streams);
        // Geometry has made sure that a superblock is smaller than 4 GiB.
        let block_bytes = geometry.superblock_bytes() as u32;
        let packing = Packing::new(block_bytes, geometry.flash_page_bytes, config.granularity, config.straddling);
        config.check(blocks, packing)?;
        Ok(Self {
            config,
            packing,
            map: Table::filled(config.logical_blocks as usize, Extent::UNMAPPED),
            // What does not shrink takes a block; what does needs more extents, and its log grows.
            logs: Logs::new(blocks, u64::from(blocks) * u64::from(block_bytes / BLOCK_BYTES)),
            spills: Spills::new(blocks),
            table: BlockTable::new(blocks, block_bytes, GREEDY_LEVELS, config.policy, config.seed),
            frontiers: vec![Frontier { block: 0, offset: block_bytes }; usize::from(config.streams.count())],
            expected: NO_VICTIM,
            mapped: 0,
            live_bytes: 0,
            limits: Limits::new(config.throttling, capacity.data_bytes()),
            counters: Counters::default(),
            observer,
        })
    }

    /// What the drive was made of.
    pub fn config(&self) -> &CompressingConfig {
        &self.config
    }

    /// How the drive stands with physical space.
    pub fn space_state(&self) -> SpaceState {
        self.limits.state(self.live_bytes)
    }

    /// Extents on flash, live and dead.
    pub fn extents(&self) -> u64 {
        self.logs.extents()
    }

    #[cold]
    fn past_end(&self, lba: u64) -> FlashError {
        FlashError::PastEnd { lba, logical_blocks: self.logical_blocks() }
    }
}

impl CompressingConfig {
    fn check(&self, blocks: u32, packing: Packing) -> Result<(), FlashError> {
        self.policy.check()?;
        self.throttling.check()?;
        if !self.granularity.is_power_of_two() || self.granularity > BLOCK_BYTES {
            return Err(FlashError::invalid(
                "granularity",
                self.granularity,
                "must be a power of two from 1 to 4096 bytes",
            ));
        }
        if self.logical_blocks == 0 || self.logical_blocks == u32::MAX {
            return Err(FlashError::invalid("logical blocks", self.logical_blocks, "must be between 1 and 2^32 - 2"));
        }
        if self.straddling && self.capacity.reserve_blocks() < 2 {
            let reason = "must be at least 2 if extents straddle, since the last one moved may run into a second block";
            return Err(FlashError::invalid("reserve blocks", self.capacity.reserve_blocks(), reason));
        }
        if u64::from(blocks) > packing.addressable_blocks() {
            let reason = "has more blocks of this size than 48-bit addresses can name";
            return Err(FlashError::invalid("total blocks", blocks, reason));
        }
        Ok(())
    }
}

impl<O: Observer> Drive for Compressing<O> {
    type Observer = O;

    fn logical_blocks(&self) -> u32 {
        self.map.len() as u32
    }

    fn write_placed(&mut self, lba: u32, compressed_bytes: u32, handle: u8) -> Result<(), FlashError> {
        let handles = self.config.streams.handles();
        if handle >= handles {
            return Err(FlashError::Placement { handle, handles });
        }
        self.write_extent(lba, compressed_bytes, handle)
    }

    fn write_batch(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        self.write_extents(lbas, compressed_bytes)
    }

    fn trim(&mut self, lba: u32, count: u32) -> Result<(), FlashError> {
        let end = u64::from(lba) + u64::from(count);
        if end > self.map.len() as u64 {
            return Err(self.past_end(u64::from(lba).max(self.map.len() as u64)));
        }
        self.trim_extents(lba..lba + count);
        Ok(())
    }

    fn locate(&self, lba: u32) -> Option<Location> {
        let extent = *self.map.get(lba as usize)?;
        extent.is_stored().then(|| Location {
            block: self.packing.block(extent.address()),
            offset: u64::from(self.packing.offset(extent.address())),
            bytes: extent.size(),
        })
    }

    fn mapped_blocks(&self) -> u64 {
        self.mapped
    }

    fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    fn usable_bytes(&self) -> u64 {
        self.config.capacity.data_bytes()
    }

    fn free_blocks(&self) -> u32 {
        self.table.free_blocks()
    }

    fn counters(&self) -> Counters {
        Counters { blocks_erased: self.table.erases(), ..self.counters }
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
