//! Buckets that conform and waste nothing, and the rates that a volume's caps, credits and latency leave.

use proptest::prelude::*;

use super::{TokenBucket, Volume, VolumeTimes};
use crate::timing::{Device, Request};
use crate::trace::Operation;

const SECOND: u64 = 1_000_000_000;

/// What never waits behind anything but the caps.
fn near(iops: u64) -> VolumeTimes {
    VolumeTimes { iops, latency_ns: 0, tail_ns: 0, ..VolumeTimes::default() }
}

/// Requests of a closed loop of so many clients that were answered within `until_ns`.
fn closed_loop(volume: &mut Volume, clients: u32, operation: Operation, blocks: u32, until_ns: u64) -> u64 {
    for _ in 0..clients {
        volume.submit(&Request::of(operation, 0, 0, blocks));
    }
    let mut answered = 0;
    while let Some(next_ns) = volume.next_ns().filter(|&next_ns| next_ns <= until_ns) {
        volume.advance(next_ns);
        while volume.answer().is_some() {
            answered += 1;
            volume.submit(&Request::of(operation, next_ns, 0, blocks));
        }
    }
    volume.advance(until_ns);
    answered
}

/// Within 2 %.
fn assert_near(found: u64, wanted: u64) {
    assert!(found.abs_diff(wanted) * 50 <= wanted, "{found}, and not {wanted}");
}

proptest! {
    #[test]
    fn a_bucket_passes_what_flows_in_and_what_it_holds(
        per_second in 1_u64..3_000_000, size in 1_u64..5000,
        comings in prop::collection::vec((0_u64..SECOND / 50, 1_u64..5000), 1..60),
    ) {
        let mut bucket = TokenBucket::new(per_second, size);
        let (mut from_ns, mut passed) = (0, Vec::new());
        for (after_ns, tokens) in comings {
            from_ns += after_ns;
            let tokens = tokens.min(size);
            let came_ns = passed.last().map_or(from_ns, |&(last_ns, _): &(u64, u64)| last_ns.max(from_ns));
            let there = bucket.tokens(came_ns);
            let at_ns = bucket.pass(from_ns, tokens);
            // Work-conserving: nothing waits for tokens that are there, and after a wait none is left over.
            prop_assert!(at_ns >= came_ns);
            prop_assert_eq!(at_ns == came_ns, there >= tokens);
            if at_ns > came_ns {
                let early = u128::from(at_ns - 1 - came_ns) * u128::from(per_second);
                prop_assert!(early < u128::from(tokens - there) * u128::from(SECOND));
                prop_assert!(u128::from(bucket.tokens(at_ns)) * u128::from(SECOND) <= u128::from(per_second));
            }
            passed.push((at_ns, tokens));
        }
        // Conforming: in any window, no more than flowed in and the bucket held. Times are whole nanoseconds.
        for first in 0..passed.len() {
            let mut sum = 0_u128;
            for &(at_ns, tokens) in &passed[first..] {
                sum += u128::from(tokens);
                let window_ns = u128::from(at_ns - passed[first].0) + 1;
                let most = u128::from(size) * u128::from(SECOND) + u128::from(per_second) * window_ns;
                prop_assert!(sum * u128::from(SECOND) <= most, "{} in {} ns", sum, window_ns);
            }
        }
    }

    #[test]
    fn a_volume_answers_each_request_once_and_never_early(
        requests in prop::collection::vec((0_u64..3_000_000, 0_usize..5, 1_u32..256), 1..200), depth in 1_u32..8,
    ) {
        let kinds = [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim, Operation::WriteZeroes];
        let times = VolumeTimes { iops: 400, burst_ios: 50, queue_depth: depth, ..VolumeTimes::default() };
        let mut volume = Volume::new(times).unwrap();
        let (mut now_ns, mut answers) = (0, 0);
        for &(after_ns, kind, blocks) in &requests {
            now_ns += after_ns;
            volume.submit(&Request::of(kinds[kind], now_ns, 0, blocks));
        }
        while let Some(next_ns) = volume.next_ns() {
            volume.advance(next_ns);
            while let Some(answer) = volume.answer() {
                answers += 1;
                let least_ns = if answer.operation == Operation::Flush { times.flush_ns } else { times.latency_ns };
                prop_assert!(answer.due_ns >= answer.arrived_ns + least_ns);
            }
        }
        prop_assert_eq!((answers, volume.under_way()), (requests.len(), 0));
        let limits = volume.limits().unwrap();
        for part_ns in [limits.ios_limited_ns, limits.bytes_limited_ns, limits.without_credits_ns.unwrap()] {
            prop_assert!(part_ns <= limits.elapsed_ns);
        }
    }
}

#[test]
fn small_requests_go_by_the_cap_of_ios_and_large_ones_by_that_of_throughput() {
    let mut volume = Volume::new(near(3000)).unwrap();
    assert_near(closed_loop(&mut volume, 32, Operation::Read, 2, 10 * SECOND), 30_000);
    let limits = volume.limits().unwrap();
    assert_near(limits.ios_limited_ns, 10 * SECOND);
    assert_eq!((limits.bytes_limited_ns, limits.credits_left), (0, None));

    let mut volume = Volume::new(near(3000)).unwrap();
    assert_near(closed_loop(&mut volume, 32, Operation::Write, 256, 10 * SECOND), 1250);
    let limits = volume.limits().unwrap();
    assert_near(limits.bytes_limited_ns, 10 * SECOND);
    assert!(limits.ios_limited_ns < SECOND, "{limits:?}");
}

#[test]
fn credits_are_spent_and_saved() {
    let times = VolumeTimes { burst_ios: 13_500, ..near(300) };
    let mut volume = Volume::new(times).unwrap();
    // 3,000 less 300 a second: empty after 5 s, and 300 a second from then on.
    assert_near(closed_loop(&mut volume, 8, Operation::Read, 1, 5 * SECOND), 15_000);
    assert!(volume.limits().unwrap().without_credits_ns < Some(SECOND / 10));
    while let Some(next_ns) = volume.next_ns() {
        volume.advance(next_ns);
        while volume.answer().is_some() {}
    }
    let mut volume = Volume::new(times).unwrap();
    assert_near(closed_loop(&mut volume, 8, Operation::Read, 1, 15 * SECOND), 13_500 + 15 * 300);
    let limits = volume.limits().unwrap();
    assert_near(limits.without_credits_ns.unwrap(), 10 * SECOND);
    assert_eq!(limits.credits_left, Some(0));
    volume.advance(25 * SECOND);
    assert!(volume.limits().unwrap().credits_left > Some(2900), "ten idle seconds save 3,000");
}

#[test]
fn latency_and_depth_bound_what_caps_let_pass() {
    let times = VolumeTimes { tail_share: 0.0, queue_depth: 4, ..VolumeTimes::default() };
    let mut volume = Volume::new(times).unwrap();
    assert_near(closed_loop(&mut volume, 1, Operation::Read, 1, 10 * SECOND), 10 * SECOND / times.latency_ns);
    assert!(volume.limits().unwrap().ios_limited_ns < 6 * SECOND, "one client does not reach the cap");
    let mut volume = Volume::new(VolumeTimes { iops: 100_000, ..times }).unwrap();
    assert_near(closed_loop(&mut volume, 32, Operation::Read, 1, 10 * SECOND), 4 * 10 * SECOND / times.latency_ns);
    let mut volume = Volume::new(times).unwrap();
    volume.submit(&Request::of(Operation::Flush, 7, 0, 0));
    volume.advance(SECOND);
    assert_eq!(volume.answer().unwrap().due_ns, 7 + times.flush_ns);
}
