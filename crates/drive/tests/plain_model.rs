//! Whatever is done to a drive, it reads back what a plain array would, and map, store and model stay in step.

mod common;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{BLOCK, ROOMY, contents, disk, disk_in};
use drive::disk::Clearing;
use proptest::prelude::*;

const BLOCKS: usize = 700;

#[derive(Debug, Clone)]
enum Step {
    Write { offset: usize, length: usize, noise: f64, seed: u64 },
    Clear { offset: usize, length: usize, zeroes: bool },
    Flush,
    Snapshot(u8),
    Restore(u8),
    Drop(u8),
    Check,
}

fn span() -> impl Strategy<Value = (usize, usize)> {
    let whole = (0..BLOCKS, 1..300_usize).prop_map(|(first, count)| (first * BLOCK, count * BLOCK));
    let parts = (0..BLOCKS * BLOCK, 1..40_000_usize);
    prop_oneof![3 => whole, 1 => parts].prop_map(|(offset, length)| (offset, length.min(BLOCKS * BLOCK - offset)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (span(), prop_oneof![Just(0.0), Just(0.3), Just(1.0)], any::<u64>())
            .prop_map(|((offset, length), noise, seed)| Step::Write { offset, length, noise, seed }),
        4 => (span(), any::<bool>()).prop_map(|((offset, length), zeroes)| Step::Clear { offset, length, zeroes }),
        1 => Just(Step::Flush),
        2 => (0..3_u8).prop_map(Step::Snapshot),
        2 => (0..3_u8).prop_map(Step::Restore),
        1 => (0..3_u8).prop_map(Step::Drop),
        1 => Just(Step::Check),
    ]
}

fn run(steps: &[Step], codec: &str, store_file: Option<PathBuf>) {
    // Twice what four states of incompressible blocks take, so that only the cleaner makes room, and it must.
    let disk = disk_in(store_file, ROOMY, BLOCKS as u64, 14 << 20, codec);
    let mut plain = vec![0_u8; BLOCKS * BLOCK];
    let mut kept: [Option<Vec<u8>>; 3] = [None, None, None];
    for step in steps {
        match *step {
            Step::Write { offset, length, noise, seed } => {
                let data = contents(length, noise, seed);
                disk.write(offset as u64, &data).unwrap();
                plain[offset..offset + length].copy_from_slice(&data);
            }
            Step::Clear { offset, length, zeroes } => {
                let (clearing, from, to) = if zeroes {
                    (Clearing::Zeroes, offset, offset + length)
                } else {
                    // A discard may leave parts of blocks as they are, and does.
                    (Clearing::Discard, offset.next_multiple_of(BLOCK), (offset + length) / BLOCK * BLOCK)
                };
                disk.clear(offset as u64, length as u64, clearing).unwrap();
                if from < to {
                    plain[from..to].fill(0);
                }
            }
            Step::Flush => disk.flush(),
            Step::Snapshot(name) => {
                let taken = kept[usize::from(name)].is_some();
                assert_eq!(disk.snapshot(&name.to_string()).is_err(), taken);
                kept[usize::from(name)].get_or_insert_with(|| plain.clone());
            }
            Step::Restore(name) => match &kept[usize::from(name)] {
                Some(state) => {
                    disk.restore(&name.to_string()).unwrap();
                    plain.clone_from(state);
                }
                None => assert!(disk.restore(&name.to_string()).is_err()),
            },
            Step::Drop(name) => {
                let outcome = disk.drop_snapshot(&name.to_string());
                assert_eq!(outcome.is_ok(), kept[usize::from(name)].take().is_some());
            }
            Step::Check => assert_eq!(disk.check().unwrap().problems, [""; 0]),
        }
    }
    let mut read = vec![1; plain.len()];
    disk.read(0, &mut read).unwrap();
    let differs = read.iter().zip(&plain).position(|(read, plain)| read != plain);
    assert_eq!(differs, None, "block {:?}", differs.map(|byte| byte / BLOCK));
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_drive_reads_back_what_a_plain_array_would(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps, "zstd-1", None);
    }

    #[test]
    fn so_does_one_that_does_not_compress(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps, "none", None);
    }

    #[test]
    fn so_does_one_that_keeps_its_contents_in_a_file(steps in prop::collection::vec(step(), 1..60)) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pgassay-store-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Not the machine's temporary folder: that is often in memory, which knows no O_DIRECT.
        run(&steps, "lz4", Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)));
    }
}

#[test]
fn the_cleaner_keeps_what_snapshots_need() {
    let disk = disk(513, 4 << 20, "none");
    let first = contents(512 * BLOCK, 1.0, 1);
    for (lba, block) in first.chunks(BLOCK).enumerate() {
        disk.write((lba * BLOCK) as u64, block).unwrap();
        // Half of what every segment holds is dead soon.
        disk.write(512 * BLOCK as u64, block).unwrap();
    }
    disk.snapshot("first").unwrap();
    for round in 0..40 {
        disk.write(0, &contents(100 * BLOCK, 1.0, round + 2)).unwrap();
    }
    assert!(disk.tallies.cleaned_bytes.get() > 0, "the store was never short, so this tests nothing");
    disk.restore("first").unwrap();
    let mut read = vec![0; first.len()];
    disk.read(0, &mut read).unwrap();
    assert!(read == first);
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}
