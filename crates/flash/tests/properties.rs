//! Whatever a host does: live data are never lost, counters never disagree, no block is both free and live.

mod support;

use flash::ageing::{LiveShare, mean_field, overwrite};
use flash::random::Random;
use flash::{Compressing, CompressingConfig, Drive, PageMapped, PageMappedConfig, Throttling};
use proptest::prelude::*;
use support::sequence::{Shape, requests, run, shapes};
use support::witness::Witness;

fn witness(shape: &Shape) -> Witness {
    Witness { block_bytes: shape.capacity.geometry().superblock_bytes(), ..Witness::default() }
}

fn page_mapped(shape: &Shape) -> PageMapped<Witness> {
    let Shape { capacity, policy, streams, wear_levelling } = *shape;
    PageMapped::watched(PageMappedConfig { capacity, policy, streams, wear_levelling, seed: 9 }, witness(shape))
        .unwrap()
}

fn compressing(shape: &Shape, granularity: u32, straddling: bool, thin: f64) -> Compressing<Witness> {
    let Shape { capacity, policy, streams, wear_levelling } = *shape;
    let logical_blocks = (f64::from(capacity.user_blocks()) * thin) as u32;
    let throttling = Throttling::default();
    let config = CompressingConfig {
        capacity,
        logical_blocks,
        granularity,
        straddling,
        policy,
        streams,
        wear_levelling,
        throttling,
        seed: 9,
    };
    Compressing::watched(config, witness(shape)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_mapped_drives_stay_whole(shape in shapes(2), requests in requests()) {
        run(&mut page_mapped(&shape), &requests, |_| 4096, PageMapped::verify);
    }

    #[test]
    fn compressing_drives_stay_whole(
        (shape, straddling) in prop_oneof![(shapes(2), Just(false)), (shapes(16), Just(true))],
        requests in requests(),
        granularity in (0..=12_u32).prop_map(|bits| 1 << bits),
        thin in 1.0..4.0_f64,
    ) {
        let mut drive = compressing(&shape, granularity, straddling, thin);
        run(&mut drive, &requests, |bytes| bytes, Compressing::verify);
        prop_assert!(drive.live_bytes() <= drive.usable_bytes());
    }

    #[test]
    fn aged_drives_stay_whole(shape in shapes(16), used in 0.1..1.0_f64, bytes in 1..4096_u16, requests in requests()) {
        let alpha = shape.capacity.alpha() / used;
        let pages = shape.capacity.geometry().pages_per_block();
        let live = LiveShare::new(shape.policy, alpha, pages).unwrap();
        let mut drive = page_mapped(&shape);
        mean_field(&mut drive, &live, used, |_| 4096, 1).unwrap();
        drive.verify().unwrap();
        overwrite(&mut drive, used, 2.0, |_| 4096, &mut Random::new(2)).unwrap();
        drive.verify().unwrap();
        drive.trim(0, drive.logical_blocks()).unwrap();
        run(&mut drive, &requests, |_| 4096, PageMapped::verify);

        let live = LiveShare::new(shape.policy, alpha * 4096.0 / f64::from(bytes), pages).unwrap();
        let mut drive = compressing(&shape, 1, true, 1.0);
        mean_field(&mut drive, &live, used, |_| bytes, 1).unwrap();
        drive.verify().unwrap();
        prop_assert_eq!(drive.mapped_blocks(), (f64::from(drive.logical_blocks()) * used).round().max(1.0) as u64);
        overwrite(&mut drive, used, 2.0, |_| bytes, &mut Random::new(2)).unwrap();
        drive.verify().unwrap();
        drive.trim(0, drive.logical_blocks()).unwrap();
        run(&mut drive, &requests, |bytes| bytes, Compressing::verify);
    }
}
