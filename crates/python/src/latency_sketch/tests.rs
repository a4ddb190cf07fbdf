//! The promises of the sketch: its error bound, exact moments, merging in any order, and bytes that come back equal.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Latencies of every order of magnitude, and close ones.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let wide = (0_u32..40, any::<u64>())
        .prop_map(|(octave, bits)| bits & ((1 << octave) - 1) | (1 << octave));
    vec(prop_oneof![wide, 0_u64..5000, 300_u64..310], 0..200)
}

fn sketch_of(values: &[u64]) -> LatencySketch {
    let mut sketch = LatencySketch::default();
    values.iter().for_each(|value| sketch.record(*value, 1));
    sketch
}

#[test]
fn buckets_tile_the_range_without_gap_or_overlap() {
    let mut next = 0;
    for bucket in 0..BUCKETS {
        let (least, width) = bounds_of(bucket);
        assert_eq!(least, next);
        assert_eq!(
            (bucket_of(least), bucket_of(least + width - 1)),
            (bucket, bucket)
        );
        next = least + width;
    }
    assert_eq!(next, MAX_LATENCY_US + 1);
}

#[test]
fn the_stated_error_is_nearly_reached_so_it_is_not_an_idle_promise() {
    let worst = (256..1_u64 << 16)
        .map(|value| {
            let (least, width) = bounds_of(bucket_of(value));
            (least as f64 + (width - 1) as f64 / 2.0 - value as f64).abs() / value as f64
        })
        .fold(0.0, f64::max);
    assert!(
        worst <= RELATIVE_ERROR && worst > 0.95 * RELATIVE_ERROR,
        "{worst}"
    );
}

#[test]
fn ranks_do_not_slip_by_rounding() {
    let sketch = sketch_of(&(1..=100).collect::<Vec<_>>());
    for percent in 1..=100 {
        assert_eq!(
            sketch.quantile(f64::from(percent) / 100.0),
            Some(f64::from(percent))
        );
    }
}

#[test]
fn an_empty_sketch_answers_nothing() {
    let empty = LatencySketch::default();
    assert_eq!(
        (
            empty.quantile(0.5),
            empty.mean_us(),
            empty.max_us(),
            empty.stddev_us()
        ),
        (None, None, None, None)
    );
    assert_eq!(LatencySketch::from_bytes(&empty.to_bytes()), Ok(empty));
}

#[test]
fn deviation_of_large_close_latencies_keeps_its_digits() {
    let mut sketch = LatencySketch::default();
    sketch.record(MAX_LATENCY_US, 1 << 40);
    sketch.record(MAX_LATENCY_US - 2, 1 << 40);
    assert_eq!(sketch.stddev_us(), Some(1.0));
    assert_eq!(sketch.mean_us(), Some(MAX_LATENCY_US as f64 - 1.0));
}

proptest! {
    #[test]
    fn quantiles_keep_the_stated_error(mut values in latencies(), q in 0.0..=1.0_f64) {
        let sketch = sketch_of(&values);
        values.sort_unstable();
        if values.is_empty() {
            prop_assert_eq!(sketch.quantile(q), None);
        } else {
            let rank = ((q * values.len() as f64 - 1e-9).ceil() as usize).clamp(1, values.len());
            let (exact, answer) = (values[rank - 1] as f64, sketch.quantile(q).unwrap());
            prop_assert!((answer - exact).abs() <= RELATIVE_ERROR * exact, "{} for {}", answer, exact);
        }
    }

    #[test]
    fn moments_are_exact(values in vec(0_u64..1 << 20, 1..200)) {
        let sketch = sketch_of(&values);
        let count = values.len() as f64;
        let mean = values.iter().sum::<u64>() as f64 / count;
        let variance = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / count;
        prop_assert_eq!(sketch.mean_us(), Some(mean));
        prop_assert!((sketch.stddev_us().unwrap() - variance.sqrt()).abs() <= 1e-9 * (1.0 + variance.sqrt()));
        prop_assert_eq!(sketch.min_us(), values.iter().min().copied());
        prop_assert_eq!(sketch.max_us(), values.iter().max().copied());
    }

    #[test]
    fn merging_is_associative_commutative_and_equals_recording(a in latencies(), b in latencies(), c in latencies()) {
        let merged = |parts: &[&LatencySketch]| {
            let mut sum = LatencySketch::default();
            parts.iter().for_each(|part| sum.merge(part));
            sum
        };
        let (x, y, z) = (sketch_of(&a), sketch_of(&b), sketch_of(&c));
        let left = merged(&[&merged(&[&x, &y]), &z]);
        prop_assert_eq!(&left, &merged(&[&x, &merged(&[&y, &z])]));
        prop_assert_eq!(&left, &merged(&[&z, &y, &x]));
        prop_assert_eq!(&left, &sketch_of(&[a, b, c].concat()));
    }

    #[test]
    fn a_cleared_sketch_is_as_good_as_new(a in latencies(), b in latencies()) {
        let mut reused = sketch_of(&a);
        reused.clear();
        prop_assert_eq!(&reused, &LatencySketch::default());
        b.iter().for_each(|value| reused.record(*value, 1));
        prop_assert_eq!(reused, sketch_of(&b));
    }

    #[test]
    fn bytes_come_back_equal(values in latencies()) {
        let sketch = sketch_of(&values);
        prop_assert_eq!(LatencySketch::from_bytes(&sketch.to_bytes()), Ok(sketch));
    }

    #[test]
    fn damaged_bytes_are_refused_or_consistent(values in latencies(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = sketch_of(&values).to_bytes();
        prop_assert!(LatencySketch::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        let position = at.index(bytes.len());
        bytes[position] = byte;
        if let Ok(sketch) = LatencySketch::from_bytes(&bytes) {
            prop_assert_eq!(sketch.buckets().map(|(_, count)| count).sum::<u64>(), sketch.count());
            prop_assert!(sketch.quantile(0.5).is_none_or(|median| median <= sketch.max_us().unwrap() as f64));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
        let _ = LatencySketch::from_bytes(&bytes);
    }
}
