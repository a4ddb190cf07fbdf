//! Erase counts, wear levelling, the log page and the life of a drive.

mod support;

use flash::ageing::fill;
use flash::life::Life;
use flash::random::Random;
use flash::{
    Compressing, CompressingConfig, Drive, HealthLog, PageMapped, PageMappedConfig, Policy, StaticWearLevelling,
    Streams,
};
use support::{capacity, compressing_config, page_mapped, page_mapped_config};

/// Nine tenths of the blocks are written once; the rest again and again.
fn wear_out<D: Drive>(drive: &mut D) {
    fill(drive, 1.0, |_| 4096).unwrap();
    let blocks = drive.logical_blocks();
    let mut random = Random::new(5);
    for _ in 0..60 * blocks {
        drive.write(random.below(blocks / 10), 4096).unwrap();
    }
}

#[test]
fn cold_data_keep_blocks_young_unless_they_are_moved() {
    let config = page_mapped_config(capacity(128, 32, 0.1, 2), Policy::Greedy, Streams::TWO);
    let levelling = Some(StaticWearLevelling::new(8).unwrap());
    let (mut plain, mut level) = (
        PageMapped::new(config).unwrap(),
        PageMapped::new(PageMappedConfig { wear_levelling: levelling, ..config }).unwrap(),
    );
    wear_out(&mut plain);
    wear_out(&mut level);
    let (uneven, even) = (plain.wear(), level.wear());
    assert!(uneven.max - uneven.min > 100, "{} to {}", uneven.min, uneven.max);
    assert!(even.max - even.min <= 16, "{} to {}", even.min, even.max);
    assert_eq!(plain.counters().wear_levelling_bytes_written, 0);
    assert!(level.counters().wear_levelling_bytes_written > 0);
    assert!(level.counters().nand_bytes_written > plain.counters().nand_bytes_written, "levelling is not free");
    level.verify().unwrap();

    let config = CompressingConfig { wear_levelling: levelling, ..compressing_config(config.capacity, Policy::Greedy) };
    let mut drive = Compressing::new(config).unwrap();
    wear_out(&mut drive);
    assert!(drive.wear().max - drive.wear().min <= 16, "{} to {}", drive.wear().min, drive.wear().max);
    drive.verify().unwrap();
}

#[test]
fn the_log_page_says_what_the_counters_say() {
    let mut drive = page_mapped(128, 32, 0.28, Policy::Greedy);
    wear_out(&mut drive);
    drive.trim(0, drive.logical_blocks() / 2).unwrap();
    let (log, counters, wear) = (HealthLog::read(&drive, 500), drive.counters(), drive.wear());
    assert_eq!(log.host_bytes_written, counters.host_bytes_written);
    assert_eq!(log.nand_bytes_written, counters.nand_bytes_written);
    assert_eq!(log.physical_media_units_written, counters.nand_bytes_written);
    assert_eq!(log.gc_bytes_written, counters.nand_bytes_written - counters.host_bytes_written);
    assert_eq!((log.compression_ratio, log.free_blocks), (100, drive.free_blocks()));
    assert_eq!(log.physical_usage_ratio, (100.0 * 0.5 / 1.28_f64).round() as u32);
    assert_eq!(log.percentage_used, (wear.avg / 5.0) as u32);
    assert_eq!((log.wear_leveling.min, log.wear_leveling.max), (wear.min, wear.max));
    assert_eq!(HealthLog::read(&drive, 1).percentage_used, 255.min((wear.avg * 100.0) as u32));
    let blocks: u32 = wear.histogram(10).iter().map(|(_, blocks)| blocks).sum();
    assert_eq!(blocks as usize, wear.erase_counts.len());
}

#[test]
fn life_ends_when_the_cycles_are_spent() {
    // 1 TB of flash for 3000 cycles bears 3 PB of NAND writes: at write amplification 3, 1 PB from the host.
    let life = Life { rated_cycles: 3000, physical_bytes: 1_000_000_000_000, user_bytes: 800_000_000_000 };
    assert!((life.host_bytes(3.0) - 1e15).abs() < 1.0);
    let a_day = life.drive_writes_per_day(3.0, 5.0);
    assert!((a_day - 1e15 / 8e11 / 1825.0).abs() < 1e-9);
    assert!((life.years(3.0, a_day * 8e11) - 5.0).abs() < 1e-9);
}
