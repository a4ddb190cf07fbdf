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

/// A second of a log that is played.
#[derive(Clone, Copy, Default, Serialize)]
pub struct OfSecond {
    /// Calls answered in it, failures left out.
    pub answered: u64,
    /// Their latencies together.
    pub latency_sum_ns: u64,
    /// Calls sent in it.
    pub sent: u64,
    /// How long after they were due, together.
    pub lateness_sum_ns: u64,
}

/// A way in which calls of a statement of a log failed that did not fail in the source.
#[derive(Clone, Serialize)]
pub struct OfFailure {
    /// Which statement.
    pub statement: usize,
    /// SQLSTATE.
    pub code: String,
    /// The server's words for the first of them.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// Into so many equal parts of its time a timed slice is divided.
pub const PARTS: usize = 10;
const SECONDS_MAX: usize = 100_000;

/// All that a slice yields.
#[derive(Clone, Default, Serialize)]
pub struct Tally {
    /// By script, in the order given.
    pub scripts: Vec<OfScript>,
    /// Transactions given up after a serialization failure or a deadlock, by SQLSTATE.
    pub failed: BTreeMap<String, u64>,
    /// Calls of a log that failed in the source, too.
    pub failed_alike: u64,
    /// Of a log: how calls failed here and not in the source.
    pub failures: Vec<OfFailure>,
    /// Of a log: calls that were due and never sent, or never answered.
    pub unsent: u64,
    /// Of a log: its seconds, from the opening on.
    pub seconds: Vec<OfSecond>,
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

    /// The second of this number; the last one that is kept where a log is played for days.
    pub fn second(&mut self, number: u64) -> &mut OfSecond {
        let place = usize::try_from(number).map_or(SECONDS_MAX, |it| it.min(SECONDS_MAX));
        if self.seconds.len() <= place {
            self.seconds.resize(place + 1, OfSecond::default());
        }
        &mut self.seconds[place]
    }

    /// Keep a failure of a statement.
    pub fn fail(&mut self, statement: usize, code: String, message: String) {
        *self.failed.entry(code.clone()).or_default() += 1;
        let same = |each: &&mut OfFailure| each.statement == statement && each.code == code;
        match self.failures.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None => self.failures.push(OfFailure {
                statement,
                code,
                message,
                count: 1,
            }),
        }
    }

    /// Add another thread's; what only a log has is one thread's.
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
        self.unsent += other.unsent;
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
