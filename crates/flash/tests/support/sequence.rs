//! Random sequences of requests, and the drives they are sent to.

use std::collections::BTreeMap;

use flash::ageing::{fill, overwrite};
use flash::random::Random;
use flash::streams::GcStream;
use flash::{Capacity, Drive, FlashError, Geometry, OverProvisioning, Policy, StaticWearLevelling, Streams};
use proptest::prelude::*;

/// A request; addresses are shares of the drive, so that one sequence suits drives of any size.
#[derive(Debug, Clone)]
pub enum Request {
    Write { place: f64, bytes: u32, handle: u8 },
    Batch { places: Vec<f64>, bytes: u16 },
    Trim { place: f64, share: f64 },
    Age { used: f64, drive_writes: f64, bytes: u16 },
}

pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    let bytes = prop_oneof![1 => Just(0_u32), 4 => 1..=4096_u32, 2 => Just(4096_u32)];
    // Squaring makes low addresses hot.
    let place = (0.0..1.0_f64).prop_map(|place| place * place);
    let request = prop_oneof![
        16 => (place.clone(), bytes, 0..4_u8)
            .prop_map(|(place, bytes, handle)| Request::Write { place, bytes, handle }),
        12 => (prop::collection::vec(place.clone(), 1..80), 0..=4096_u16)
            .prop_map(|(places, bytes)| Request::Batch { places, bytes }),
        2 => (place, 0.0..0.4_f64).prop_map(|(place, share)| Request::Trim { place, share }),
        1 => (0.01..1.0_f64, 0.0..1.5_f64, 0..=4096_u16)
            .prop_map(|(used, drive_writes, bytes)| Request::Age { used, drive_writes, bytes }),
    ];
    prop::collection::vec(request, 1..120)
}

/// What both kinds of drive are made of.
#[derive(Debug, Clone)]
pub struct Shape {
    pub capacity: Capacity,
    pub policy: Policy,
    pub streams: Streams,
    pub wear_levelling: Option<StaticWearLevelling>,
}

/// Drives of a few blocks, of `least_pages` flash pages and a few more.
pub fn shapes(least_pages: u32) -> impl Strategy<Value = Shape> {
    let policy = prop_oneof![
        Just(Policy::Greedy),
        Just(Policy::CostBenefit),
        Just(Policy::Fifo),
        (1..6_u32).prop_map(|d| Policy::DChoices { d }),
        Just(Policy::Random),
    ];
    let gc = prop_oneof![Just(GcStream::WithHost), Just(GcStream::Own), Just(GcStream::PerHandle)];
    let streams = (1..4_u8, gc).prop_map(|(handles, gc)| Streams::new(handles, gc).unwrap());
    let wear = prop::option::of((2..5_u32).prop_map(|threshold| StaticWearLevelling::new(threshold).unwrap()));
    let geometry = (1..3_u32, 0..5_u32, 1..3_u32).prop_map(move |(channels, pages, units)| Geometry {
        channels,
        dies_per_channel: 1,
        planes_per_die: 1,
        flash_pages_per_block: pages + least_pages,
        flash_page_bytes: units * 4096,
    });
    (geometry, 4..24_u32, 0.02..1.5_f64, 2..5_u32, policy, streams, wear).prop_filter_map(
        "no block to spare",
        |(geometry, blocks, over_provisioning, reserve, policy, streams, wear_levelling)| {
            let user_bytes = u64::from(blocks) * geometry.superblock_bytes();
            let over_provisioning = OverProvisioning::of_user(over_provisioning).unwrap();
            let capacity = Capacity::of_user(geometry, user_bytes, over_provisioning, reserve).ok()?;
            Some(Shape { capacity, policy, streams, wear_levelling })
        },
    )
}

/// Sends a sequence to a drive and has it inspected after each request, beside what the host has written: address →
/// bytes on flash. `stored` gives the bytes that a write leaves there.
pub fn run<D: Drive>(
    drive: &mut D,
    requests: &[Request],
    stored: impl Fn(u32) -> u32,
    inspect: impl Fn(&D, &BTreeMap<u32, u32>),
) {
    let mut written = BTreeMap::new();
    for request in requests {
        let before = drive.counters().host_blocks_written();
        let (asked, result) = send(drive, request);
        let done = (drive.counters().host_blocks_written() - before) as usize;
        match result {
            Ok(()) => assert_eq!(done, asked.len()),
            Err(FlashError::OutOfSpace { lba, .. }) => assert_eq!(asked[done].0, lba),
            Err(FlashError::Placement { .. }) => assert_eq!(done, 0),
            Err(error) => panic!("{error}"),
        }
        written.extend(asked[..done].iter().map(|&(lba, bytes)| (lba, stored(bytes))));
        if let Request::Trim { place, share } = *request {
            let (lba, count) = trimmed(drive.logical_blocks(), place, share);
            written.retain(|&other, _| other < lba || other >= lba + count);
        }
        inspect(drive, &written);
    }
}

/// The writes that a request asked for, in order, and what came of it: an error is part of the answer.
pub type Sent = (Vec<(u32, u32)>, Result<(), FlashError>);

/// Sends one request to a drive.
pub fn send<D: Drive>(drive: &mut D, request: &Request) -> Sent {
    let blocks = drive.logical_blocks();
    let address = |place: f64| (place * f64::from(blocks)) as u32;
    match *request {
        Request::Write { place, bytes, handle } => {
            let lba = address(place);
            (vec![(lba, bytes)], drive.write_placed(lba, bytes, handle))
        }
        Request::Batch { ref places, bytes } => {
            let lbas: Vec<u32> = places.iter().map(|&place| address(place)).collect();
            let asked = lbas.iter().map(|&lba| (lba, u32::from(bytes))).collect();
            (asked, drive.write_batch(&lbas, &vec![bytes; lbas.len()]))
        }
        Request::Trim { place, share } => {
            let (lba, count) = trimmed(blocks, place, share);
            (Vec::new(), drive.trim(lba, count))
        }
        Request::Age { used, drive_writes, bytes } => age(drive, used, drive_writes, bytes),
    }
}

/// Ages a drive that may have been written before. What a batch asked for after the write that failed is asked for too.
fn age<D: Drive>(drive: &mut D, used: f64, drive_writes: f64, bytes: u16) -> Sent {
    let mut asked = Vec::new();
    let mut size = |lba| {
        asked.push((lba, u32::from(bytes)));
        bytes
    };
    let mut result = fill(drive, used, &mut size);
    if result.is_ok() {
        result = overwrite(drive, used, drive_writes, &mut size, &mut Random::new(3));
    }
    (asked, result)
}

fn trimmed(blocks: u32, place: f64, share: f64) -> (u32, u32) {
    let lba = (place * f64::from(blocks)) as u32;
    (lba, ((f64::from(blocks) * share) as u32).min(blocks - lba))
}
