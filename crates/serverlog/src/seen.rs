//! What logs come to, as plain values that are written as JSON: statements, transactions, arrivals.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::reader::Tally;
use crate::sample::Sample;

/// The values of one call, in the order of its placeholders.
pub type Values = Vec<Option<String>>;

/// One statement of the logs, without its constants.
#[derive(Debug, Default, Serialize)]
pub struct SeenStatement {
    /// With `$1` for each value.
    pub text: String,
    /// How often it ran; 0 for one of which the log has nothing but entries of auto_explain.
    pub calls: u64,
    /// Calls whose duration is known, and the sum of these.
    pub timed: u64,
    /// In ms.
    pub exec_ms: f64,
    /// How often it failed.
    pub failed: u64,
    /// Values of some of its calls.
    pub parameters: Vec<Values>,
    /// Are these values auto_explain's? Then no call of the log had any.
    pub planned: bool,
    #[serde(skip)]
    pub(crate) sample: Sample<Option<Values>>,
}

/// Transactions of the same statements in the same order; `statements` are indexes.
#[derive(Debug, Default, Serialize)]
pub struct SeenTransaction {
    /// Which statements, in order.
    pub statements: Vec<u32>,
    /// How many were committed.
    pub commits: u64,
    /// How many were rolled back or failed.
    pub rollbacks: u64,
    /// Pauses of the client within it, the sum over all, in ms.
    pub pause_ms: f64,
    /// Values of some of them: of each statement in order.
    pub parameters: Vec<Vec<Values>>,
    /// Places that had one value in each transaction of the sample, as (statement in order, place in it).
    pub shared: Vec<Vec<(usize, usize)>>,
    #[serde(skip)]
    pub(crate) sample: Sample<Vec<Values>>,
}

/// What all logs say together.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Of the first and the last event, in µs of the server's wall clock.
    pub first_us: Option<i64>,
    /// See `first_us`.
    pub last_us: Option<i64>,
    /// The longest in all first.
    pub statements: Vec<SeenStatement>,
    /// Explicit ones (BEGIN … COMMIT), the most frequent first.
    pub transactions: Vec<SeenTransaction>,
    /// Calls of statements for which there was no room any more.
    pub other_calls: u64,
    /// Entries of auto_explain whose statement could be told.
    pub plans: u64,
    /// Those of them with a value that is cut, which are not used.
    pub plans_cut: u64,
    /// Those of them for whose statements there was no room any more.
    pub other_plans: u64,
    /// Transactions that were too long or for which there was no room.
    pub other_transactions: u64,
    /// Sessions with a call.
    pub sessions: u64,
    /// The most sessions at once that had not ended; None where no end of one is logged.
    pub sessions_most: Option<u64>,
    /// Pauses between a session's transactions: how many, and their sum in ms.
    pub pauses: u64,
    /// See `pauses`.
    pub pause_ms: f64,
    /// Pauses, within transactions or between them, at whose end the time has no part of a second: none of them counts.
    pub pauses_unknown: u64,
    /// Calls by minute, from the first on, as pairs of the minute's number and its calls.
    pub minutes: BTreeMap<i64, u64>,
    /// What was read, and what could not be.
    #[serde(flatten)]
    pub tally: Tally,
}
