//! The clock against sums that can be done by hand, and what garbage collection must do to latencies.

use super::*;
use crate::capacity::Capacity;
use crate::compressing::{Compressing, CompressingConfig, Throttling};
use crate::drive::Drive;
use crate::error::FlashError;
use crate::gc::Policy;
use crate::geometry::Geometry;
use crate::input::{Input, Pattern, SizeDistribution, Sizes};
use crate::over_provisioning::OverProvisioning;
use crate::page_mapped::{PageMapped, PageMappedConfig};
use crate::streams::Streams;
use crate::trace::{Operation, Record};
use proptest::prelude::*;

/// Sixteen dies; superblocks of 12 MiB.
fn geometry() -> Geometry {
    Geometry { channels: 4, dies_per_channel: 4, planes_per_die: 2, flash_pages_per_block: 24, flash_page_bytes: 16384 }
}

fn capacity() -> Capacity {
    Capacity::of_user(geometry(), 1 << 30, OverProvisioning::of_user(0.28).unwrap(), 2).unwrap()
}

fn page_mapped() -> PageMapped<OperationLog> {
    let config = PageMappedConfig {
        capacity: capacity(),
        policy: Policy::Greedy,
        streams: Streams::TWO,
        wear_levelling: None,
        seed: 1,
    };
    PageMapped::watched(config, OperationLog::default()).unwrap()
}

fn uniform(blocks: u32, seed: u64) -> Input {
    Input::whole_drive(blocks, Pattern::Uniform, Sizes::incompressible(), seed).unwrap()
}

/// Filled and overwritten, unseen by the log.
fn aged() -> PageMapped<OperationLog> {
    let mut drive = page_mapped();
    let blocks = drive.logical_blocks();
    let fill: Vec<u32> = (0..blocks).collect();
    drive.write_batch(&fill, &[]).unwrap();
    uniform(blocks, 5).apply(&mut drive, 3 * u64::from(blocks)).unwrap();
    drive
}

fn run<D: Drive<Observer = OperationLog>>(
    mut drive: D,
    service: ServiceTimes,
    mut load: Load,
    arrivals: Arrivals,
) -> (TimingReport, D) {
    let mut simulation = Simulation::new(&mut drive, geometry(), service, 1).unwrap();
    let report = simulation.run(|record| Ok::<_, FlashError>(load.next(record)), arrivals).unwrap();
    (report, drive)
}

fn one(record: &Record, mut drive: PageMapped<OperationLog>) -> TimingReport {
    let mut left = Some(record.clone());
    let mut simulation = Simulation::new(&mut drive, geometry(), ServiceTimes::default(), 1).unwrap();
    let next = |slot: &mut Record| Ok::<_, FlashError>(left.take().map(|record| *slot = record).is_some());
    simulation.run(next, Arrivals::Recorded).unwrap()
}

#[test]
fn an_idle_drive_takes_the_service_times() {
    let service = ServiceTimes::default();
    let read = Record { operation: Operation::Read, first_block: 9, blocks: 1, time_ns: 77, ..Record::default() };
    let report = one(&read, aged());
    let expected = service.read_ns + service.transfer_ns(4096) + service.controller_ns;
    assert_eq!((report.reads.count(), report.reads.max_ns(), report.duration_ns), (1, expected, expected));

    let report = one(&Record::write(0, 9, vec![4096]), aged());
    assert_eq!(report.writes.max_ns(), service.controller_ns, "the buffer answers");
    let report = one(&read, page_mapped());
    assert_eq!(report.reads.max_ns(), service.controller_ns, "nothing written, nothing to sense");
}

#[test]
fn a_long_read_uses_all_dies_at_once() {
    let mut drive = page_mapped();
    let fill: Vec<u32> = (0..drive.logical_blocks()).collect();
    drive.write_batch(&fill, &[]).unwrap();
    // 16 flash pages of 4 blocks: one on each die, four on each channel.
    let read = Record { operation: Operation::Read, first_block: 0, blocks: 64, ..Record::default() };
    let service = ServiceTimes::default();
    let expected = service.read_ns + 4 * service.transfer_ns(16384) + service.controller_ns;
    assert_eq!(one(&read, drive).reads.max_ns(), expected);
}

#[test]
fn sequential_writes_run_at_the_speed_of_the_dies() {
    let service = ServiceTimes::default();
    let drive = page_mapped();
    let blocks = drive.logical_blocks();
    let input = Input::whole_drive(blocks, Pattern::Sequential, Sizes::incompressible(), 1).unwrap();
    let load = Load::new(input, u64::from(blocks), 0.0, None, 1).unwrap();
    let (report, _) = run(drive, service, load, Arrivals::Closed { queue_depth: 32 });
    let unit_bytes = 2 * 3 * 16384;
    let bound_ns = f64::from(blocks) * 4096.0 / (16.0 * unit_bytes as f64)
        * (service.program_ns + service.transfer_ns(unit_bytes)) as f64;
    let ratio = report.drained_ns as f64 / bound_ns;
    // Dies may wait for their channel; the last incomplete unit stays in the buffer.
    assert!((0.99..1.1).contains(&ratio), "{ratio} of the time that the dies need");
    assert!(report.stalled_writes > 0);
}

