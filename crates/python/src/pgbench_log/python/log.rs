//! `PgbenchLog`: the series, the totals, and the sum over any stretch of intervals (a window after the warm-up).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::{PgbenchSeries, PgbenchTotals};
use crate::pgbench_log::collector::Grid;
use crate::pgbench_log::reader::{ReadLogs, ReadOptions};
use crate::pgbench_log::series::{Extent, Series, build};
use crate::pgbench_log::tally::Tally;

/// What one run's logs say.
#[pyclass(module = "pgassay._core", frozen)]
pub struct PgbenchLog {
    logs: ReadLogs,
    series: Arc<Series>,
    extent: Extent,
    start_us: Option<i64>,
}

impl PgbenchLog {
    pub(super) fn new(logs: ReadLogs, options: &ReadOptions) -> Self {
        let grid = Grid {
            origin_us: options.start_us.unwrap_or(0),
            interval_us: options.interval_us,
        };
        let is_anchored = options.start_us.is_some();
        let bounds = logs
            .cells
            .first_key_value()
            .zip(logs.cells.last_key_value());
        let (first, length) = bounds.map_or((0, 0), |(((first, _), _), ((last, _), _))| {
            let first = if is_anchored { (*first).min(0) } else { *first };
            (first, (last - first + 1) as usize)
        });
        let extent = Extent {
            grid,
            first,
            length,
            is_anchored,
            has_lag: options.format.has_lag,
        };
        let series = Arc::new(build(&logs.cells, extent));
        let start_us = options
            .start_us
            .or_else(|| (length > 0).then(|| grid.start_us(first)));
        Self {
            logs,
            series,
            extent,
            start_us,
        }
    }

    fn sum(&self, rows: Range<usize>, script: Option<usize>) -> PgbenchTotals {
        let interval = |row: usize| (self.extent.first + row as i64, 0);
        let mut tally = Tally::default();
        for ((_, cell_script), cell) in self
            .logs
            .cells
            .range(interval(rows.start)..interval(rows.end))
        {
            if script.is_none_or(|script| script == *cell_script) {
                cell.merge_into(&mut tally);
            }
        }
        PgbenchTotals::new(tally, self.extent.has_lag)
    }
}

#[pymethods]
impl PgbenchLog {
    /// Where offsets count from, in µs since the epoch: as given, else the start of the first interval.
    #[getter]
    fn start_us(&self) -> Option<i64> {
        self.start_us
    }

    #[getter]
    fn interval_us(&self) -> i64 {
        self.extent.grid.interval_us
    }

    /// The end of the first transaction, in µs since the epoch.
    #[getter]
    fn first_us(&self) -> Option<i64> {
        self.logs.times_us.map(|(first, _)| first)
    }

    /// The end of the last transaction, in µs since the epoch.
    #[getter]
    fn last_us(&self) -> Option<i64> {
        self.logs.times_us.map(|(_, last)| last)
    }

    /// Whole lines read.
    #[getter]
    fn lines(&self) -> u64 {
        self.logs.lines
    }

    #[getter]
    fn series(&self) -> PgbenchSeries {
        PgbenchSeries(Arc::clone(&self.series))
    }

    /// Everything together.
    #[getter]
    fn totals(&self) -> PgbenchTotals {
        self.sum(0..self.extent.length, None)
    }

    /// Every script that occurs, by its number.
    #[getter]
    fn scripts(&self) -> BTreeMap<usize, PgbenchTotals> {
        let numbers: BTreeSet<usize> = self.logs.cells.keys().map(|(_, script)| *script).collect();
        numbers
            .into_iter()
            .map(|script| (script, self.sum(0..self.extent.length, Some(script))))
            .collect()
    }

    /// Rows `first` up to, not including, `stop` of the series together; of one script if given.
    #[pyo3(signature = (first, stop, script = None))]
    fn window(&self, first: usize, stop: usize, script: Option<usize>) -> PyResult<PgbenchTotals> {
        if first > stop || stop > self.extent.length {
            let message = format!(
                "rows {first} to {stop} are not within the series of {} rows",
                self.extent.length
            );
            return Err(PyIndexError::new_err(message));
        }
        Ok(self.sum(first..stop, script))
    }

    fn __repr__(&self) -> String {
        format!(
            "<PgbenchLog lines={} rows={} torn={}>",
            self.logs.lines,
            self.extent.length,
            self.logs.torn.len()
        )
    }
}
