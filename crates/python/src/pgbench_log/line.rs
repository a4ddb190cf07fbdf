//! One line of a pgbench log, parsed eight bytes at a time.
//!
//! Numbers are found and converted with whole-word arithmetic instead of a branch a byte (Lemire and Mula's "SWAR"
//! digit parsing): their lengths vary, so byte loops would mispredict at every field. The seconds since the epoch are
//! compared with the line before, which nearly always has the same.

use crate::latency_sketch::MAX_LATENCY_US;

/// pgbench itself allows 128 scripts.
pub const MAX_SCRIPTS: u64 = 128;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed (or whatever the script ends with): the log has its time.
    Succeeded,
    /// `skipped`: it would have started later than `--latency-limit` allows (`--rate`).
    Skipped,
    /// `failed`, the reason not logged without `--failures-detailed`.
    Failed,
    /// `serialization` failure.
    Serialization,
    /// `deadlock` failure.
    Deadlock,
    /// `other` failure (`--continue-on-error`, from PostgreSQL 19).
    Other,
}

impl Outcome {
    /// The words that pgbench writes in place of the time.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("skipped", Self::Skipped),
        ("failed", Self::Failed),
        ("serialization", Self::Serialization),
        ("deadlock", Self::Deadlock),
        ("other", Self::Other),
    ];
}

/// Which optional columns the log has: it does not say so itself, and `lag` and `retries` look alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineFormat {
    /// pgbench ran with `--rate`.
    pub has_lag: bool,
    /// pgbench ran with `--max-tries` other than 1.
    pub has_retries: bool,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub outcome: Outcome,
    /// 0 unless the transaction succeeded.
    pub latency_us: u64,
    pub script: usize,
    /// When it ended, in µs since the epoch.
    pub ended_us: i64,
    pub lag_us: u64,
    pub retries: u64,
}

/// Parses lines of one format; remembers the last second it saw.
#[derive(Clone, Debug)]
pub struct LineParser {
    format: LineFormat,
    /// The ten digits and the space of the last `epoch_s`, as two overlapping words.
    second_text: (u64, u64),
    second: i64,
}

const SECOND_DIGITS: usize = 10;

impl LineParser {
    pub fn new(format: LineFormat) -> Self {
        // The words overlap, so no text gives this pair.
        Self {
            format,
            second_text: (0, u64::MAX),
            second: 0,
        }
    }

    /// The line that starts at `position` and the position after its newline; none if it is not one.
    ///
    /// `bytes` must go on for eight bytes after the newline (with anything).
    #[inline]
    pub fn parse(&mut self, bytes: &[u8], position: usize) -> Option<(Transaction, usize)> {
        let position = skip_number(bytes, position)?; // client
        let position = skip_number(bytes, position)?; // its transaction's number
        let (outcome, latency_us, position) = match number(bytes, position) {
            Some((latency_us, end)) => (Outcome::Succeeded, latency_us, after_space(bytes, end)?),
            None => outcome(bytes, position)?,
        };
        let (script, position) = field(bytes, position)?;
        let (second, position) = self.second(bytes, position)?;
        let (microsecond, mut position) = number(bytes, position)?;
        let (mut lag_us, mut retries) = (0, 0);
        if self.format.has_lag {
            (lag_us, position) = number(bytes, after_space(bytes, position)?)?;
        }
        if self.format.has_retries {
            (retries, position) = number(bytes, after_space(bytes, position)?)?;
        }
        let in_range = latency_us <= MAX_LATENCY_US
            && lag_us <= MAX_LATENCY_US
            && script < MAX_SCRIPTS
            && microsecond < 1_000_000
            && retries <= u64::from(u32::MAX);
        if *bytes.get(position)? != b'\n' || !in_range {
            return None;
        }
        let ended_us = second * 1_000_000 + microsecond as i64;
        Some((
            Transaction {
                outcome,
                latency_us,
                script: script as usize,
                ended_us,
                lag_us,
                retries,
            },
            position + 1,
        ))
    }

    #[inline]
    fn second(&mut self, bytes: &[u8], position: usize) -> Option<(i64, usize)> {
        let text = (
            word(bytes, position)?,
            word(bytes, position + SECOND_DIGITS - 7)?,
        );
        if text == self.second_text {
            return Some((self.second, position + SECOND_DIGITS + 1));
        }
        let (second, end) = number(bytes, position)?;
        let next = after_space(bytes, end)?;
        // Twelve digits reach beyond the year 30000 and keep the microseconds within 64 bits.
        if end - position > 12 {
            return None;
        }
        if end - position == SECOND_DIGITS {
            self.second_text = text;
            self.second = second as i64;
        }
        Some((second as i64, next))
    }
}

/// The word that stands for the time of a transaction without one, and the position after its space.
#[cold]
fn outcome(bytes: &[u8], position: usize) -> Option<(Outcome, u64, usize)> {
    let rest = &bytes[position..];
    Outcome::WORDS
        .iter()
        .find(|(word, _)| rest.starts_with(word.as_bytes()) && rest.get(word.len()) == Some(&b' '))
        .map(|(word, outcome)| (*outcome, 0, position + word.len() + 1))
}

#[inline]
fn word(bytes: &[u8], position: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(position..)?.first_chunk()?))
}

#[inline]
fn after_space(bytes: &[u8], position: usize) -> Option<usize> {
    (*bytes.get(position)? == b' ').then_some(position + 1)
}

#[inline]
fn field(bytes: &[u8], position: usize) -> Option<(u64, usize)> {
    let (value, end) = number(bytes, position)?;
    Some((value, after_space(bytes, end)?))
}

/// The bytes with their digits as values, and how many of them lead before the first that is no digit.
#[inline]
fn digits(word: u64) -> (u64, u32) {
    let values = word ^ 0x3030_3030_3030_3030;
    // A byte above 9 gets its top bit set; a carry can only reach bytes behind the first such byte.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    (values, others.trailing_zeros() / 8)
}

/// The number of up to sixteen digits at `position`, and where it ends.
#[inline]
fn number(bytes: &[u8], position: usize) -> Option<(u64, usize)> {
    let (values, length) = digits(word(bytes, position)?);
    match length {
        0 => None,
        1..8 => Some((
            value(values << (64 - 8 * length)),
            position + length as usize,
        )),
        _ => long_number(bytes, position + 8, value(values)),
    }
}

#[inline]
fn long_number(bytes: &[u8], position: usize, head: u64) -> Option<(u64, usize)> {
    let (values, length) = digits(word(bytes, position)?);
    match length {
        0 => Some((head, position)),
        1..8 => {
            let tail = value(values << (64 - 8 * length));
            Some((head * 10_u64.pow(length) + tail, position + length as usize))
        }
        _ => None,
    }
}

/// Eight digit values, most significant first in memory, as one number.
#[inline]
fn value(values: u64) -> u64 {
    let pairs = values.wrapping_mul(10 * 256 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 65536 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10000 * (1 << 32) + 1) >> 32
}

/// Passes over a number of any length and the space behind it.
#[inline]
fn skip_number(bytes: &[u8], position: usize) -> Option<usize> {
    let (_, length) = digits(word(bytes, position)?);
    let mut end = position + length as usize;
    if length == 8 {
        end += bytes[end..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
    }
    if length == 0 {
        None
    } else {
        after_space(bytes, end)
    }
}
