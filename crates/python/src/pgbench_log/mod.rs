//! The per-transaction log that `pgbench -l` writes, read into a series and quantiles.
//!
//! Lines are `client transaction time script epoch_s epoch_us [lag] [retries]` (PostgreSQL manual, pgbench, "Per-
//! Transaction Logging"), one file a thread. They are read once, through a small buffer, by as many threads as the
//! machine offers; what is kept is one small tally and sketch for each interval and script, so memory follows the
//! length of the run, never the size of the log.

mod chunk;
mod collector;
mod error;
mod line;
mod python;
mod reader;
mod series;
mod tally;

pub use error::LogError;
pub use python::{PgbenchLog, PgbenchLogError, PgbenchSeries, PgbenchTotals, register};

#[cfg(test)]
mod tests;
