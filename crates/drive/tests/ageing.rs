//! Ageing changes the modelled flash and nothing that the host reads; recordings hold what was written.

mod common;

use std::fs::File;
use std::path::PathBuf;

use common::{BLOCK, contents, disk, disk_like};
use drive::disk::Clearing;
use drive::disk::ageing::Ageing;
use drive::model::Model;
use flash::random::Random;
use flash::trace::{Codec, Header, Record, Writer};
use serde_json::json;

const SSD: &str = r#"{"kind": "page-mapped", "pages_per_block": 32, "over_provisioning": 0.28}"#;

fn ageing(keys: serde_json::Value) -> Ageing {
    serde_json::from_value(keys).unwrap()
}

fn new_file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("pgassay-drive-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// A trace of writes of what does not compress: first blocks and numbers of blocks.
fn recorded(name: &str, drive_blocks: u32, requests: impl Iterator<Item = (u32, u32)>) -> PathBuf {
    let path = new_file(name);
    let header = Header { codec: Codec::None, codec_level: 0, drive_blocks: drive_blocks.into(), start_unix_ns: 0 };
    let mut writer = Writer::new(File::create(&path).unwrap(), header).unwrap();
    for (first, blocks) in requests {
        writer.push(&Record::write(0, first, vec![4096; blocks as usize])).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// What the flash model settles at when each write goes to one of these blocks, independently of the last.
fn independent(drive_blocks: u32, written: &[u32]) -> f64 {
    let mut model = Model::described(SSD, u64::from(drive_blocks) * BLOCK as u64);
    assert!(model.write(&(0..drive_blocks).collect::<Vec<_>>(), &[]).1.is_none());
    let mut random = Random::new(5);
    let mut drive_write = || {
        let drawn = (0..drive_blocks).map(|_| written[random.below(written.len() as u32) as usize]);
        assert!(model.write(&drawn.collect::<Vec<_>>(), &[]).1.is_none());
        model.drive().counters()
    };
    let settled = (0..10).map(|_| drive_write()).last().unwrap();
    (0..20).map(|_| drive_write()).last().unwrap().since(&settled).write_amplification().unwrap()
}

#[test]
fn a_drive_aged_by_uniform_writes_collects_garbage_as_theory_says() {
    let disk = disk_like(SSD, 32_768, 32 << 20, "none");
    let data = contents(256 * BLOCK, 1.0, 1);
    disk.write(0, &data).unwrap();
    let aged = disk.age(&ageing(json!({"mode": "uniform", "live_share": 1.0, "seed": 7}))).unwrap();
    assert_eq!(aged.filled_blocks, 32_768 - 256);
    let expected = flash::theory::greedy::write_amplification(1.28, 32);
    let seen = aged.write_amplification.unwrap();
    assert!(aged.reached && (seen / expected - 1.0).abs() < 0.02, "{seen} instead of {expected}");
    let mut read = vec![0; data.len()];
    disk.read(0, &mut read).unwrap();
    assert!(read == data);
    let report = disk.check().unwrap();
    assert_eq!((report.problems, report.filler_blocks), (vec![], 32_768 - 256));
}

#[test]
fn a_recorded_load_ages_a_drive_and_leaves_what_it_holds() {
    let path = new_file("recorded");
    let disk = disk(2048, 16 << 20, "zstd-1");
    disk.record(Some(&path)).unwrap();
    assert!(disk.record(Some(&path)).is_err(), "a recording must not overwrite another");
    for round in 0..20 {
        disk.write(round % 7 * 64 * BLOCK as u64, &contents(40 * BLOCK, 0.5, round)).unwrap();
        disk.clear((1500 + round * 4) * BLOCK as u64, 4 * BLOCK as u64, Clearing::Zeroes).unwrap();
    }
    disk.clear(0, 64 * BLOCK as u64, Clearing::Discard).unwrap();
    disk.flush();
    let recorded = disk.record(None).unwrap().unwrap();
    assert_eq!((recorded.records, recorded.written_blocks), (42, 20 * 44));
    let mut before = vec![0; 2048 * BLOCK];
    disk.read(0, &mut before).unwrap();

    let keys = json!({"trace": path, "live_share": 0.9, "compressed_to": 0.5, "tolerance": 0.01, "limit": 40});
    let aged = disk.age(&ageing(keys)).unwrap();
    assert!(aged.filled_blocks > 1000 && aged.drive_writes > 1.0, "{aged:?}");
    let mut after = vec![0; 2048 * BLOCK];
    disk.read(0, &mut after).unwrap();
    assert!(before == after);
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_short_recording_settles_where_independent_writes_of_its_blocks_do() {
    let blocks = 16_384;
    // Each block once and every fifth thrice more, never two neighbours in a row: written again and again in this
    // order, flash would lose its blocks one after the other and nothing would have to be moved.
    let round = |hot: bool| (0..blocks).map(|at| at * 7 % blocks).filter(move |lba| !hot || lba % 5 == 0);
    let written: Vec<u32> = [false, true, true, true].into_iter().flat_map(round).collect();
    let path = recorded("hot", blocks, written.iter().map(|&lba| (lba, 1)));
    let disk = disk_like(SSD, blocks.into(), 16 << 20, "none");
    let aged = disk.age(&ageing(json!({"trace": path, "seed": 3, "until": 0.005, "limit": 60}))).unwrap();
    let (seen, expected) = (aged.write_amplification.unwrap(), independent(blocks, &written));
    assert!(expected > 1.8, "{expected}");
    assert!(aged.reached && (seen / expected - 1.0).abs() < 0.03, "{seen} instead of {expected}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_written_round_and_round_in_sequence_dies_in_sequence() {
    let blocks = 16_384;
    let ring = (0..3).flat_map(|_| (0..blocks / 2).step_by(4)).map(|first| (first, 4));
    let path = recorded("ring", blocks, ring);
    let disk = disk_like(SSD, blocks.into(), 16 << 20, "none");
    let aged = disk.age(&ageing(json!({"trace": path}))).unwrap();
    let seen = aged.write_amplification.unwrap();
    assert!(aged.reached && seen < 1.02, "{seen}");
    assert!(independent(blocks, &(0..blocks / 2).collect::<Vec<_>>()) > 1.4);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let disk = disk(1024, 8 << 20, "lz4");
    let path = new_file("none");
    let wrong = [
        json!({"mode": "fill", "live_share": 0.0}),
        json!({"mode": "fill", "compressibility": 1.5}),
        json!({"mode": "uniform", "until": 0.0}),
        json!({"mode": "trace"}),
        json!({"mode": "trace", "trace": path}),
    ];
    for keys in wrong {
        let error = disk.age(&ageing(keys.clone())).unwrap_err();
        assert_eq!(error.errno(), libc::EINVAL, "{keys}: {error}");
    }
    assert!(serde_json::from_value::<Ageing>(json!({"mode": "fill", "live": 1})).is_err());
    assert_eq!(disk.with_model(|model| model.drive().counters().host_bytes_written), 0);
}
