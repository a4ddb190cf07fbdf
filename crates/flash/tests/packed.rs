//! A packed state is the whole state: a drive that goes on from it does what the one that was packed does.

mod support;

use flash::random::Random;
use flash::{Compressing, CompressingConfig, Drive, PageMapped, Policy};
use proptest::prelude::*;
use support::sequence::{Request, requests, send, shapes};
use support::watched::{compressing, page_mapped};
use support::witness::Witness;

/// Requests that were refused are part of a drive's past.
fn send_all<D: Drive>(drive: &mut D, requests: &[Request]) {
    for request in requests {
        let _ = send(drive, request);
    }
}

fn assert_same<D: Drive<Observer = Witness>>(drive: &D, other: &D) {
    for lba in 0..drive.logical_blocks() {
        assert_eq!(drive.locate(lba), other.locate(lba), "block {lba}");
    }
    let seen = |drive: &D| {
        let numbers = (drive.mapped_blocks(), drive.live_bytes(), drive.free_blocks());
        (numbers, drive.counters(), drive.wear().erase_counts, drive.observer().clone())
    };
    assert_eq!(seen(drive), seen(other));
}

/// Both are written alike and do the same to their flash.
fn assert_go_on_alike<D: Drive<Observer = Witness>>(
    drive: &mut D,
    restored: &mut D,
    requests: &[Request],
    verify: impl Fn(&D) -> Result<(), String>,
) {
    restored.observer_mut().clone_from(drive.observer());
    verify(restored).unwrap();
    assert_same(drive, restored);
    for request in requests {
        assert_eq!(send(drive, request), send(restored, request));
        assert_eq!(drive.counters(), restored.counters());
    }
    verify(restored).unwrap();
    assert_same(drive, restored);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_mapped_drives_go_on_alike(
        shape in shapes(2),
        before in requests(),
        other in requests(),
        after in requests(),
    ) {
        let (mut drive, mut restored) = (page_mapped(&shape), page_mapped(&shape));
        send_all(&mut drive, &before);
        send_all(&mut restored, &other);
        let packed = drive.pack();
        restored.unpack(&packed);
        prop_assert_eq!(format!("{packed:?}"), format!("{:?}", restored.pack()));
        assert_go_on_alike(&mut drive, &mut restored, &after, PageMapped::verify);
        restored.unpack(&packed);
        prop_assert_eq!(format!("{packed:?}"), format!("{:?}", restored.pack()));
    }

    #[test]
    fn compressing_drives_go_on_alike(
        (shape, straddling) in prop_oneof![(shapes(2), Just(false)), (shapes(16), Just(true))],
        granularity in (0..=12_u32).prop_map(|bits| 1 << bits),
        before in requests(),
        other in requests(),
        after in requests(),
    ) {
        let mut drive = compressing(&shape, granularity, straddling, 2.0);
        let mut restored = compressing(&shape, granularity, straddling, 2.0);
        send_all(&mut drive, &before);
        send_all(&mut restored, &other);
        let packed = drive.pack();
        restored.unpack(&packed);
        prop_assert_eq!(format!("{packed:?}"), format!("{:?}", restored.pack()));
        let mut sizes = vec![None; drive.logical_blocks() as usize];
        packed.visit(|lba, bytes| sizes[lba as usize] = Some(bytes));
        let located = (0..drive.logical_blocks()).map(|lba| drive.locate(lba).map(|place| place.bytes));
        prop_assert_eq!(sizes, located.collect::<Vec<_>>());
        assert_go_on_alike(&mut drive, &mut restored, &after, Compressing::verify);
        restored.unpack(&packed);
        prop_assert_eq!(format!("{packed:?}"), format!("{:?}", restored.pack()));
    }
}

/// What is dead between two extents can be much longer than one entry of a log can say.
#[test]
fn long_stretches_of_dead_bytes_are_kept() {
    let capacity = support::capacity(8, 1024, 0.5, 4);
    for (granularity, straddling) in [(1, true), (64, true), (4096, true), (64, false)] {
        let config =
            CompressingConfig { granularity, straddling, ..support::compressing_config(capacity, Policy::Greedy) };
        let mut drive = Compressing::new(config).unwrap();
        for lba in 0..4000 {
            drive.write(lba, 4096 - lba % 1000).unwrap();
        }
        drive.trim(1, 700).unwrap();
        drive.trim(702, 1600).unwrap();
        let packed = drive.pack();
        let mut restored = Compressing::new(config).unwrap();
        restored.unpack(&packed);
        restored.verify().unwrap();
        assert!((0..4000).all(|lba| drive.locate(lba) == restored.locate(lba)));
        assert_eq!(format!("{packed:?}"), format!("{:?}", restored.pack()));
    }
}

#[test]
fn a_packed_state_takes_half_of_what_the_drive_does() {
    let capacity = support::capacity(64, 256, 0.28, 2);
    let mut drive = Compressing::new(support::compressing_config(capacity, Policy::Greedy)).unwrap();
    let blocks = u64::from(drive.logical_blocks());
    let fresh_bytes = drive.pack().memory_bytes();
    flash::ageing::fill(&mut drive, 1.0, |lba| 1000 + (lba % 1000) as u16).unwrap();
    let filled_bytes = drive.pack().memory_bytes() - fresh_bytes;
    flash::ageing::overwrite(&mut drive, 1.0, 4.0, |lba| 1000 + (lba % 1000) as u16, &mut Random::new(1)).unwrap();
    let overwritten_bytes = drive.pack().memory_bytes() - fresh_bytes;
    assert!(filled_bytes <= 3 * blocks && overwritten_bytes <= 8 * blocks, "{filled_bytes}, {overwritten_bytes}");
    assert!(drive.memory_bytes() > 2 * drive.pack().memory_bytes());
    let drive = support::page_mapped(64, 256, 0.28, Policy::Greedy);
    assert!(drive.memory_bytes() > 2 * drive.pack().memory_bytes());
}

#[test]
#[should_panic(expected = "drives of one make")]
fn a_state_of_another_drive_is_refused() {
    let small = support::page_mapped(8, 64, 0.28, Policy::Greedy);
    support::page_mapped(16, 64, 0.28, Policy::Greedy).unpack(&small.pack());
}

#[test]
#[should_panic(expected = "drives of one make")]
fn a_state_of_another_compressing_drive_is_refused() {
    let small = support::compressing(8, 64, 0.28, Policy::Greedy);
    support::compressing(16, 64, 0.28, Policy::Greedy).unpack(&small.pack());
}
