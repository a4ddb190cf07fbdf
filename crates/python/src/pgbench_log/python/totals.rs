//! `PgbenchTotals`: counts and latencies over any number of intervals, of all scripts or one.

use pyo3::prelude::*;

use crate::latency_sketch::PyLatencySketch;
use crate::pgbench_log::line::Outcome;
use crate::pgbench_log::tally::{Counts, Tally};

/// Counts by outcome, and the latencies of the successful transactions.
#[pyclass(module = "pgassay._core", frozen)]
pub struct PgbenchTotals {
    counts: Counts,
    latency: PyLatencySketch,
    has_lag: bool,
}

impl PgbenchTotals {
    pub(super) fn new(tally: Tally, has_lag: bool) -> Self {
        Self {
            counts: tally.counts,
            latency: PyLatencySketch(tally.latency),
            has_lag,
        }
    }
}

#[pymethods]
impl PgbenchTotals {
    /// Successful transactions.
    #[getter]
    fn transactions(&self) -> u64 {
        self.counts.of(Outcome::Succeeded)
    }

    /// Failed for any reason.
    #[getter]
    fn failed(&self) -> u64 {
        self.counts.failed()
    }

    /// Failed to serialize; known only with `--failures-detailed`, as the two below.
    #[getter]
    fn serialization_failures(&self) -> u64 {
        self.counts.of(Outcome::Serialization)
    }

    #[getter]
    fn deadlock_failures(&self) -> u64 {
        self.counts.of(Outcome::Deadlock)
    }

    #[getter]
    fn other_failures(&self) -> u64 {
        self.counts.of(Outcome::Other)
    }

    /// Not started for being later than `--latency-limit`.
    #[getter]
    fn skipped(&self) -> u64 {
        self.counts.of(Outcome::Skipped)
    }

    /// Transactions that were tried more than once, failed ones included.
    #[getter]
    fn retried(&self) -> u64 {
        self.counts.retried
    }

    #[getter]
    fn retries(&self) -> u64 {
        self.counts.retries
    }

    /// Mean lag behind the schedule in µs; None without a lag column or a successful transaction.
    #[getter]
    fn lag_mean_us(&self) -> Option<f64> {
        let transactions = self.transactions();
        (self.has_lag && transactions > 0)
            .then(|| self.counts.lag_sum_us as f64 / transactions as f64)
    }

    #[getter]
    fn lag_max_us(&self) -> Option<u64> {
        (self.has_lag && self.transactions() > 0).then_some(self.counts.lag_max_us)
    }

    /// Latencies of the successful transactions.
    #[getter]
    fn latency(&self) -> PyLatencySketch {
        self.latency.clone()
    }

    fn __repr__(&self) -> String {
        let (failed, skipped) = (self.failed(), self.skipped());
        format!(
            "<PgbenchTotals transactions={} failed={failed} skipped={skipped}>",
            self.transactions()
        )
    }
}
