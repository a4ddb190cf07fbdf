//! What can go wrong with a log, in PostgreSQL's manner: lower case, no full stop, with what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::collector::MAX_INTERVALS;
use super::line::{LineFormat, MAX_SCRIPTS, Outcome};
use crate::latency_sketch::MAX_LATENCY_US;

/// Shown of a line that cannot be read.
const SHOWN_BYTES: usize = 120;

/// Why logs could not be read.
#[derive(Debug)]
pub enum LogError {
    /// The operating system's word on a file.
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A line that is not pgbench's.
    Line {
        /// In which file.
        path: PathBuf,
        /// Counted from 1.
        line_number: u64,
        /// The line, shortened and escaped.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two files whose times lie too far apart.
    Span {
        /// The earliest and the latest end of a transaction, and the start that was asked for, in µs.
        times_us: Vec<i64>,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "could not read \"{}\": {source}", path.display())
            }
            Self::Line {
                path,
                line_number,
                text,
                reason,
            } => {
                write!(
                    f,
                    "{}: line {line_number}: {reason}: \"{text}\"",
                    path.display()
                )
            }
            Self::Span { times_us } => {
                let times: Vec<_> = times_us
                    .iter()
                    .map(|us| format!("{:.6}", *us as f64 / 1e6))
                    .collect();
                write!(
                    f,
                    "times {} (seconds since the epoch) are {SPAN_REASON}",
                    times.join(", ")
                )
            }
        }
    }
}

const SPAN_REASON: &str = "too many intervals apart";

/// The reason for a line outside the span.
pub fn span_reason() -> String {
    format!(
        "its time is more than {MAX_INTERVALS} intervals away from others or from the start: did the clock jump?"
    )
}

/// A line for a message: without its newline, escaped, not too long.
pub fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let tail = if line.len() > SHOWN_BYTES { "..." } else { "" };
    format!(
        "{}{tail}",
        line[..line.len().min(SHOWN_BYTES)].escape_ascii()
    )
}

/// What is wrong with a line that the parser refused.
pub fn reason(line: &[u8], format: LineFormat) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let mut names = vec![
        "client",
        "transaction",
        "time",
        "script",
        "epoch_s",
        "epoch_us",
    ];
    names.extend(format.has_lag.then_some("lag"));
    names.extend(format.has_retries.then_some("retries"));
    if fields.len() == 15 && fields.iter().all(|field| is_number(field)) {
        return "this is an aggregate log (--aggregate-interval): it has no single transactions"
            .to_owned();
    }
    if fields.len() != names.len() {
        let hint = match fields.len() {
            6..=8 => " (--rate adds a lag, --max-tries adds retries)",
            _ => "",
        };
        return format!(
            "expected {} fields, found {}{hint}",
            names.len(),
            fields.len()
        );
    }
    for (name, field) in names.iter().zip(&fields) {
        let is_word = *name == "time"
            && Outcome::WORDS
                .iter()
                .any(|(word, _)| word.as_bytes() == *field);
        if !is_number(field) && !is_word {
            return format!("{name} is not a number");
        }
    }
    format!(
        "a number is out of range (time and lag up to {MAX_LATENCY_US} us, script up to {}, epoch_us below 1000000)",
        MAX_SCRIPTS - 1
    )
}

fn is_number(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_digit)
}
