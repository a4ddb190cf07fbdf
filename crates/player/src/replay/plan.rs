//! What a server's log has to be played: each session's calls in order, with the moment at which each began.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serverlog::{Prefix, Reader};

use crate::error::PlayerError;
use crate::replay::collecting::Collected;
use crate::replay::cutting;
use crate::script::value::Value;

/// Statements that have latencies of their own; all others share the last place.
pub const STATEMENTS_MAX: usize = 120;
/// A log as the caller names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenLog {
    /// In order.
    pub logs: Vec<PathBuf>,
    /// Settings of `log_line_prefix`, for stderr.
    #[serde(default)]
    pub prefixes: Vec<String>,
    /// Sessions of this database alone, where the log names databases; of all where it is empty.
    #[serde(default)]
    pub database: String,
    /// So many times as fast as the source.
    #[serde(default = "one")]
    pub time_factor: f64,
    /// From here on, by the replay's time; what is open there belongs to the time before.
    #[serde(default)]
    pub from_ms: u64,
    /// So long; none: to its end.
    #[serde(default)]
    pub length_ms: Option<u64>,
    /// The most sessions at once; others are left out.
    #[serde(default)]
    pub sessions: Option<usize>,
}

fn one() -> f64 {
    1.0
}

/// One statement of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// When it began, by the source's clock.
    pub at_us: i64,
    /// Its text as logged.
    pub text: String,
    /// The parameters, for the extended protocol; None for a text of the simple one.
    pub values: Option<Vec<Option<Value>>>,
    /// Which statement it is, without its constants.
    pub statement: usize,
    /// Did it fail in the source, too?
    pub failed: bool,
}

/// A session's part of what is played.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// What it does.
    pub calls: VecDeque<Call>,
    /// What it had set before, sent when it connects.
    pub settings: Vec<String>,
}

/// What of a log is not played, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Calls of commands that are not played, and of sessions without a name.
    pub commands: u64,
    /// Calls of prepared statements whose parameters were not logged.
    pub without_parameters: u64,
    /// Sessions that begin in the midst of a transaction.
    pub half_sessions: u64,
    /// Their calls up to its end.
    pub half_calls: u64,
    /// Calls of the sessions that would have been more at once than the limit.
    pub calls_beyond: u64,
    /// Records with another prefix, or damaged ones.
    pub unread: u64,
    /// Records that seem to be events in another language.
    pub foreign: u64,
    /// Records with a statement or its values that may not be whole.
    pub doubtful: u64,
    /// Logs whose last record is not whole, or may not be.
    pub torn: u64,
    /// The first of the unread records, shortened.
    pub first_unread: String,
}

/// What is played of a log.
#[derive(Debug, Default)]
pub struct Plan {
    /// Each session's calls; those that began first are first.
    pub sessions: Vec<Planned>,
    /// Without their constants, the most frequent first; where there are too many the last is all others.
    pub statements: Vec<String>,
    /// All calls of the log that can be played, in this stretch or another.
    pub log_calls: usize,
    /// What is not played.
    pub left_out: LeftOut,
    /// When the log's first call began.
    pub first_us: i64,
    /// When its last one began.
    pub last_us: i64,
    /// Where the stretch begins that is played.
    pub from_us: i64,
}

