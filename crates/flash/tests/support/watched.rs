//! Drives that a witness watches, made of a shape.

use flash::{Compressing, CompressingConfig, PageMapped, PageMappedConfig, Throttling};

use super::sequence::Shape;
use super::witness::Witness;

fn witness(shape: &Shape) -> Witness {
    Witness { block_bytes: shape.capacity.geometry().superblock_bytes(), ..Witness::default() }
}

pub fn page_mapped(shape: &Shape) -> PageMapped<Witness> {
    let Shape { capacity, policy, streams, wear_levelling } = *shape;
    PageMapped::watched(PageMappedConfig { capacity, policy, streams, wear_levelling, seed: 9 }, witness(shape))
        .unwrap()
}

/// Shows its host `thin` times the user capacity.
pub fn compressing(shape: &Shape, granularity: u32, straddling: bool, thin: f64) -> Compressing<Witness> {
    let Shape { capacity, policy, streams, wear_levelling } = *shape;
    let config = CompressingConfig {
        capacity,
        logical_blocks: (f64::from(capacity.user_blocks()) * thin) as u32,
        granularity,
        straddling,
        policy,
        streams,
        wear_levelling,
        throttling: Throttling::default(),
        seed: 9,
    };
    Compressing::watched(config, witness(shape)).unwrap()
}
