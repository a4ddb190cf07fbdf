//! Drives in steady state for tests: made, aged, measured.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod bytes;
pub mod sequence;
pub mod watched;
pub mod witness;

use flash::ageing::{LiveShare, mean_field, overwrite};
use flash::random::Random;
use flash::{
    Capacity, Compressing, CompressingConfig, Drive, Geometry, OverProvisioning, PageMapped, PageMappedConfig, Policy,
    Streams, Throttling,
};

/// The capacity of a drive with `user_superblocks` blocks of `pages` pages for its user.
pub fn capacity(user_superblocks: u32, pages: u32, over_provisioning: f64, reserve: u32) -> Capacity {
    let user_bytes = u64::from(user_superblocks) * u64::from(pages) * 4096;
    let over_provisioning = OverProvisioning::of_user(over_provisioning).unwrap();
    Capacity::of_user(Geometry::plain(pages), user_bytes, over_provisioning, reserve).unwrap()
}

pub fn page_mapped_config(capacity: Capacity, policy: Policy, streams: Streams) -> PageMappedConfig {
    PageMappedConfig { capacity, policy, streams, wear_levelling: None, seed: 1 }
}

pub fn page_mapped(user_superblocks: u32, pages: u32, over_provisioning: f64, policy: Policy) -> PageMapped {
    let capacity = capacity(user_superblocks, pages, over_provisioning, 1);
    PageMapped::new(page_mapped_config(capacity, policy, Streams::ONE)).unwrap()
}

pub fn compressing_config(capacity: Capacity, policy: Policy) -> CompressingConfig {
    CompressingConfig {
        capacity,
        logical_blocks: capacity.user_blocks(),
        granularity: 1,
        straddling: true,
        policy,
        streams: Streams::ONE,
        wear_levelling: None,
        throttling: Throttling::default(),
        seed: 1,
    }
}

pub fn compressing(user_superblocks: u32, pages: u32, over_provisioning: f64, policy: Policy) -> Compressing {
    Compressing::new(compressing_config(capacity(user_superblocks, pages, over_provisioning, 2), policy)).unwrap()
}

/// Write amplification of uniform random writes: starts at the mean field, writes two drive writes more without looking
/// and then measures over three.
pub fn uniform<D: Drive>(drive: &mut D, policy: Policy, pages: u32) -> f64 {
    uniform_over(drive, policy, pages, 2.0, 3.0)
}

/// The same with other lengths, in drive writes: large drives wander less.
pub fn uniform_over<D: Drive>(drive: &mut D, policy: Policy, pages: u32, warm: f64, window: f64) -> f64 {
    let alpha = drive.usable_bytes() as f64 / (f64::from(drive.logical_blocks()) * 4096.0);
    mean_field(drive, &LiveShare::new(policy, alpha, pages).unwrap(), 1.0, |_| 4096, 5).unwrap();
    let mut random = Random::new(11);
    overwrite(drive, 1.0, warm, |_| 4096, &mut random).unwrap();
    let before = drive.counters();
    overwrite(drive, 1.0, window, |_| 4096, &mut random).unwrap();
    drive.counters().since(&before).write_amplification().unwrap()
}

/// Write amplification of any load, from a filled drive: `writes` draws the next block and its size.
pub fn measured<D: Drive>(drive: &mut D, warm: f64, window: f64, mut write: impl FnMut() -> (u32, u16)) -> f64 {
    let blocks = f64::from(drive.logical_blocks());
    let mut run = |drive: &mut D, drive_writes: f64| {
        let mut left = (blocks * drive_writes) as u64;
        while left > 0 {
            let (lbas, sizes): (Vec<u32>, Vec<u16>) = (0..left.min(4096)).map(|_| write()).unzip();
            drive.write_batch(&lbas, &sizes).unwrap();
            left -= lbas.len() as u64;
        }
    };
    run(drive, warm);
    let before = drive.counters();
    run(drive, window);
    drive.counters().since(&before).write_amplification().unwrap()
}

/// Fails unless `value` is within `bound` (relative) of `theory`.
#[track_caller]
pub fn assert_within(value: f64, theory: f64, bound: f64, what: &str) {
    let deviation = value / theory - 1.0;
    assert!(deviation.abs() <= bound, "{what}: {value:.4} against {theory:.4} of theory, {:+.3} %", deviation * 100.0);
}
