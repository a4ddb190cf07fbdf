//! The reader against a naive one, however the bytes are cut.

mod faults;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;

use super::collector::{CellKey, MAX_INTERVALS};
use super::error::LogError;
use super::line::Outcome;
use super::line::{LineFormat, LineParser, Transaction};
use super::reader::{ReadLogs, ReadOptions, read_logs};
use super::tally::{PackedTally, Tally};

/// Files that go away with the test.
struct Logs(PathBuf, Vec<PathBuf>);

impl Logs {
    fn new(texts: &[impl AsRef<[u8]>]) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "pgbench-log-test-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let write = |(index, text): (usize, &_)| {
            let path = folder.join(format!("log.{index}"));
            fs::write(&path, AsRef::<[u8]>::as_ref(text)).unwrap();
            path
        };
        let paths = texts.iter().enumerate().map(write).collect();
        Self(folder, paths)
    }

    fn read(&self, options: &ReadOptions) -> Result<ReadLogs, LogError> {
        read_logs(&self.1, options)
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PLAIN: LineFormat = LineFormat {
    has_lag: false,
    has_retries: false,
};
const FULL: LineFormat = LineFormat {
    has_lag: true,
    has_retries: true,
};

fn options(format: LineFormat) -> ReadOptions {
    ReadOptions::new(format, 1_000_000, None, 2)
}

fn text_of(transactions: &[Transaction]) -> String {
    let line = |(number, t): (usize, &Transaction)| {
        let word = Outcome::WORDS
            .iter()
            .find(|(_, outcome)| *outcome == t.outcome)
            .map(|(word, _)| (*word).to_owned());
        let time = word.unwrap_or_else(|| t.latency_us.to_string());
        let (second, microsecond) = (t.ended_us / 1_000_000, t.ended_us % 1_000_000);
        format!(
            "{} {number} {time} {} {second} {microsecond} {} {}\n",
            number % 11,
            t.script,
            t.lag_us,
            t.retries
        )
    };
    transactions.iter().enumerate().map(line).collect()
}

/// The same sums, the plain way.
fn naive(
    transactions: &[Transaction],
    start_us: i64,
    interval_us: i64,
) -> BTreeMap<CellKey, PackedTally> {
    let mut cells: BTreeMap<CellKey, Tally> = BTreeMap::new();
    for t in transactions {
        let cell = cells
            .entry(((t.ended_us - start_us).div_euclid(interval_us), t.script))
            .or_default();
        cell.counts.by_outcome[t.outcome as usize] += 1;
        if t.outcome == Outcome::Succeeded {
            cell.latency.record(t.latency_us, 1);
            cell.counts.lag_sum_us += u128::from(t.lag_us);
            cell.counts.lag_max_us = cell.counts.lag_max_us.max(t.lag_us);
        }
        if t.outcome != Outcome::Skipped {
            cell.counts.retries += t.retries;
            cell.counts.retried += u64::from(t.retries > 0);
        }
    }
    cells
        .iter()
        .map(|(key, tally)| (*key, PackedTally::from(tally)))
        .collect()
}

fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    use Outcome::*;
    let outcome = prop_oneof![
        5 => Just(Succeeded),
        1 => prop::sample::select(vec![Skipped, Failed, Serialization, Deadlock, Other])
    ];
    let latency = prop_oneof![0_u64..3000, 0_u64..1 << 40];
    // Forty seconds in any order: more than stay open at once.
    let ended_us = 1_795_229_900_000_000_i64..1_795_229_940_000_000;
    let one = (
        outcome,
        latency,
        0_usize..4,
        ended_us,
        0_u64..100_000,
        0_u64..4,
    );
    vec(one, 0..120).prop_map(|all| {
        let transaction = |(outcome, latency_us, script, ended_us, lag_us, retries)| {
            let latency_us = if outcome == Succeeded { latency_us } else { 0 };
            Transaction {
                outcome,
                latency_us,
                script,
                ended_us,
                lag_us,
                retries,
            }
        };
        all.into_iter().map(transaction).collect()
    })
}

proptest! {
    #[test]
    fn a_line_says_what_was_written(all in transactions()) {
        let mut parser = LineParser::new(FULL);
        let text = text_of(&all);
        let padded = format!("{text}99999999999999999999");
        let mut position = 0;
        for transaction in &all {
            let (parsed, next) = parser.parse(padded.as_bytes(), position).unwrap();
            prop_assert_eq!(parsed, *transaction);
            position = next;
        }
        prop_assert_eq!(position, text.len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in vec(prop_oneof![Just(b' '), Just(b'\n'), b'0'..=b'9', any::<u8>()], 0..80)
    ) {
        let mut parser = LineParser::new(PLAIN);
        let line = [bytes.as_slice(), b"\n", &[0; 16]].concat();
        let naive: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
        if parser.parse(&line, 0).is_some_and(|(_, next)| next == bytes.len() + 1) {
            prop_assert!(naive.len() == 6 && naive[0].iter().all(u8::is_ascii_digit), "{naive:?}");
        }
    }

    #[test]
    fn the_reader_agrees_with_a_naive_one_however_the_bytes_are_cut(
        files in vec(transactions(), 1..4),
        start_us in prop::option::of(1_795_229_890_000_000_i64..1_795_229_950_000_000),
        interval_us in 200_000_i64..3_000_000,
        threads in 1_usize..4,
        chunk_bytes in 1_u64..300,
        buffer_bytes in 80_usize..200,
        torn_at in 1_usize..10,
    ) {
        let mut texts: Vec<String> = files.iter().map(|file| text_of(file)).collect();
        let torn_line = &"7 1 123456 0 1795229901"[..torn_at];
        texts[0].push_str(torn_line);
        let options = ReadOptions { format: FULL, interval_us, start_us, threads, chunk_bytes, buffer_bytes };
        let read = Logs::new(&texts).read(&options).unwrap();
        let all = files.concat();
        let times = || all.iter().map(|t| t.ended_us);
        prop_assert_eq!(read.cells, naive(&all, start_us.unwrap_or(0), interval_us));
        prop_assert_eq!(read.times_us, times().min().zip(times().max()));
        prop_assert_eq!(read.lines, all.len() as u64);
        prop_assert_eq!(read.torn, vec![0]);
    }
}
