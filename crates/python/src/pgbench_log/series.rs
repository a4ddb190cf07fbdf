//! The series: one row for every interval from the first to the last, empty ones too.
//!
//! An interval without a transaction is a finding (a stall), so it is a row with zero counts, and with NaN where there
//! is nothing to take a mean or quantile of.

use std::collections::BTreeMap;

use super::collector::{CellKey, Grid};
use super::line::Outcome;
use super::tally::{PackedTally, Tally};

/// A column of the series.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Counts(Vec<i64>),
    Values(Vec<f64>),
}

/// Columns of equal length, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub length: usize,
    pub columns: Vec<(&'static str, Column)>,
}

/// Which rows to build.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub grid: Grid,
    /// The interval of row 0.
    pub first: i64,
    pub length: usize,
    /// Offsets count from the grid's origin, which the caller chose; else from row 0.
    pub is_anchored: bool,
    pub has_lag: bool,
}

/// Builds the rows from the cells in them.
pub fn build(cells: &BTreeMap<CellKey, PackedTally>, extent: Extent) -> Series {
    let Extent {
        grid,
        first,
        length,
        is_anchored,
        has_lag,
    } = extent;
    let mut rows = Rows::default();
    let mut tally = Tally::default();
    let mut next_cell = cells.iter().peekable();
    for row in 0..length {
        let interval = first + row as i64;
        tally.clear();
        while let Some((_, cell)) = next_cell.next_if(|((at, _), _)| *at == interval) {
            cell.merge_into(&mut tally);
        }
        let offset_us = grid.interval_us * if is_anchored { interval } else { row as i64 };
        rows.push(
            &tally,
            grid.start_us(interval).saturating_mul(1000),
            offset_us as f64 / 1e6,
        );
    }
    let mut columns = rows.into_columns();
    columns.retain(|(name, _)| has_lag || !name.starts_with("lag"));
    Series { length, columns }
}

#[derive(Default)]
struct Rows {
    wall_ns: Vec<i64>,
    offset_s: Vec<f64>,
    counts: [Vec<i64>; 6],
    latency: [Vec<f64>; 6],
}

impl Rows {
    fn push(&mut self, tally: &Tally, wall_ns: i64, offset_s: f64) {
        let (counts, latency) = (&tally.counts, &tally.latency);
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let succeeded = counts.of(Outcome::Succeeded);
        self.wall_ns.push(wall_ns);
        self.offset_s.push(offset_s);
        let (skipped, sum_us) = (counts.of(Outcome::Skipped), latency.sum_us() as u64);
        let numbers = [
            succeeded,
            counts.failed(),
            skipped,
            counts.retried,
            counts.retries,
            sum_us,
        ];
        for (column, number) in self.counts.iter_mut().zip(numbers) {
            column.push(number as i64);
        }
        let values = [
            or_nan(latency.mean_us()),
            or_nan(latency.max_us().map(|max| max as f64)),
            or_nan(latency.quantile(0.50)),
            or_nan(latency.quantile(0.95)),
            or_nan(latency.quantile(0.99)),
            counts.lag_sum_us as f64 / succeeded as f64, // 0 / 0 is NaN, as wanted
        ];
        for (column, value) in self.latency.iter_mut().zip(values) {
            column.push(value);
        }
    }

    fn into_columns(self) -> Vec<(&'static str, Column)> {
        let counts = [
            "transactions",
            "failed",
            "skipped",
            "retried",
            "retries",
            "latency_sum_us",
        ];
        let values = [
            "latency_mean_us",
            "latency_max_us",
            "latency_p50_us",
            "latency_p95_us",
            "latency_p99_us",
            "lag_mean_us",
        ];
        let head = [
            ("wall_ns", Column::Counts(self.wall_ns)),
            ("offset_s", Column::Values(self.offset_s)),
        ];
        head.into_iter()
            .chain(counts.into_iter().zip(self.counts.map(Column::Counts)))
            .chain(values.into_iter().zip(self.latency.map(Column::Values)))
            .collect()
    }
}
