//! The drive with transparent compression: a map from each logical block to an extent of variable length.
//!
//! Each 4 KiB block comes with its size after compression. Extents are appended to flash, rounded to a granularity, and
//! either straddle flash pages or not. The host may be shown more logical space than there is flash (thin
//! provisioning), so physical space can run out: see [`Throttling`]. Memory: 5 1/3 bytes a logical block, and 6 1/2 an
//! extent on flash, live or dead.

mod addresses;
mod append;
mod check;
mod chunk;
mod collect;
mod empty;
mod footprint;
mod log;
mod map;
mod packed;
mod packing;
mod scout;
mod spill;
mod throttling;
mod uses;
mod waiting;
mod write;

use crate::BLOCK_BYTES;
use crate::block_table::BlockTable;
use crate::capacity::Capacity;
use crate::counters::Counters;
use crate::drive::{Drive, Location};
use crate::error::FlashError;
use crate::gc::Policy;
use crate::observer::{NoObserver, Observer};
use crate::requests;
use crate::streams::Streams;
use crate::wear::Wear;
use crate::wear_levelling::StaticWearLevelling;
use footprint::Scale;
use log::Logs;
use map::Map;
pub use packed::PackedCompressing;
use packing::Packing;
use scout::Scout;
use spill::Spills;
use throttling::Limits;
pub use throttling::{SpaceState, Throttling};
use waiting::Waiting;

/// Amounts of live bytes that greedy tells apart: 1/4096 of a block is less than what a single extent changes, and the
/// buckets stay in the first-level cache.
const GREEDY_LEVELS: u32 = 4096;

/// Bytes of the smallest superblock in which extents may straddle. In smaller ones collection was seen to find no space
/// although a whole block was spare: five blocks of two pages, any policy.
const LEAST_STRADDLED: u64 = 16 * BLOCK_BYTES as u64;

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
    scale: Scale,
    map: Map,
    logs: Logs,
    spills: Spills,
    table: BlockTable,
    frontiers: Vec<Frontier>,
    waiting: Waiting,
    scout: Scout,
    mapped: u64,
    live_bytes: u64,
    limits: Limits,
    counters: Counters,
    observer: O,
}

impl Compressing<NoObserver> {
    /// A fresh drive without an observer.
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
        let CompressingConfig { granularity, straddling, .. } = config;
        let packing = Packing { block_bytes, flash_page_bytes: geometry.flash_page_bytes, granularity, straddling };
        config.check()?;
        Ok(Self {
            config,
            packing,
            scale: Scale::of(packing),
            map: Map::empty(config.logical_blocks),
            logs: Logs::new(blocks, block_bytes / BLOCK_BYTES),
            spills: Spills::new(blocks),
            table: BlockTable::new(blocks, block_bytes, GREEDY_LEVELS, config.policy, config.seed),
            frontiers: vec![Frontier { block: 0, offset: block_bytes }; usize::from(config.streams.count())],
            waiting: Waiting::none(),
            scout: Scout::NOWHERE,
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

    /// Bytes of memory that the drive's tables take. The logs grow as extents become smaller than they were.
    pub fn memory_bytes(&self) -> u64 {
        self.map.memory_bytes() + self.logs.memory_bytes() + self.spills.memory_bytes() + self.table.memory_bytes()
    }
}

impl CompressingConfig {
    /// Whether there can be such a drive; takes no memory.
    pub fn check(&self) -> Result<(), FlashError> {
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
        // What emptying a block leaves as garbage in its neighbours, at most two extents, has to be small beside a
        // block, or collection makes as much as it clears; and each stream can leave that much.
        let least = LEAST_STRADDLED.max(2 * u64::from(BLOCK_BYTES) * (u64::from(self.streams.count()) + 1));
        let block_bytes = self.capacity.geometry().superblock_bytes();
        if self.straddling && block_bytes < least {
            let reason = format!("must be at least {least} with these streams if extents straddle");
            return Err(FlashError::invalid("superblock bytes", block_bytes, reason));
        }
        let blocks = self.capacity.total_blocks(self.streams);
        if !Logs::can_name(blocks, (block_bytes / u64::from(BLOCK_BYTES)) as u32) {
            let reason = format!("must be larger on a drive that has {blocks} of them");
            return Err(FlashError::invalid("superblock bytes", block_bytes, reason));
        }
        Ok(())
    }
}

impl<O: Observer> Drive for Compressing<O> {
    type Observer = O;

    fn logical_blocks(&self) -> u32 {
        self.map.len()
    }

    fn write_placed(&mut self, lba: u32, compressed_bytes: u32, handle: u8) -> Result<(), FlashError> {
        requests::check_handle(handle, self.config.streams)?;
        self.write_extent(lba, compressed_bytes, handle)
    }

    fn write_batch(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
        requests::write_batch(self, lbas, compressed_bytes)
    }

    fn trim(&mut self, lba: u32, count: u32) -> Result<(), FlashError> {
        self.trim_extents(requests::check_trim(lba, count, self.logical_blocks())?);
        Ok(())
    }

    fn locate(&self, lba: u32) -> Option<Location> {
        let place = (lba < self.map.len()).then(|| self.map.place(lba))?;
        map::is_stored(place).then(|| Location {
            block: self.logs.block(place),
            offset: u64::from(self.logs.offset(place, self.packing)),
            bytes: self.logs.entry(place).size,
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
