//! Seeks, turns and transfers against sums done by hand: a disk whose platter turns once in 8 ms, with 8 blocks a track
//! and 100 tracks, each skewed by 1 ms.

use super::{DiskTimes, Mechanics, RotatingDisk};
use crate::timing::device::{Answer, Device, Request};
use crate::trace::Operation::{self, Flush, Read, Write};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn times() -> DiskTimes {
    DiskTimes {
        rotation_ns: 8 * MS,
        track_bytes: 8 * 4096,
        track_switch_ns: MS,
        average_seek_ns: 5 * MS,
        full_seek_ns: 9 * MS,
        write_settle_ns: 0,
        controller_ns: 0,
        link_bytes_per_second: 0,
        queue_depth: 1,
        write_cache: false,
        read_ahead_bytes: 0,
        ..DiskTimes::default()
    }
}

/// Requests at their times; answers in the order in which they are due.
fn served(times: DiskTimes, requests: &[(u64, Operation, u32, u32)]) -> Vec<Answer> {
    let mut disk = RotatingDisk::new(times, 800).unwrap();
    let mut answers = Vec::new();
    for &(at_ns, operation, first, blocks) in requests {
        while let Some(next_ns) = disk.next_ns().filter(|&next_ns| next_ns < at_ns) {
            disk.advance(next_ns);
            answers.extend(std::iter::from_fn(|| disk.answer()));
        }
        disk.submit(&Request::of(operation, at_ns, first, blocks));
    }
    while let Some(next_ns) = disk.next_ns() {
        disk.advance(next_ns);
        answers.extend(std::iter::from_fn(|| disk.answer()));
    }
    assert_eq!(disk.under_way(), 0);
    answers
}

fn due_ns(times: DiskTimes, requests: &[(u64, Operation, u32, u32)]) -> Vec<u64> {
    served(times, requests).iter().map(|answer| answer.due_ns).collect()
}

#[test]
fn a_seek_takes_what_the_data_sheet_says() {
    let mechanics = Mechanics::new(times(), 2400);
    assert_eq!(mechanics.seek_ns(7, 7), 0);
    assert_eq!(mechanics.seek_ns(100, 0), 5 * MS, "a third of 300 tracks");
    assert_eq!(mechanics.seek_ns(0, 300), 9 * MS);
    // root = (4 - 8/3) / (√⅓ - ⅓) = 5.46410 ms, linear = 2.53590 ms; a hundredth of the way: 1 + 0.546410 + 0.025359.
    assert_eq!(mechanics.seek_ns(3, 0), 1_571_769);
    let near = Mechanics::new(DiskTimes { stroke_share: 0.01, ..times() }, 2400);
    assert_eq!(near.seek_ns(0, 300), 1_571_769, "a small partition knows short seeks only");
}

#[test]
fn a_read_waits_for_the_turn() {
    // Block 3 begins to pass at 3 ms and has passed at 4 ms.
    assert_eq!(due_ns(times(), &[(0, Read, 3, 1)]), [4 * MS]);
    // Too late for it at 3.5 ms: it comes again at 11 ms.
    assert_eq!(due_ns(times(), &[(3_500_000, Read, 3, 1)]), [12 * MS]);
    // From track 0 to track 1 at 4 ms: 1.571769 ms; block 8 begins at 1 ms of each turn, so at 9 ms.
    assert_eq!(due_ns(times(), &[(0, Read, 3, 1), (0, Read, 8, 1)]), [4 * MS, 10 * MS]);
}

#[test]
fn what_lies_in_order_loses_no_turn_between_tracks() {
    assert_eq!(due_ns(times(), &[(0, Read, 0, 16)]), [17 * MS], "two turns and a switch");
    assert_eq!(due_ns(times(), &[(0, Read, 6, 4)]), [11 * MS], "6 ms until it comes, 2 blocks, a switch, 2 blocks");
}

#[test]
fn reading_on_saves_turns_until_the_arm_is_needed() {
    let ahead = DiskTimes { read_ahead_bytes: 16 * 4096, ..times() };
    // Block 1 is in the buffer at 2 ms; block 7 comes by at 8 ms.
    assert_eq!(
        due_ns(ahead, &[(0, Read, 0, 1), (2_500_000, Read, 1, 1), (3 * MS, Read, 7, 1)]),
        [MS, 2_500_000, 8 * MS]
    );
    assert_eq!(due_ns(times(), &[(0, Read, 0, 1), (2_500_000, Read, 1, 1)]), [MS, 10 * MS], "without");
    // The arm goes to track 1 at 3 ms: blocks 1 and 2 are in the buffer, block 5 never was.
    let away = due_ns(ahead, &[(0, Read, 0, 1), (3 * MS, Read, 400, 1), (4 * MS, Read, 2, 1), (40 * MS, Read, 5, 1)]);
    assert_eq!(away[1], 4 * MS, "out of the buffer while the arm is away: {away:?}");
    assert!(away[3] > 40 * MS);
}

