//! A flash drive against the clock, request by request: what must hold whatever is asked of it.

use super::operations::OperationLog;
use super::{Answer, Device, FlashDevice, Request, ServiceTimes};
use crate::capacity::Capacity;
use crate::drive::Drive;
use crate::gc::Policy;
use crate::geometry::Geometry;
use crate::over_provisioning::OverProvisioning;
use crate::page_mapped::{PageMapped, PageMappedConfig};
use crate::streams::Streams;
use crate::trace::Operation::{self, Flush, Read, Write};
use proptest::prelude::*;

/// Four dies on two channels; superblocks of 384 KiB.
const GEOMETRY: Geometry =
    Geometry { channels: 2, dies_per_channel: 2, planes_per_die: 1, flash_pages_per_block: 6, flash_page_bytes: 16384 };

const BLOCKS: u32 = 4096;

/// A drive and its device, as a host with a clock uses them.
struct Bench {
    drive: PageMapped<OperationLog>,
    device: FlashDevice,
    service: ServiceTimes,
}

impl Bench {
    fn new(service: ServiceTimes) -> Self {
        let user_bytes = u64::from(BLOCKS) * 4096;
        let over_provisioning = OverProvisioning::of_user(0.28).unwrap();
        let capacity = Capacity::of_user(GEOMETRY, user_bytes, over_provisioning, 2).unwrap();
        let config =
            PageMappedConfig { capacity, policy: Policy::Greedy, streams: Streams::TWO, wear_levelling: None, seed: 1 };
        let mut drive = PageMapped::watched(config, OperationLog::default()).unwrap();
        let all: Vec<u32> = (0..BLOCKS).collect();
        drive.write_batch(&all, &[]).unwrap();
        drive.observer_mut().watch(true);
        Self { drive, device: FlashDevice::new(GEOMETRY, service).unwrap(), service }
    }

    fn ask(&mut self, arrived_ns: u64, operation: Operation, first: u32, blocks: u32) -> u32 {
        let range = first..first + blocks;
        let mut places = Vec::new();
        match operation {
            Read => places.extend(range.filter_map(|lba| self.drive.locate(lba))),
            Write => self.drive.write_batch(&range.collect::<Vec<u32>>(), &[]).unwrap(),
            _ => {}
        }
        let mut calls = Vec::new();
        self.drive.observer_mut().swap(&mut calls);
        let request = Request { places: &places, calls: &calls, ..Request::of(operation, arrived_ns, first, blocks) };
        self.device.submit(&request)
    }

    /// Everything that is due until then, waking up only when the device says that an answer may be.
    fn until(&mut self, time_ns: u64) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(from_ns) = self.device.answers_from_ns().filter(|&from_ns| from_ns <= time_ns) {
            self.device.advance(from_ns);
            answers.extend(std::iter::from_fn(|| self.device.answer()));
        }
        self.device.advance(time_ns);
        assert_eq!(self.device.answer(), None, "an answer before the device said that there might be one");
        answers
    }

    fn rest(&mut self) -> Vec<Answer> {
        self.until(u64::MAX / 2)
    }
}

fn sata() -> ServiceTimes {
    ServiceTimes {
        power_loss_protection: false,
        link_bytes_per_second: 500_000_000,
        compression_bytes_per_second: 1_000_000_000,
        decompression_bytes_per_second: 2_000_000_000,
        write_buffer_bytes: 512 << 10,
        ..ServiceTimes::default()
    }
}

#[test]
fn link_and_engines_take_their_time() {
    let service = sata();
    let mut bench = Bench::new(service);
    bench.ask(1000, Read, 7, 1);
    let [read] = bench.rest()[..] else { panic!("one answer") };
    // 4096 bytes: 8.192 µs on the link, 2.048 µs to decompress, 4.096 µs to compress.
    let expected = service.read_ns + service.transfer_ns(4096) + 8192 + 2048 + service.controller_ns;
    assert_eq!((read.due_ns, read.arrived_ns), (1000 + expected, 1000));
    let mut bench = Bench::new(service);
    bench.ask(0, Write, 7, 1);
    bench.ask(0, Write, 8, 1);
    let due: Vec<u64> = bench.rest().iter().map(|answer| answer.due_ns).collect();
    assert_eq!(due, [8192 + 4096 + 8000, 2 * 8192 + 4096 + 8000], "one after the other over the link");
}

#[test]
fn a_flush_empties_a_buffer_that_would_not_survive() {
    let service = sata();
    let mut bench = Bench::new(service);
    bench.ask(0, Flush, 0, 0);
    bench.ask(50_000, Write, 7, 1);
    bench.ask(100_000, Flush, 0, 0);
    bench.ask(200_000, Flush, 0, 0);
    let due: Vec<u64> = bench.rest().iter().map(|answer| answer.due_ns).collect();
    // A program of one flash page of 16 KiB, the rest of it padding.
    let programmed = 100_000 + service.transfer_ns(16384) + service.program_ns + service.controller_ns;
    assert_eq!((due[0], &due[2..]), (service.controller_ns, &[programmed, programmed][..]));
    assert_eq!(bench.device.buffered_bytes(), 0);

    let protected = ServiceTimes { power_loss_protection: true, ..service };
    let mut bench = Bench::new(protected);
    bench.ask(0, Write, 7, 1);
    bench.ask(100_000, Flush, 0, 0);
    assert_eq!(bench.rest()[1].due_ns, 100_000 + service.controller_ns);
}

