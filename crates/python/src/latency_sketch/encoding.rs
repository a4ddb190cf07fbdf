//! The bytes of a latency sketch: sparse and small (about two bytes a filled bucket), so that every second keeps one.
//!
//! Version 1: the version byte, then LEB128 numbers: count; if it is not 0: least, greatest, sum, sum of squares, and
//! for each filled bucket in order its distance from the one before (the first from 0) and its count.

use super::{BUCKETS, LatencySketch, MAX_COUNT, MAX_LATENCY_US, bucket_of};

const VERSION: u8 = 1;

/// Why bytes are not a latency sketch.
#[derive(Debug, PartialEq, Eq)]
pub struct DecodeError(pub &'static str);

impl LatencySketch {
    /// The sketch as bytes; equal sketches give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put(&mut bytes, self.count.into());
        if self.count == 0 {
            return bytes;
        }
        for number in [
            self.min_us.into(),
            self.max_us.into(),
            self.sum_us,
            self.sum_squares_us2,
        ] {
            put(&mut bytes, number);
        }
        let mut previous = 0;
        for (bucket, count) in self.buckets() {
            put(&mut bytes, (bucket - previous) as u128);
            put(&mut bytes, count.into());
            previous = bucket;
        }
        bytes
    }

    /// Adds the sketch that `bytes` hold; an error leaves `self` as it was.
    pub fn merge_bytes(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        self.merge(&Self::from_bytes(bytes)?);
        Ok(())
    }

    /// The sketch that [`Self::to_bytes`] wrote; bytes that contradict themselves are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (version, mut rest) = bytes.split_first().ok_or(DecodeError("no bytes"))?;
        if *version != VERSION {
            return Err(DecodeError("of an unknown version"));
        }
        let count = take_u64(&mut rest)?;
        if count == 0 {
            return if rest.is_empty() {
                Ok(Self::default())
            } else {
                Err(DecodeError("bytes left over"))
            };
        }
        let (min_us, max_us) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
        let (sum_us, sum_squares_us2) = (take(&mut rest)?, take(&mut rest)?);
        if min_us > max_us || max_us > MAX_LATENCY_US {
            return Err(DecodeError("latencies out of range"));
        }
        if count > MAX_COUNT {
            return Err(DecodeError("counts too large"));
        }
        let (count_wide, min, max) = (u128::from(count), u128::from(min_us), u128::from(max_us));
        if !(min * count_wide..=max * count_wide).contains(&sum_us) {
            return Err(DecodeError("the sum contradicts the count"));
        }
        if !(min * sum_us..=max * sum_us).contains(&sum_squares_us2) {
            return Err(DecodeError("the sum of squares contradicts the sum"));
        }
        let mut sketch = Self {
            counts: Vec::new(),
            count,
            sum_us,
            sum_squares_us2,
            min_us,
            max_us,
        };
        sketch.grow(bucket_of(max_us));
        sketch.take_buckets(rest)?;
        Ok(sketch)
    }

    fn take_buckets(&mut self, mut rest: &[u8]) -> Result<(), DecodeError> {
        let (first, last) = (bucket_of(self.min_us), bucket_of(self.max_us));
        let (mut bucket, mut total, mut filled) = (0_usize, 0_u64, 0_usize);
        while !rest.is_empty() {
            let distance = take_u64(&mut rest)?;
            if distance > BUCKETS as u64 || (filled > 0 && distance == 0) {
                return Err(DecodeError("buckets out of order"));
            }
            bucket += distance as usize;
            let count = take_u64(&mut rest)?;
            let outside = bucket < first || bucket > last || (filled == 0 && bucket != first);
            if outside || count == 0 {
                return Err(DecodeError(
                    "buckets that contradict the least and greatest latency",
                ));
            }
            self.counts[bucket] = count;
            total = total
                .checked_add(count)
                .ok_or(DecodeError("counts too large"))?;
            filled += 1;
        }
        if bucket != last || total != self.count {
            return Err(DecodeError("counts that do not add up"));
        }
        Ok(())
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Result<u128, DecodeError> {
    let mut number = 0_u128;
    for shift in (0..126).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(DecodeError("cut short"))?;
        *rest = tail;
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(DecodeError("a number too large"))
}

fn take_u64(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    u64::try_from(take(rest)?).map_err(|_| DecodeError("a number too large"))
}