#[test]
fn a_queue_is_served_in_the_order_of_the_platter() {
    let requests = [(0, Read, 7, 1), (0, Read, 5, 1), (0, Read, 3, 1), (0, Read, 1, 1)];
    let order = |depth| {
        let answers = served(DiskTimes { queue_depth: depth, ..times() }, &requests);
        answers.iter().map(|answer| answer.due_ns).collect::<Vec<_>>()
    };
    assert_eq!(order(1), [8 * MS, 14 * MS, 20 * MS, 26 * MS], "in the order in which they came");
    // The first is begun at once. Then blocks 1, 3 and 5 pass in the next turn.
    assert_eq!(order(32), [8 * MS, 10 * MS, 12 * MS, 14 * MS]);
}

#[test]
fn a_write_cache_answers_at_once_and_a_flush_waits_for_the_platter() {
    let cached = DiskTimes { write_cache: true, ..times() };
    let requests = [(0, Write, 3, 1), (MS, Flush, 0, 0), (2 * MS, Flush, 0, 0), (9 * MS, Flush, 0, 0)];
    let answers = served(cached, &requests);
    let due = |operation| {
        let mine = answers.iter().filter(move |answer| answer.operation == operation);
        mine.map(|answer| answer.due_ns).collect::<Vec<_>>()
    };
    assert_eq!((due(Write), due(Flush)), (vec![0], vec![4 * MS, 4 * MS, 9 * MS]));
    // Without a cache the write itself waits, and a flush for nothing.
    assert_eq!(due_ns(times(), &[(0, Write, 3, 1), (5 * MS, Flush, 0, 0)]), [4 * MS, 5 * MS]);
}

#[test]
fn a_full_write_cache_makes_the_host_wait() {
    let small = DiskTimes { write_cache: true, write_buffer_bytes: 4096, ..times() };
    let answers = served(small, &[(0, Write, 3, 1), (0, Write, 100, 1)]);
    assert_eq!(answers[0].due_ns, 0);
    assert_eq!(answers[1].due_ns, 4 * MS, "when the first has left the buffer");
}

#[test]
fn impossible_disks_are_refused() {
    let refuse = |times: DiskTimes| times.check().unwrap_err().to_string();
    assert!(refuse(DiskTimes { rotation_ns: 0, ..times() }).contains("rotation ns 0"));
    assert!(refuse(DiskTimes { track_bytes: 1000, ..times() }).contains("multiple of 4096"));
    assert!(refuse(DiskTimes { stroke_share: 0.0, ..times() }).contains("stroke share 0"));
    assert!(refuse(DiskTimes { stroke_share: f64::NAN, ..times() }).contains("stroke share"));
    assert!(refuse(DiskTimes { average_seek_ns: 1, ..times() }).contains("average seek"));
    assert!(refuse(DiskTimes { full_seek_ns: 5 * MS, ..times() }).contains("average seek"));
}

fn requests() -> impl Strategy<Value = Vec<(u64, Operation, u32, u32)>> {
    let operation = prop_oneof![Just(Read), Just(Write), Just(Flush)];
    let one = (0..3 * MS, operation, 0_u32..790, 1_u32..10);
    proptest::collection::vec(one, 1..60).prop_map(|gaps| {
        let mut now_ns = 0;
        let at = |(gap_ns, operation, first, blocks)| {
            now_ns += gap_ns;
            (now_ns, operation, first, blocks)
        };
        gaps.into_iter().map(at).collect()
    })
}

proptest! {
    /// Nothing is answered before it came, everything is, and a write that nothing buffers takes at least its transfer.
    #[test]
    fn every_request_is_answered_after_it_came(
        requests in requests(),
        write_cache: bool,
        depth in 1_u32..40,
        ahead in 0_u64..4,
    ) {
        let times = DiskTimes { write_cache, queue_depth: depth, read_ahead_bytes: ahead * 32768, ..times() };
        let answers = served(times, &requests);
        prop_assert_eq!(answers.len(), requests.len());
        for answer in &answers {
            prop_assert!(answer.due_ns >= answer.arrived_ns);
        }
        let mut came: Vec<u64> = requests.iter().map(|request| request.0).collect();
        let mut answered: Vec<u64> = answers.iter().map(|answer| answer.arrived_ns).collect();
        came.sort_unstable();
        answered.sort_unstable();
        prop_assert_eq!(came, answered);
        let media_ns: u64 = requests.iter().filter(|r| r.1 == Write).map(|r| u64::from(r.3) * MS).sum();
        if !write_cache {
            let last_ns = answers.iter().map(|answer| answer.due_ns).max().unwrap();
            prop_assert!(last_ns >= media_ns, "the arm does one thing at a time");
        }
    }

    /// The arm never gains by going further, and no block is more than a turn away once the arm is there.
    #[test]
    fn seeks_rise_with_the_distance(from in 0_u64..100, near in 0_u64..100, far in 0_u64..100) {
        let mechanics = Mechanics::new(times(), 800);
        let (near, far) = if from.abs_diff(near) <= from.abs_diff(far) { (near, far) } else { (far, near) };
        prop_assert!(mechanics.seek_ns(from, near) <= mechanics.seek_ns(from, far));
        prop_assert!(mechanics.positioning_ns(from, far * 8, false, 5) < mechanics.seek_ns(from, far) + 8 * MS);
    }
}
