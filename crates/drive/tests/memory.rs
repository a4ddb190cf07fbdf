//! What drives and snapshots take of memory: as much as they say, and no more than is promised.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{BLOCK, contents, disk_like};
use drive::disk::Disk;
use serde_json::json;

const BLOCKS: u64 = 65_536;
/// What a block of capacity may take in a snapshot.
const PROMISED_BYTES: u64 = 16;

/// Counts what each thread has taken and not given back.
struct Counting;

thread_local! {
    static TAKEN_BYTES: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN_BYTES.set(TAKEN_BYTES.get() + layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        TAKEN_BYTES.set(TAKEN_BYTES.get() - layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that some work leaves taken.
fn taken_by<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = TAKEN_BYTES.get();
    let outcome = work();
    ((TAKEN_BYTES.get() - before).max(0) as u64, outcome)
}

fn near(found: u64, told: u64) -> bool {
    found.abs_diff(told) <= told / 100 + 4096
}

/// A drive in steady state that is full of what the host wrote and of what ageing did.
fn aged(flash: &str, codec: &str) -> Disk {
    let (taken, disk) = taken_by(|| disk_like(flash, BLOCKS, 64 << 20, codec));
    let told = disk.tables_bytes();
    // What is set aside for logs is taken as they grow.
    assert!(told <= taken, "{taken} bytes taken, {told} told");
    disk.write(0, &contents(256 * BLOCK, 0.4, 1)).unwrap();
    let ageing = json!({"mode": "uniform", "compressed_to": 0.4, "limit": 3});
    disk.age(&serde_json::from_value(ageing).unwrap()).unwrap();
    disk
}

fn assert_snapshots_are_small(flash: &str, codec: &str) {
    let disk = aged(flash, codec);
    for name in ["one", "two"] {
        let (taken, ()) = taken_by(|| disk.snapshot(name).unwrap());
        let told = disk.with_snapshots(|snapshots| snapshots.last().unwrap().memory_bytes());
        assert!(near(taken, told), "{taken} bytes taken, {told} told");
        assert!(told <= PROMISED_BYTES * BLOCKS, "{told} bytes for {BLOCKS} blocks");
        let (taken, ()) = taken_by(|| disk.restore(name).unwrap());
        assert!(taken < disk.tables_bytes() / 20, "{taken} bytes taken by going back");
    }
    let before = TAKEN_BYTES.get();
    disk.drop_snapshot("one").unwrap();
    disk.drop_snapshot("two").unwrap();
    assert!(before - TAKEN_BYTES.get() > 10 * BLOCKS as i64);
}

#[test]
fn snapshots_of_a_compressing_drive_take_what_is_promised() {
    assert_snapshots_are_small(r#"{"kind": "compressing", "over_provisioning": 0.28}"#, "zstd-1");
}

#[test]
fn snapshots_of_a_normal_drive_take_what_is_promised() {
    assert_snapshots_are_small(r#"{"kind": "page-mapped", "over_provisioning": 0.07}"#, "none");
}
