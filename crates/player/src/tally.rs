//! What a slice yields: transactions, failures and latencies, of all threads together.
//!
//! Latencies are kept in histograms of three significant digits (HdrHistogram), so that slices can be added up and
//! quantiles taken of the sum; sums and extremes are exact.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

const DIGITS: u8 = 3;
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Latencies in nanoseconds.
#[derive(Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    sum_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are in order");
        Self {
            histogram,
            sum_ns: 0,
        }
    }
}

/// As it is written: exact count, sum and extremes, then value and count of each bucket that holds anything.
#[derive(Serialize)]
pub struct WrittenLatencies {
    count: u64,
    sum_ns: u64,
    least_ns: u64,
    most_ns: u64,
    buckets: Vec<(u64, u64)>,
}

impl Latencies {
    /// Keep one.
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns.max(1));
        self.sum_ns += latency_ns;
    }

    /// Add another's.
    pub fn add(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both have the same bounds");
        self.sum_ns += other.sum_ns;
    }

    fn written(&self) -> WrittenLatencies {
        let buckets = self
            .histogram
            .iter_recorded()
            .map(|each| (each.value_iterated_to(), each.count_at_value()))
            .collect();
        let empty = self.histogram.is_empty();
        WrittenLatencies {
            count: self.histogram.len(),
            sum_ns: self.sum_ns,
            least_ns: if empty { 0 } else { self.histogram.min() },
            most_ns: if empty { 0 } else { self.histogram.max() },
            buckets,
        }
    }
}

impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written().serialize(serializer)
    }
}

/// A statement of a script.
#[derive(Clone, Copy, Default, Serialize)]
pub struct OfStatement {
    /// Answers that came.
    pub count: u64,
    /// From sending to the whole answer, together.
    pub sum_ns: u64,
    /// The shortest of them.
    pub least_ns: u64,
    /// The longest of them.
    pub most_ns: u64,
    /// Rows that they returned or changed, as the commands say.
    pub rows: u64,
}

impl OfStatement {
    /// Keep one, with its rows.
    pub fn record(&mut self, latency_ns: u64, rows: u64) {
        self.rows += rows;
        self.least_ns = if self.count == 0 {
            latency_ns
        } else {
            self.least_ns.min(latency_ns)
        };
        self.most_ns = self.most_ns.max(latency_ns);
        self.count += 1;
        self.sum_ns += latency_ns;
    }

    fn add(&mut self, other: &Self) {
        if other.count > 0 {
            self.least_ns = if self.count == 0 {
                other.least_ns
            } else {
                self.least_ns.min(other.least_ns)
            };
            self.most_ns = self.most_ns.max(other.most_ns);
            self.count += other.count;
            self.sum_ns += other.sum_ns;
            self.rows += other.rows;
        }
    }
}

/// A script of the load.
#[derive(Clone, Default, Serialize)]
pub struct OfScript {
    /// Transactions that ended well.
    pub latencies: Latencies,
    /// By statement, in the script's order.
    pub statements: Vec<OfStatement>,
}

/// Into so many equal parts of its time a timed slice is divided.
pub const PARTS: usize = 10;

/// All that a slice yields.
#[derive(Clone, Default, Serialize)]
pub struct Tally {
    /// By script, in the order given.
    pub scripts: Vec<OfScript>,
    /// Transactions given up after a serialization failure or a deadlock, by SQLSTATE.
    pub failed: BTreeMap<String, u64>,
    /// Calls of a log that failed in the source, too.
    pub failed_alike: u64,
    /// Of a log: how long after it was due each call was sent.
    pub lateness: Latencies,
    /// Tries beyond the first.
    pub retries: u64,
    /// Transactions slower than the limit.
    pub late: u64,
    /// Transactions that ended well in each tenth of a timed slice; what ended after its closing is in none.
    pub parts: [u64; PARTS],
    /// Clients that ended, with the reason.
    pub aborted: Vec<String>,
    /// When the last transaction ended.
    pub drained_ns: u64,
    /// Processor time of the player's threads.
    pub cpu_ns: u64,
}

impl Tally {
    /// An empty one for scripts with so many statements each.
    #[must_use]
    pub fn new(statements: &[usize]) -> Self {
        let of = |count: &usize| OfScript {
            latencies: Latencies::default(),
            statements: vec![OfStatement::default(); *count],
        };
        Self {
            scripts: statements.iter().map(of).collect(),
            ..Self::default()
        }
    }

    /// Add another thread's.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.scripts.iter_mut().zip(&other.scripts) {
            mine.latencies.add(&theirs.latencies);
            for (mine, theirs) in mine.statements.iter_mut().zip(&theirs.statements) {
                mine.add(theirs);
            }
        }
        for (code, count) in &other.failed {
            *self.failed.entry(code.clone()).or_default() += count;
        }
        self.failed_alike += other.failed_alike;
        self.lateness.add(&other.lateness);
        self.retries += other.retries;
        self.late += other.late;
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            *mine += theirs;
        }
        self.aborted.extend(other.aborted.iter().cloned());
        self.drained_ns = self.drained_ns.max(other.drained_ns);
        self.cpu_ns += other.cpu_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_add_up() {
        let mut first = Tally::new(&[2]);
        first.scripts[0].latencies.record(1_000);
        first.scripts[0].statements[1].record(700, 2);
        let mut second = Tally::new(&[2]);
        second.scripts[0].latencies.record(3_000);
        second.scripts[0].statements[1].record(900, 3);
        second.failed.insert("40001".into(), 2);
        first.add(&second);
        let written = serde_json::to_value(&first).unwrap();
        assert_eq!(written["scripts"][0]["latencies"]["count"], 2);
        assert_eq!(written["scripts"][0]["latencies"]["sum_ns"], 4_000);
        assert_eq!(written["scripts"][0]["statements"][1]["least_ns"], 700);
        assert_eq!(written["scripts"][0]["statements"][1]["rows"], 5);
        assert_eq!(written["failed"]["40001"], 2);
    }

    #[test]
    fn an_answer_that_is_there_at_once_still_has_a_latency() {
        let mut latencies = Latencies::default();
        latencies.record(0);
        assert_eq!(latencies.written().least_ns, 1);
    }
}
