//! What happens at the edges: no room in the store, no room on flash, past the end, many threads at once.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{BLOCK, contents, disk, disk_like};
use description::{FlashTable, Timing};
use drive::error::DriveError;
use drive::timing::Clock;
use flash::trace::Operation;

#[test]
fn a_full_store_refuses_and_keeps_what_it_has() {
    let disk = disk(4096, 4 << 20, "none");
    let mut written = 0;
    let refusal = loop {
        match disk.write(written * BLOCK as u64, &contents(BLOCK, 1.0, written)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, DriveError::StoreFull) && refusal.errno() == libc::ENOSPC);
    assert!(written * BLOCK as u64 * 5 / 4 > 4 << 20, "full after {written} blocks");
    for lba in 0..written {
        let mut read = vec![0; BLOCK];
        disk.read(lba * BLOCK as u64, &mut read).unwrap();
        assert!(read == contents(BLOCK, 1.0, lba), "block {lba}");
    }
    disk.clear(0, 256 * BLOCK as u64, drive::disk::Clearing::Discard).unwrap();
    disk.write(0, &contents(128 * BLOCK, 1.0, 7)).unwrap();
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}

#[test]
fn a_drive_without_physical_space_throttles_and_then_rejects() {
    let flash = r#"{"kind": "compressing", "user_bytes": 4194304, "over_provisioning": 0.3, "pages_per_block": 16,
                    "reserve_blocks": 4}"#;
    let disk = disk_like(flash, 4096, 32 << 20, "zstd-1");
    let refusal = (0..4096).find_map(|lba| disk.write(lba * BLOCK as u64, &contents(BLOCK, 1.0, lba)).err());
    assert!(matches!(refusal, Some(DriveError::OutOfSpace)), "{refusal:?}");
    let counters = disk.with_model(|model| model.drive().counters());
    assert!(counters.rejected_writes > 0 && counters.throttled_writes > 0, "{counters:?}");
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
    let blank = vec![b' '; 64 * BLOCK];
    disk.write(0, &blank).unwrap();
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}

#[test]
fn writes_that_no_device_saw_are_not_charged_to_the_next() {
    // Each throttled write takes a second.
    let flash = r#"{"kind": "compressing", "user_bytes": 4194304, "over_provisioning": 0.3, "pages_per_block": 16,
                    "reserve_blocks": 4, "throttled_bytes_per_second": 4096}"#;
    let disk = disk_like(flash, 4096, 32 << 20, "zstd-1");
    let timing = serde_json::json!({});
    let mut described = FlashTable::parse(&serde_json::from_str(flash).unwrap()).unwrap();
    described.seen_as(disk.capacity_bytes());
    let timing = Timing::resolve(timing.as_object().unwrap(), &mut described).unwrap();
    let clock = Arc::new(Clock::new(&timing, 2, &disk).unwrap());
    let fill = || (0..4096).find(|&lba| disk.write(lba * BLOCK as u64, &contents(BLOCK, 1.0, lba)).is_err());
    assert!(clock.unwatched(&disk, fill).is_some());
    let throttled_writes = disk.with_model(|model| model.drive().counters().throttled_writes);
    assert!(throttled_writes > 20, "{throttled_writes}");
    disk.clear(0, disk.capacity_bytes(), drive::disk::Clearing::Discard).unwrap();

    let answering = Arc::clone(&clock);
    thread::spawn(move || answering.run());
    let (answer, answered) = mpsc::channel();
    let arrived_ns = clock.now_ns();
    disk.write(0, &contents(BLOCK, 1.0, 1)).unwrap();
    let reply = Box::new(move || answer.send(()).unwrap());
    clock.wrote(&disk, Operation::Write, (0, BLOCK as u64), arrived_ns, reply);
    answered.recv_timeout(Duration::from_secs(300)).unwrap();
}

#[test]
fn nothing_lies_past_the_end() {
    let disk = disk(1024, 8 << 20, "lz4");
    let end = 1024 * BLOCK as u64;
    assert!(matches!(disk.write(end, &[0]), Err(DriveError::PastEnd)));
    assert!(matches!(disk.read(u64::MAX, &mut [0]), Err(DriveError::PastEnd)));
    assert!(matches!(disk.clear(end - 1, 2, drive::disk::Clearing::Zeroes), Err(DriveError::PastEnd)));
    disk.write(end - 1, &[7]).unwrap();
    disk.clear(0, end, drive::disk::Clearing::Discard).unwrap();
    assert_eq!(disk.tallies.stored_blocks.get(), 0);
}

/// Blocks that say in their first byte what all the others are.
fn striped(blocks: usize, round: usize) -> Vec<u8> {
    (0..blocks).flat_map(|block| [(round * 31 + block) as u8; BLOCK]).collect()
}

#[test]
fn readers_see_whole_blocks_while_writers_and_the_cleaner_work() {
    let disk = disk(513, 4 << 20, "none");
    for (lba, block) in striped(512, 0).chunks(BLOCK).enumerate() {
        disk.write((lba * BLOCK) as u64, block).unwrap();
        // Half of what every segment holds is dead soon, and a quarter of the rest never dies.
        disk.write(512 * BLOCK as u64, block).unwrap();
    }
    let writing = AtomicUsize::new(2);
    thread::scope(|scope| {
        for half in 0..2 {
            let (disk, writing) = (&disk, &writing);
            scope.spawn(move || {
                for round in 0..120 {
                    for (index, block) in striped(256, round).chunks(BLOCK).enumerate().skip(round % 3).step_by(3) {
                        if index % 4 == 0 {
                            continue;
                        }
                        disk.write(((half * 256 + index) * BLOCK) as u64, block).unwrap();
                    }
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            let mut read = vec![0; BLOCK];
            while writing.load(Ordering::SeqCst) > 0 {
                for lba in 0..512 {
                    disk.read(lba * BLOCK as u64, &mut read).unwrap();
                    assert!(read.iter().all(|&byte| byte == read[0]), "block {lba}");
                }
            }
        });
    });
    assert!(disk.tallies.cleaned_bytes.get() > 0, "the store was never short, so this tests little");
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}
