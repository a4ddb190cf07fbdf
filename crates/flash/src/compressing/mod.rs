//! The drive with transparent compression: a map from each logical block to an extent of variable length.

use crate::capacity::Capacity;
use crate::gc::Policy;
use crate::streams::Streams;
use crate::wear_levelling::StaticWearLevelling;

/// What a compressing drive is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressingConfig {
    /// Blocks, and the user capacity that over-provisioning refers to.
    pub capacity: Capacity,
    /// Logical blocks shown to the host: at least the user capacity's, more on a thin-provisioned drive.
    pub logical_blocks: u32,
    /// Bytes that an extent's start and end are rounded to: a power of two, 1 to 4096.
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

/// Shares of the usable flash that hold live data at which the drive slows its host down, and at which it refuses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttling {
    /// From this share on, writes are throttled (to [`Throttling::bytes_per_second`], by the timing layer).
    pub throttle_from: f64,
    /// From this share on, writes that need more space are rejected.
    pub reject_from: f64,
    /// The host's write rate while throttled.
    pub bytes_per_second: u64,
}
