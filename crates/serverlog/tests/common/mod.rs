//! What tests of logs share: a log in a file that goes away, read as events or summarized.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serverlog::{Event, Format, Kind, LogFormat, Prefix, Reader, Summary, Tally, summarize};

/// A file that goes away with the test.
pub struct Log(PathBuf);

impl Log {
    pub fn new(text: &[u8]) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("server-log-test-{}-{number}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    pub fn reader(&self, prefixes: &[&str], format: Option<Format>) -> Reader {
        let prefixes = prefixes.iter().map(|each| Prefix::parse(each).unwrap()).collect();
        Reader::new(vec![self.0.clone()], format.map(LogFormat::Plain), prefixes)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The next record of a log: without one the last record may lack its further lines.
pub const NEXT: &str = "2026-11-23 01:59:59.000 UTC [1] LOG:  checkpoint starting: time\n";

/// The lines of stderr that go on with `NEXT`, which is not counted in the tally.
pub fn read(text: &str, prefix: &str) -> (Vec<Event>, Tally) {
    let goes_on = text.starts_with("2026-11-23 01:29:46.500 UTC [") && prefix.starts_with("%m [%p] ");
    let log = Log::new(format!("{text}{}", if goes_on { NEXT } else { "" }).as_bytes());
    let mut reader = log.reader(&[prefix], None);
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(event.clone());
    }
    let mut tally = reader.tally().clone();
    tally.records -= u64::from(goes_on);
    (events, tally)
}

pub fn summary(text: &str) -> Summary {
    let log = Log::new(format!("{text}{NEXT}").as_bytes());
    summarize(&mut log.reader(&["%m [%p] "], None), b"", true).unwrap()
}

pub fn shown(event: &Event) -> (Kind, &str, Option<f64>) {
    (event.kind, std::str::from_utf8(&event.text).unwrap(), event.duration_ms)
}

pub const HEAD: &str = "2026-11-23 01:29:46.500 UTC [77] ";