impl Plan {
    /// Its calls.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.sessions.iter().map(|each| each.calls.len()).sum()
    }

    /// What is said of it before it is played; `time_factor` as it was given.
    #[must_use]
    pub fn facts(&self, time_factor: f64) -> serde_json::Value {
        serde_json::json!({
            "sessions": self.sessions.len(),
            "calls": self.calls(),
            "log_calls": self.log_calls,
            "left_out": self.left_out,
            "statements": self.statements,
            "length_ms": (self.last_us - self.first_us) as f64 / 1e3 / time_factor,
        })
    }

    /// Read the logs.
    ///
    /// # Errors
    /// A file that cannot be read, a prefix that PostgreSQL does not know, a log without a statement or a session.
    pub fn read(given: &GivenLog) -> Result<Self, PlayerError> {
        let prefixes: Result<Vec<Prefix>, _> = given
            .prefixes
            .iter()
            .map(|each| Prefix::parse(each))
            .collect();
        let prefixes = prefixes.map_err(|error| PlayerError::Specification(error.to_string()))?;
        let mut reader = Reader::new(given.logs.clone(), None, prefixes);
        let mut found = Collected::default();
        loop {
            match reader.next_event() {
                Ok(Some(event)) => found.take(event, given.database.as_bytes()),
                Ok(None) => break,
                Err(error) => return Err(PlayerError::System("cannot read the log", error)),
            }
        }
        let tally = reader.tally();
        let mut plan = found.plan().map_err(|error| match given.prefixes.first() {
            Some(prefix) if tally.unread * 2 > tally.records => {
                PlayerError::Specification(format!(
                    "the log's lines do not begin with log_line_prefix \"{}\": {}",
                    prefix.trim_end(),
                    tally.first_unread
                ))
            }
            _ => error,
        })?;
        plan.left_out.unread = tally.unread;
        plan.left_out.foreign = tally.foreign;
        plan.left_out.doubtful = tally.doubtful;
        plan.left_out.torn = tally.torn;
        plan.left_out.first_unread.clone_from(&tally.first_unread);
        plan.cut(given);
        Ok(plan)
    }

    /// Keep the stretch that is asked for, of as many sessions at once as are allowed.
    fn cut(&mut self, given: &GivenLog) {
        #[allow(clippy::cast_possible_truncation)]
        let source_us = |ms: u64| (ms as f64 * 1e3 * given.time_factor) as i64;
        self.from_us = self.first_us.saturating_add(source_us(given.from_ms));
        let until_us = given.length_ms.map_or(i64::MAX, |length| {
            self.first_us
                .saturating_add(source_us(given.from_ms + length))
        });
        self.log_calls = self.calls();
        let whole = std::mem::take(&mut self.sessions).into_iter();
        let mut cut: Vec<Planned> = whole
            .map(|each| cutting::stretch(each.calls, self.from_us, until_us))
            .collect();
        cut.sort_by_key(|each| each.calls.front().map(|call| call.at_us));
        let (kept, beyond) = cutting::within_limit(cut, given.sessions.unwrap_or(usize::MAX));
        self.left_out.calls_beyond = beyond.iter().map(|each| each.calls.len() as u64).sum();
        self.sessions = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str, lines: &[(&str, &str, &str)]) -> Result<Plan, PlayerError> {
        let text: String = lines
            .iter()
            .map(|(time, session, message)| {
                format!("2026-11-23 01:29:{time} UTC [{session}] {message}\n")
            })
            .collect();
        let text = text + "2026-11-23 01:59:59.000 UTC [1] LOG:  checkpoint starting: time\n";
        let path = std::env::temp_dir().join(format!("replay-plan-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let given = GivenLog {
            logs: vec![path.clone()],
            prefixes: vec!["%m [%p] ".into()],
            database: String::new(),
            time_factor: 1.0,
            from_ms: 0,
            length_ms: None,
            sessions: None,
        };
        let found = Plan::read(&given);
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn calls_begin_their_duration_before_their_line() {
        let found = plan(
            "begin",
            &[
                (
                    "01.500",
                    "8",
                    "LOG:  duration: 400.000 ms  statement: SELECT 2 -- first",
                ),
                (
                    "01.600",
                    "7",
                    "LOG:  duration: 1.000 ms  execute s: UPDATE t SET a = $1 WHERE b = $2",
                ),
                ("01.600", "7", "DETAIL:  Parameters: $1 = '007', $2 = NULL"),
                ("01.700", "7", "LOG:  statement: SELECT 3"),
                (
                    "01.900",
                    "7",
                    "LOG:  duration: 9.000 ms  plan:\n\tQuery Text: SELECT 3\n\tResult  (cost=0.00..0.01 rows=1)",
                ),
                ("01.900", "7", "LOG:  duration: 200.000 ms"),
            ],
        )
        .unwrap();
        assert_eq!(
            found
                .sessions
                .iter()
                .map(|each| each.calls.len())
                .collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(
            found.sessions[1].calls[0].values,
            Some(vec![Some(Value::Text("007".into())), None])
        );
        assert_eq!(found.sessions[1].calls[0].at_us - found.first_us, 499_000);
        assert_eq!(found.last_us - found.first_us, 600_000);
        assert_eq!(
            found.statements,
            ["SELECT $1", "UPDATE t SET a = $1 WHERE b = $2"]
        );
        assert_eq!(
            (
                found.sessions[0].calls[0].statement,
                found.sessions[1].calls[1].statement,
                found.left_out
            ),
            (0, 0, LeftOut::default())
        );
    }

    #[test]
    fn what_a_log_cannot_give_is_left_out_and_counted() {
        let found = plan(
            "left",
            &[
                ("01.000", "7", "LOG:  statement: SELECT 1"),
                ("01.100", "7", "LOG:  statement: COPY t FROM STDIN"),
                ("01.100", "7", "LOG:  statement: COPY t TO PROGRAM 'sh'"),
                (
                    "01.100",
                    "7",
                    "LOG:  statement: SELECT 1; COPY t TO PROGRAM 'sh'",
                ),
                (
                    "01.100",
                    "7",
                    "LOG:  statement: ALTER SYSTEM SET work_mem = 1",
                ),
                ("01.100", "7", "LOG:  execute s: SELECT $1"),
                (
                    "01.100",
                    "7",
                    "LOG:  statement: SELECT 1 /* pgassay capture */",
                ),
            ],
        )
        .unwrap();
        assert_eq!(found.calls(), 1);
        let left = &found.left_out;
        assert_eq!((left.commands, left.without_parameters), (4, 1));
    }

    #[test]
    fn a_statement_that_may_not_be_whole_is_not_played() {
        let found = plan(
            "cut",
            &[
                ("01.000", "7", "LOG:  statement: SELECT 1"),
                (
                    "01.100",
                    "7",
                    "LOG:  statement: DELETE FROM orders\n        WHERE id = 42",
                ),
                (
                    "01.200",
                    "7",
                    "LOG:  statement: DELETE FROM orders\nWHERE id = 42",
                ),
            ],
        )
        .unwrap();
        let texts: Vec<_> = found.sessions[0]
            .calls
            .iter()
            .map(|call| call.text.as_str())
            .collect();
        assert_eq!(
            texts,
            ["SELECT 1", "DELETE FROM orders\n        WHERE id = 42"]
        );
        let left = &found.left_out;
        assert_eq!((left.doubtful, left.unread, left.torn), (1, 1, 0));
    }

    #[test]
    fn what_failed_in_the_source_may_fail_again() {
        let found = plan(
            "failed",
            &[
                ("01.000", "7", "LOG:  statement: SELECT 1/0"),
                ("01.000", "7", "ERROR:  division by zero"),
                ("01.000", "7", "STATEMENT:  SELECT 1/0"),
                (
                    "01.100",
                    "7",
                    "LOG:  duration: 1.000 ms  statement: SELECT 2",
                ),
                ("01.200", "7", "ERROR:  division by zero"),
                ("01.200", "7", "STATEMENT:  SELECT 2/0"),
                (
                    "01.200",
                    "9",
                    "FATAL:  password authentication failed for user \"bob\"",
                ),
            ],
        )
        .unwrap();
        let seen: Vec<_> = found.sessions[0]
            .calls
            .iter()
            .map(|call| (call.text.as_str(), call.failed))
            .collect();
        assert_eq!(
            seen,
            [
                ("SELECT 1/0", true),
                ("SELECT 2", false),
                ("SELECT 2/0", true)
            ]
        );
    }

    #[test]
    fn a_session_that_begins_in_a_transaction_is_played_from_its_end_on() {
        let lines = [
            ("01.000", "7", "LOG:  statement: UPDATE t SET a = 1"),
            ("01.100", "7", "LOG:  statement: COMMIT"),
            ("01.200", "7", "LOG:  statement: SELECT 1"),
        ];
        let found = plan("half", &lines).unwrap();
        let left = &found.left_out;
        assert_eq!(
            (found.calls(), left.half_sessions, left.half_calls),
            (1, 1, 2)
        );
        let authorized = (
            "00.900",
            "7",
            "LOG:  connection authorized: user=a database=b",
        );
        let known = plan("whole", &[&[authorized], lines.as_slice()].concat()).unwrap();
        assert_eq!((known.calls(), known.left_out.half_calls), (3, 0));
    }

    #[test]
    fn a_log_without_a_statement_is_refused() {
        let said = plan(
            "none",
            &[("01.000", "7", "LOG:  checkpoint starting: time")],
        )
        .unwrap_err()
        .to_string();
        assert!(said.contains("the log holds no statement"), "{said}");
    }
}
