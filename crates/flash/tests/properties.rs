//! Whatever a host does: live data are never lost, counters never disagree, no block is both free and live.

mod support;

use std::collections::BTreeMap;

use flash::ageing::{LiveShare, mean_field, overwrite};
use flash::pools::Pools;
use flash::random::Random;
use flash::{Compressing, Drive, PageMapped};
use proptest::prelude::*;
use support::sequence::{requests, run, shapes};
use support::watched::{compressing, page_mapped};
use support::witness::{Witness, sound};

/// Each pool by itself, with its part of what the host wrote.
fn sound_pools(pools: &Pools<PageMapped<Witness>>, written: &BTreeMap<u32, u32>) {
    let mut first = 0;
    for pool in pools.drives() {
        let end = first + pool.logical_blocks();
        let part = written.range(first..end).map(|(&lba, &bytes)| (lba - first, bytes)).collect();
        sound(PageMapped::verify)(pool, &part);
        first = end;
    }
    assert!(pools.counters().consistent());
    assert_eq!(pools.mapped_blocks(), written.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_mapped_drives_stay_whole(shape in shapes(2), requests in requests()) {
        run(&mut page_mapped(&shape), &requests, |_| 4096, sound(PageMapped::verify));
    }

    #[test]
    fn compressing_drives_stay_whole(
        (shape, straddling) in prop_oneof![(shapes(2), Just(false)), (shapes(16), Just(true))],
        requests in requests(),
        granularity in (0..=12_u32).prop_map(|bits| 1 << bits),
        thin in 1.0..4.0_f64,
    ) {
        let mut drive = compressing(&shape, granularity, straddling, thin);
        run(&mut drive, &requests, |bytes| bytes, sound(Compressing::verify));
        prop_assert!(drive.live_bytes() <= drive.usable_bytes());
    }

    #[test]
    fn pools_stay_whole(shapes in prop::collection::vec(shapes(2), 1..4), requests in requests()) {
        let mut pools = Pools::new(shapes.iter().map(page_mapped).collect()).unwrap();
        run(&mut pools, &requests, |_| 4096, sound_pools);
    }

    #[test]
    fn aged_drives_stay_whole(
        shape in shapes(16),
        used in 0.1..1.0_f64,
        bytes in 1..4096_u16,
        granularity in (0..=12_u32).prop_map(|bits| 1 << bits),
        requests in requests(),
    ) {
        let alpha = shape.capacity.alpha() / used;
        let pages = shape.capacity.geometry().pages_per_block();
        let live = LiveShare::new(shape.policy, alpha, pages).unwrap();
        let mut drive = page_mapped(&shape);
        mean_field(&mut drive, &live, used, |_| bytes, 1).unwrap();
        drive.verify().unwrap();
        overwrite(&mut drive, used, 2.0, |_| 4096, &mut Random::new(2)).unwrap();
        drive.verify().unwrap();
        drive.trim(0, drive.logical_blocks()).unwrap();
        run(&mut drive, &requests, |_| 4096, sound(PageMapped::verify));

        let stored = u32::from(bytes).next_multiple_of(granularity);
        let live = LiveShare::new(shape.policy, alpha * 4096.0 / f64::from(stored), pages).unwrap();
        let mut drive = compressing(&shape, granularity, true, 1.0);
        mean_field(&mut drive, &live, used, |_| bytes, 1).unwrap();
        drive.verify().unwrap();
        prop_assert_eq!(drive.mapped_blocks(), (f64::from(drive.logical_blocks()) * used).round().max(1.0) as u64);
        overwrite(&mut drive, used, 2.0, |_| bytes, &mut Random::new(2)).unwrap();
        drive.verify().unwrap();
        drive.trim(0, drive.logical_blocks()).unwrap();
        run(&mut drive, &requests, |bytes| bytes, sound(Compressing::verify));
    }
}
