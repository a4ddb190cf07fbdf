//! The normal SSD: a map from each logical block to the 4 KiB page that holds its newest copy.

use crate::capacity::Capacity;
use crate::gc::Policy;
use crate::streams::Streams;
use crate::wear_levelling::StaticWearLevelling;

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
