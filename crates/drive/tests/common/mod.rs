//! A small drive, and contents to write to it.

use std::path::PathBuf;

use drive::disk::{Disk, Parts};
use drive::model::Model;
use drive::persistence::Persistence;

pub const BLOCK: usize = 4096;

/// A compressing model that never runs out of flash.
#[allow(dead_code)]
pub const ROOMY: &str =
    r#"{"kind": "compressing", "pages_per_block": 16, "over_provisioning": 0.5, "reserve_blocks": 4}"#;

/// A drive of so many blocks over a compressing model that never runs out of flash.
#[allow(dead_code)]
pub fn disk(blocks: u64, store_bytes: u64, codec: &str) -> Disk {
    disk_like(ROOMY, blocks, store_bytes, codec)
}

/// A drive of so many blocks over the model that a description gives.
#[allow(dead_code)] // Not every test file uses all of these.
pub fn disk_like(flash: &str, blocks: u64, store_bytes: u64, codec: &str) -> Disk {
    disk_in(None, flash, blocks, store_bytes, codec)
}

/// The same with its contents in a file.
#[allow(dead_code)]
pub fn disk_in(store_file: Option<PathBuf>, flash: &str, blocks: u64, store_bytes: u64, codec: &str) -> Disk {
    let capacity_bytes = blocks * BLOCK as u64;
    let model = Model::described(flash, capacity_bytes);
    let codec = codec.parse().unwrap();
    let persistence = Persistence::default();
    Disk::new(Parts { capacity_bytes, codec, keeps_contents: true, store_bytes, store_file, model, persistence })
        .unwrap()
}

/// A drive with another way to survive a loss of power, its store so small that the cleaner must work.
#[allow(dead_code)]
pub fn disk_losing(blocks: u64, store_bytes: u64, persistence: Persistence) -> Disk {
    let capacity_bytes = blocks * BLOCK as u64;
    let model = Model::described(ROOMY, capacity_bytes);
    let codec = "lz4".parse().unwrap();
    let (keeps_contents, store_file) = (true, None);
    Disk::new(Parts { capacity_bytes, codec, keeps_contents, store_bytes, store_file, model, persistence }).unwrap()
}

/// Bytes of which a share does not compress, different for each seed.
#[allow(dead_code)]
pub fn contents(length: usize, noise_share: f64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let noisy = (BLOCK as f64 * noise_share) as usize;
    (0..length)
        .map(|index| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if index % BLOCK < noisy { state as u8 } else { seed as u8 }
        })
        .collect()
}
