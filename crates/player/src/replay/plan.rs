//! What a server's log has to be played: each session's calls in order, with the moment at which each began.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde::Deserialize;
use serverlog::{Prefix, Reader};

use crate::error::PlayerError;
use crate::replay::collecting::Collected;
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

/// All of a log.
#[derive(Debug, Default)]
pub struct Plan {
    /// Each session's calls; those that began first are first.
    pub sessions: Vec<VecDeque<Call>>,
    /// Without their constants, the most frequent first; where there are too many the last is all others.
    pub statements: Vec<String>,
    /// Calls in the log that are not played.
    pub left_out: u64,
    /// When the first call began.
    pub first_us: i64,
    /// When the last one began.
    pub last_us: i64,
}

impl Plan {
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
        found.plan()
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
        let path = std::env::temp_dir().join(format!("replay-plan-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let given = GivenLog {
            logs: vec![path.clone()],
            prefixes: vec!["%m [%p] ".into()],
            database: String::new(),
            time_factor: 1.0,
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
                ("01.900", "7", "LOG:  duration: 200.000 ms"),
            ],
        )
        .unwrap();
        assert_eq!(
            found.sessions.iter().map(VecDeque::len).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(
            found.sessions[1][0].values,
            Some(vec![Some(Value::Text("007".into())), None])
        );
        assert_eq!(found.sessions[1][0].at_us - found.first_us, 499_000);
        assert_eq!(found.last_us - found.first_us, 600_000);
        assert_eq!(
            found.statements,
            ["SELECT $1", "UPDATE t SET a = $1 WHERE b = $2"]
        );
        assert_eq!(
            (
                found.sessions[0][0].statement,
                found.sessions[1][1].statement,
                found.left_out
            ),
            (0, 0, 0)
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
        assert_eq!((found.sessions[0].len(), found.left_out), (1, 5));
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
