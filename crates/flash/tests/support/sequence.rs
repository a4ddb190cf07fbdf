//! Random sequences of requests, and the drives they are sent to.

use std::collections::BTreeMap;

use flash::streams::GcStream;
use flash::{Capacity, Drive, FlashError, Geometry, OverProvisioning, Policy, StaticWearLevelling, Streams};
use proptest::prelude::*;

use super::witness::{Witness, check};

/// A request; addresses are shares of the drive, so that one sequence suits drives of any size.
#[derive(Debug, Clone)]
pub enum Request {
    Write { place: f64, bytes: u32, handle: u8 },
    Batch { places: Vec<f64>, bytes: u16 },
    Trim { place: f64, share: f64 },
}

pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    let bytes = prop_oneof![1 => Just(0_u32), 4 => 1..=4096_u32, 2 => Just(4096_u32)];
    // Squaring makes low addresses hot.
    let place = (0.0..1.0_f64).prop_map(|place| place * place);
    let request = prop_oneof![
        8 => (place.clone(), bytes, 0..4_u8).prop_map(|(place, bytes, handle)| Request::Write { place, bytes, handle }),
        6 => (prop::collection::vec(place.clone(), 1..80), 0..=4096_u16)
            .prop_map(|(places, bytes)| Request::Batch { places, bytes }),
        1 => (place, 0.0..0.4_f64).prop_map(|(place, share)| Request::Trim { place, share }),
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

/// Sends a sequence to a drive and checks it after each request. `stored` gives the bytes that a write leaves on flash;
/// `verify` is the drive's own check.
pub fn run<D: Drive<Observer = Witness>>(
    drive: &mut D,
    requests: &[Request],
    stored: impl Fn(u32) -> u32,
    verify: impl Fn(&D) -> Result<(), String>,
) {
    let blocks = drive.logical_blocks();
    let address = |place: f64| (place * f64::from(blocks)) as u32;
    let mut written = BTreeMap::new();
    for request in requests {
        match *request {
            Request::Write { place, bytes, handle } => {
                let lba = address(place);
                match drive.write_placed(lba, bytes, handle) {
                    Ok(()) => {
                        written.insert(lba, stored(bytes));
                    }
                    Err(FlashError::Placement { .. } | FlashError::OutOfSpace { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Request::Batch { ref places, bytes } => {
                let lbas: Vec<u32> = places.iter().map(|&place| address(place)).collect();
                let before = drive.counters().host_blocks_written();
                let result = drive.write_batch(&lbas, &vec![bytes; lbas.len()]);
                let done = (drive.counters().host_blocks_written() - before) as usize;
                match result {
                    Ok(()) => assert_eq!(done, lbas.len()),
                    Err(FlashError::OutOfSpace { lba, .. }) => assert_eq!(lbas[done], lba),
                    Err(error) => panic!("{error}"),
                }
                written.extend(lbas[..done].iter().map(|&lba| (lba, stored(u32::from(bytes)))));
            }
            Request::Trim { place, share } => {
                let lba = address(place);
                let count = ((f64::from(blocks) * share) as u32).min(blocks - lba);
                drive.trim(lba, count).unwrap();
                written.retain(|&other, _| other < lba || other >= lba + count);
            }
        }
        verify(drive).unwrap();
        check(drive, &written);
    }
}

/// Sends one request to a drive; an error is part of the answer.
pub fn send<D: Drive>(drive: &mut D, request: &Request) -> Result<(), FlashError> {
    let blocks = drive.logical_blocks();
    let address = |place: f64| (place * f64::from(blocks)) as u32;
    match *request {
        Request::Write { place, bytes, handle } => drive.write_placed(address(place), bytes, handle),
        Request::Batch { ref places, bytes } => {
            let lbas: Vec<u32> = places.iter().map(|&place| address(place)).collect();
            drive.write_batch(&lbas, &vec![bytes; lbas.len()])
        }
        Request::Trim { place, share } => {
            let lba = address(place);
            drive.trim(lba, ((f64::from(blocks) * share) as u32).min(blocks - lba))
        }
    }
}