#[test]
fn random_writes_pay_for_garbage_collection() {
    let drive = aged();
    let before = drive.counters();
    let load = Load::new(uniform(drive.logical_blocks(), 9), 300_000, 0.0, None, 1).unwrap();
    let (report, drive) = run(drive, ServiceTimes::default(), load, Arrivals::Closed { queue_depth: 64 });
    let window = drive.counters().since(&before);
    let service = ServiceTimes::default();
    let units = window.nand_bytes_written / (2 * 3 * 16384);
    let least_ns = units * service.program_ns;
    assert!(report.busy.programs_ns > least_ns * 9 / 10, "{} of at least {least_ns}", report.busy.programs_ns);
    assert_eq!(report.busy.erases_ns % service.erase_ns, 0);
    let erased = report.busy.erases_ns / service.erase_ns / 16;
    assert!(erased.abs_diff(window.blocks_erased) <= 2, "{erased} of {} erases", window.blocks_erased);
    let all = report.busy;
    let busy = all.gc_reads_ns + all.programs_ns + all.erases_ns + all.host_reads_ns;
    let utilisation = busy as f64 / (report.drained_ns as f64 * 16.0);
    assert!((0.8..=1.0).contains(&utilisation), "writes without pause keep the dies busy: {utilisation}");
}

#[test]
fn reads_feel_the_writes_behind_which_they_wait() {
    let reads = |share| {
        let drive = aged();
        let load = Load::new(uniform(drive.logical_blocks(), 9), 60_000, share, Some(40_000.0), 1).unwrap();
        run(drive, ServiceTimes::default(), load, Arrivals::Recorded).0.reads
    };
    let (alone, mixed) = (reads(1.0), reads(0.5));
    let service = ServiceTimes::default();
    assert!(alone.quantile_ns(0.5).unwrap() < 2 * service.read_ns);
    assert!(mixed.quantile_ns(0.99).unwrap() > service.program_ns / 2, "a read waits for a program");
    assert!(mixed.max_ns() > service.erase_ns / 2, "some read waits for an erase");
    assert!(mixed.quantile_ns(0.99) > alone.quantile_ns(0.99));
}

#[test]
fn paced_collection_shortens_the_longest_write() {
    let writes = |gc_pacing| {
        let drive = aged();
        let load = Load::new(uniform(drive.logical_blocks(), 9), 200_000, 0.0, Some(50_000.0), 1).unwrap();
        let service = ServiceTimes { gc_pacing, write_buffer_bytes: 4 << 20, ..ServiceTimes::default() };
        run(drive, service, load, Arrivals::Recorded).0.writes
    };
    let (paced, burst) = (writes(GcPacing::Paced), writes(GcPacing::Burst));
    assert!(paced.max_ns() < burst.max_ns(), "{} and {}", paced.max_ns(), burst.max_ns());
    assert_eq!(paced.count(), 200_000);
}

#[test]
fn a_drive_that_compresses_writes_faster() {
    let duration = |bytes| {
        let config = CompressingConfig {
            capacity: capacity(),
            logical_blocks: capacity().user_blocks(),
            granularity: 1,
            straddling: true,
            policy: Policy::Greedy,
            streams: Streams::TWO,
            wear_levelling: None,
            throttling: Throttling::default(),
            seed: 1,
        };
        let drive = Compressing::watched(config, OperationLog::default()).unwrap();
        let sizes = Sizes::same(SizeDistribution::Constant(bytes));
        let input = Input::whole_drive(drive.logical_blocks(), Pattern::Uniform, sizes, 3).unwrap();
        let load = Load::new(input, 200_000, 0.0, None, 1).unwrap();
        run(drive, ServiceTimes::default(), load, Arrivals::Closed { queue_depth: 64 }).0.duration_ns
    };
    let ratio = duration(1024) as f64 / duration(4096) as f64;
    assert!((0.15..0.35).contains(&ratio), "a quarter of the bytes took {ratio} of the time");
}

#[test]
fn the_same_run_twice_is_the_same() {
    let report = || {
        let drive = aged();
        let load = Load::new(uniform(drive.logical_blocks(), 9), 30_000, 0.3, Some(60_000.0), 4).unwrap();
        run(drive, ServiceTimes::default(), load, Arrivals::Recorded).0
    };
    assert_eq!(report(), report());
}

#[test]
fn impossible_times_are_refused() {
    let refuse = |service: ServiceTimes| service.check(&geometry()).unwrap_err().to_string();
    let small = ServiceTimes { write_buffer_bytes: 4096, ..ServiceTimes::default() };
    assert!(refuse(small).contains("write buffer bytes 4096: must be at least 1572864"));
    assert!(refuse(ServiceTimes { pages_per_program: 25, ..ServiceTimes::default() }).contains("24 flash pages"));
    assert!(refuse(ServiceTimes { channel_bytes_per_second: 0, ..ServiceTimes::default() }).contains("greater than 0"));
    let mut drive = page_mapped();
    let mut simulation = Simulation::new(&mut drive, geometry(), ServiceTimes::default(), 1).unwrap();
    let past = Record::write(0, page_mapped().logical_blocks(), vec![1]);
    let mut once = Some(past);
    let next = |slot: &mut Record| Ok::<_, FlashError>(once.take().map(|record| *slot = record).is_some());
    assert!(matches!(simulation.run(next, Arrivals::Recorded), Err(FlashError::PastEnd { .. })));
}

proptest! {
    #[test]
    fn quantiles_are_within_one_per_cent(
        mut values in proptest::collection::vec(any::<u64>(), 1..300),
        bits in 0_u32..64,
    ) {
        values.iter_mut().for_each(|value| *value >>= bits);
        let mut latencies = Latencies::default();
        values.iter().for_each(|&value| latencies.record(value));
        values.sort_unstable();
        for share in [0.0, 0.5, 0.9, 0.99, 1.0] {
            let exact = values[((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1];
            let quantile = latencies.quantile_ns(share).unwrap();
            prop_assert!(quantile >= exact && quantile as f64 <= exact as f64 * 1.01 + 1.0, "{quantile} for {exact}");
        }
        prop_assert_eq!(latencies.max_ns(), *values.last().unwrap());
        prop_assert_eq!(latencies.histogram().iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
    }
}