#[test]
fn slices_of_a_block_are_erased_together() {
    let erases = |erase_every| {
        let service = ServiceTimes { erase_every, ..ServiceTimes::default() };
        let mut bench = Bench::new(service);
        for turn in 0..20_000_u64 {
            bench.ask(turn * 1_000_000, Write, (turn * 2_654_435_761 % u64::from(BLOCKS)) as u32, 1);
        }
        bench.rest();
        bench.device.busy().erases_ns / service.erase_ns
    };
    let (each, fourth) = (erases(1), erases(4));
    assert!(each > 100 && (each / 4).abs_diff(fourth) <= 4, "{each} and {fourth}");
}

#[test]
fn a_request_that_is_told_late_is_charged_from_its_arrival() {
    let mut bench = Bench::new(ServiceTimes::default());
    bench.until(5_000_000);
    bench.ask(4_990_000, Write, 7, 1);
    bench.ask(1_000, Flush, 0, 0);
    let due: Vec<u64> = bench.until(5_000_000).iter().map(|answer| answer.due_ns).collect();
    assert_eq!(due, [4_998_000], "past already");
    assert_eq!(bench.rest()[0].due_ns, 5_008_000, "the device was busy being idle until it was told");
}

fn requests() -> impl Strategy<Value = Vec<(u64, Operation, u32, u32)>> {
    let operation = prop_oneof![3 => Just(Read), 6 => Just(Write), 1 => Just(Flush)];
    proptest::collection::vec((0..60_000_u64, operation, 0..BLOCKS - 64, 1_u32..64), 1..200)
}

fn services() -> impl Strategy<Value = ServiceTimes> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(power_loss_protection, reads_first, piped)| ServiceTimes {
        power_loss_protection,
        reads_first,
        ..if piped { sata() } else { ServiceTimes { write_buffer_bytes: 512 << 10, ..ServiceTimes::default() } }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nothing is answered before it came, or missed, and the dies do what the drive decided on.
    #[test]
    fn time_only_goes_forward_and_no_work_is_lost(requests in requests(), service in services()) {
        let mut bench = Bench::new(service);
        let (mut now_ns, mut answers) = (0, Vec::new());
        let before = bench.drive.counters();
        for &(gap_ns, operation, first, blocks) in &requests {
            now_ns += gap_ns;
            answers.extend(bench.until(now_ns));
            bench.ask(now_ns, operation, first, blocks);
        }
        answers.extend(bench.rest());
        prop_assert_eq!((answers.len(), bench.device.under_way()), (requests.len(), 0));
        let sensed_ns = bench.service.read_ns;
        for answer in &answers {
            let least_ns = match answer.operation {
                Read => sensed_ns + service.controller_ns,
                _ => service.controller_ns,
            };
            prop_assert!(answer.due_ns >= answer.arrived_ns + least_ns, "{answer:?}");
        }
        prop_assert!(answers.is_sorted_by_key(|answer| answer.due_ns));
        // A flush so late that nothing is left to happen: all that the host wrote is out of the buffer.
        if !service.power_loss_protection {
            bench.ask(u64::MAX / 2, Flush, 0, 0);
            bench.until(u64::MAX / 2 + 1_000_000_000);
            prop_assert_eq!(bench.device.buffered_bytes(), 0);
        }
        let window = bench.drive.counters().since(&before);
        let busy = bench.device.busy();
        prop_assert_eq!(busy.erases_ns % service.erase_ns, 0);
        prop_assert!(busy.erases_ns / service.erase_ns <= window.blocks_erased * 4);
        let least_programs = window.host_bytes_written.saturating_sub(bench.device.buffered_bytes()) / (3 * 16384);
        prop_assert!(busy.programs_ns >= least_programs * service.program_ns);
    }

    #[test]
    fn reads_of_one_die_keep_their_order(
        lbas in proptest::collection::vec(0..BLOCKS, 1..50),
        gap_ns in 0..100_000_u64,
    ) {
        let mut bench = Bench::new(ServiceTimes::default());
        let mut die_of = std::collections::HashMap::new();
        let mut answers = Vec::new();
        for (turn, &lba) in (0..).zip(&lbas) {
            answers.extend(bench.until(turn * gap_ns));
            let place = GEOMETRY.place(bench.drive.locate(lba).unwrap().offset);
            // Arrival times tell requests apart.
            die_of.insert(turn * gap_ns + turn, (place.channel, place.die));
            bench.ask(turn * gap_ns + turn, Read, lba, 1);
        }
        answers.extend(bench.rest());
        let mut last = std::collections::HashMap::new();
        for answer in answers {
            let die = die_of[&answer.arrived_ns];
            let before = last.insert(die, (answer.arrived_ns, answer.due_ns)).unwrap_or((0, 0));
            prop_assert!(answer.arrived_ns >= before.0 && answer.due_ns > before.1);
        }
    }
}
