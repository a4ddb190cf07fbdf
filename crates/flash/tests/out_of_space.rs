//! Thin provisioning comes due: a drive whose data do not compress slows its host down, then refuses.

mod support;

use flash::random::Random;
use flash::{Compressing, CompressingConfig, Drive, FlashError, HealthLog, Policy, SpaceState, Throttling};
use support::{capacity, compressing_config};

/// Four times as many logical blocks as the flash is sold for.
fn thin(straddling: bool) -> Compressing {
    let base = compressing_config(capacity(64, 64, 0.1, 2), Policy::Greedy);
    let throttling = Throttling { throttle_from: 0.8, reject_from: 0.9, ..Throttling::default() };
    let logical_blocks = 4 * base.logical_blocks;
    Compressing::new(CompressingConfig { logical_blocks, straddling, throttling, ..base }).unwrap()
}

#[test]
fn what_compresses_fits() {
    let mut drive = thin(true);
    for lba in 0..drive.logical_blocks() {
        drive.write(lba, 800).unwrap();
    }
    assert_eq!(drive.space_state(), SpaceState::Normal);
    assert_eq!(HealthLog::read(&drive, 1000).compression_ratio, 512);
    assert_eq!(drive.counters().throttled_writes, 0);
}

#[test]
fn slow_before_no() {
    let mut drive = thin(true);
    let usable = drive.usable_bytes();
    let rejected = (0..drive.logical_blocks()).find(|&lba| drive.write(lba, 4096).is_err()).unwrap();
    assert_eq!(drive.live_bytes(), u64::from(rejected) * 4096);
    let share = |blocks: u64| (blocks * 4096) as f64 / usable as f64;
    assert!(share(u64::from(rejected)) <= 0.9 && share(u64::from(rejected) + 1) > 0.9);
    let throttled = drive.counters().throttled_writes;
    let expected = (0..u64::from(rejected)).filter(|&block| share(block + 1) > 0.8).count() as u64;
    assert_eq!((throttled, drive.counters().rejected_writes), (expected, 1));
    assert_eq!(drive.space_state(), SpaceState::WriteReject);
    drive.trim(0, 1).unwrap();
    assert_eq!(drive.space_state(), SpaceState::Throttled);
    drive.verify().unwrap();
}

#[test]
fn a_full_drive_takes_what_does_not_grow_and_recovers_by_trim() {
    let mut drive = thin(true);
    let full = (0..drive.logical_blocks()).find(|&lba| drive.write(lba, 4096).is_err()).unwrap();
    drive.write(0, 4096).unwrap();
    drive.write(1, 2000).unwrap();
    drive.write(2, 0).unwrap();
    drive.write(full, 4096).unwrap();
    let error = drive.write(full + 1, 4096).unwrap_err();
    assert!(matches!(error, FlashError::OutOfSpace { lba, .. } if lba == full + 1), "{error}");
    drive.trim(0, full / 2).unwrap();
    drive.write(full + 1, 4096).unwrap();
    assert_eq!(drive.space_state(), SpaceState::Normal);
    drive.verify().unwrap();
}

#[test]
fn padding_that_eats_the_spare_flash_is_a_full_drive_too() {
    // One extent of 2100 bytes a flash page: live bytes look like half of what is really taken.
    let mut drive = thin(false);
    let written = (0..drive.logical_blocks()).take_while(|&lba| drive.write(lba, 2100).is_ok()).count() as u64;
    assert!(written * 4096 <= drive.usable_bytes() + 3 * 64 * 4096 && written * 4096 > drive.usable_bytes() / 10 * 9);
    assert_eq!(drive.space_state(), SpaceState::WriteReject);
    assert!(drive.write(0, 2100).is_err());
    drive.verify().unwrap();
    drive.trim(0, (written / 2) as u32).unwrap();
    assert_eq!(drive.space_state(), SpaceState::Normal);
    drive.write(0, 2100).unwrap();
    drive.verify().unwrap();
}

#[test]
fn zeros_take_no_flash() {
    let mut drive = thin(true);
    for lba in 0..drive.logical_blocks() {
        drive.write(lba, 0).unwrap();
    }
    let counters = drive.counters();
    assert_eq!((counters.nand_bytes_written, drive.live_bytes()), (0, 0));
    assert_eq!(counters.host_bytes_written, u64::from(drive.logical_blocks()) * 4096);
    assert_eq!(
        (HealthLog::read(&drive, 1000).compression_ratio, drive.mapped_blocks()),
        (800, u64::from(drive.logical_blocks()))
    );
}

#[test]
fn a_drive_of_a_few_blocks_is_not_full_while_one_is_spare() {
    // Random choices miss the garbage, and each block emptied leaves the ends of two extents in its neighbours.
    let policies = [Policy::Random, Policy::DChoices { d: 2 }, Policy::Greedy, Policy::Fifo, Policy::CostBenefit];
    for (policy, seed) in policies.into_iter().flat_map(|policy| (0..40).map(move |seed| (policy, seed))) {
        let base = compressing_config(capacity(4, 16, 0.25, 2), policy);
        let mut drive = Compressing::new(CompressingConfig { seed, ..base }).unwrap();
        let mut random = Random::new(seed);
        for write in 0..2000 {
            let (lba, size) = (random.below(drive.logical_blocks()), 3900 + random.below(197));
            drive.write(lba, size).unwrap_or_else(|error| panic!("{policy:?}, seed {seed}, write {write}: {error}"));
        }
        drive.verify().unwrap();
    }
}
