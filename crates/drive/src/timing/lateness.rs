//! How far the emulation was from what it was asked for: the time of every answer against the time that the model gave.
//! Answers are never sent early, so the error has one sign.

use flash::timing::Latencies;
use flash::trace::Operation;
use serde_json::{Value, json};

/// An answer is late if its request took longer than asked by more than this share.
const TOLERANCE: f64 = 0.1;

/// One kind of request.
#[derive(Debug, Default)]
struct Kind {
    asked: Latencies,
    late: Latencies,
    late_requests: u64,
}

/// All answers so far.
#[derive(Debug, Default)]
pub struct Lateness {
    reads: Kind,
    writes: Kind,
    others: Kind,
}

impl Lateness {
    /// An answer was due after `asked_ns` and sent `late_ns` later.
    pub fn note(&mut self, operation: Operation, asked_ns: u64, late_ns: u64) {
        let kind = match operation {
            Operation::Read => &mut self.reads,
            Operation::Write | Operation::WriteZeroes => &mut self.writes,
            Operation::Flush | Operation::Trim => &mut self.others,
        };
        kind.asked.record(asked_ns);
        kind.late.record(late_ns);
        kind.late_requests += u64::from(late_ns as f64 > asked_ns as f64 * TOLERANCE);
    }

    /// Sums, from which a window's error follows.
    pub fn sums(&self) -> Value {
        let sum = |part: fn(&Kind) -> u64| [&self.reads, &self.writes, &self.others].into_iter().map(part).sum::<u64>();
        json!({
            "timed_requests": sum(|kind| kind.asked.count()),
            "asked_ns": sum(|kind| kind.asked.sum_ns() as u64),
            "late_ns": sum(|kind| kind.late.sum_ns() as u64),
            "late_requests": sum(|kind| kind.late_requests),
        })
    }

    /// Distributions, by kind of request.
    pub fn report(&self) -> Value {
        json!({ "reads": self.reads.report(), "writes": self.writes.report(), "flushes": self.others.report() })
    }
}

impl Kind {
    /// Null of no requests.
    fn report(&self) -> Value {
        let Some(asked_mean_ns) = self.asked.mean_ns() else { return Value::Null };
        json!({
            "requests": self.asked.count(),
            "asked_mean_ns": asked_mean_ns.round(),
            "asked_p50_ns": self.asked.quantile_ns(0.5),
            "asked_p99_ns": self.asked.quantile_ns(0.99),
            "late_mean_ns": self.late.mean_ns().map(f64::round),
            "late_p50_ns": self.late.quantile_ns(0.5),
            "late_p99_ns": self.late.quantile_ns(0.99),
            "late_max_ns": self.late.max_ns(),
            "late_share": self.late_requests as f64 / self.asked.count() as f64,
            "late_histogram": by_octave(&self.late.histogram()),
        })
    }
}

/// Counts below each power of two, as (upper end, exclusive; requests).
fn by_octave(histogram: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for &(highest_ns, count) in histogram {
        let end = (highest_ns + 1).next_power_of_two();
        match found.last_mut() {
            Some(last) if last.0 == end => last.1 += count,
            _ => found.push((end, count)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use flash::trace::Operation;
    use serde_json::{Value, json};

    use super::{Lateness, by_octave};

    #[test]
    fn errors_are_counted_by_kind_and_in_all() {
        let mut seen = Lateness::default();
        seen.note(Operation::Read, 1000, 100);
        seen.note(Operation::Read, 1000, 101);
        seen.note(Operation::Flush, 50, 0);
        let told = seen.report();
        assert_eq!((&told["reads"]["requests"], &told["reads"]["late_share"]), (&json!(2), &json!(0.5)));
        assert_eq!((&told["writes"], &told["flushes"]["late_max_ns"]), (&Value::Null, &json!(0)));
        let sums = json!({"timed_requests": 3, "asked_ns": 2050, "late_ns": 201, "late_requests": 1});
        assert_eq!(seen.sums(), sums);
    }

    #[test]
    fn a_histogram_has_a_row_for_each_doubling() {
        assert_eq!(by_octave(&[(0, 5), (1, 1), (100, 2), (127, 1), (130, 4)]), [(1, 5), (2, 1), (128, 3), (256, 4)]);
    }
}
