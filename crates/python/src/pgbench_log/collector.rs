//! Transactions sorted into intervals and scripts as they come.
//!
//! pgbench's log is nearly in order of time within a file, but files, and pieces of a file read by other threads, are
//! not. A few intervals stay open with their full histograms; the others are packed, and merged again when a late
//! transaction comes.

use std::collections::BTreeMap;

use super::line::Transaction;
use super::tally::{PackedTally, Tally};

/// The most intervals a log may span (a week of seconds), so that a jump of the clock cannot ask for all the memory.
pub const MAX_INTERVALS: i64 = 7 * 24 * 3600;

/// Intervals that stay open: enough for clients that log late, few enough for the processor's cache.
const OPEN_INTERVALS: usize = 4;

/// Interval number and script.
pub type CellKey = (i64, usize);

/// A transaction outside the span that [`MAX_INTERVALS`] allows.
#[derive(Debug, PartialEq, Eq)]
pub struct SpanTooLong;

/// How time is cut into intervals.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The start of interval 0, in µs since the epoch.
    pub origin_us: i64,
    pub interval_us: i64,
}

impl Grid {
    pub fn start_us(&self, interval: i64) -> i64 {
        self.origin_us
            .saturating_add(interval.saturating_mul(self.interval_us))
    }

    fn interval_of(&self, time_us: i64) -> i64 {
        time_us
            .saturating_sub(self.origin_us)
            .div_euclid(self.interval_us)
    }
}

#[derive(Debug)]
struct OpenInterval {
    interval: i64,
    start_us: i64,
    /// When it was last switched to, in switches.
    last_use: u64,
    scripts: Vec<Tally>,
}

/// The transactions seen so far.
#[derive(Debug)]
pub struct Collector {
    grid: Grid,
    open: Vec<OpenInterval>,
    current: usize,
    switches: u64,
    packed: BTreeMap<CellKey, PackedTally>,
    /// The first and last interval that count for the span.
    span: Option<(i64, i64)>,
    first_us: i64,
    last_us: i64,
}

impl Collector {
    /// With `anchored`, the series starts at the grid's origin at the latest, so the span counts from there.
    pub fn new(grid: Grid, anchored: bool) -> Self {
        let span = anchored.then_some((0, 0));
        let (first_us, last_us) = (i64::MAX, i64::MIN);
        Self {
            grid,
            open: Vec::new(),
            current: 0,
            switches: 0,
            packed: BTreeMap::new(),
            span,
            first_us,
            last_us,
        }
    }

    /// Counts a transaction.
    #[inline]
    pub fn add(&mut self, transaction: &Transaction) -> Result<(), SpanTooLong> {
        let time_us = transaction.ended_us;
        let is_current = self.open.get(self.current).is_some_and(|open| {
            (time_us.wrapping_sub(open.start_us) as u64) < self.grid.interval_us as u64
        });
        if !is_current {
            self.switch_to(self.grid.interval_of(time_us))?;
        }
        self.first_us = self.first_us.min(time_us);
        self.last_us = self.last_us.max(time_us);
        let scripts = &mut self.open[self.current].scripts;
        if transaction.script >= scripts.len() {
            scripts.resize_with(transaction.script + 1, Tally::default);
        }
        scripts[transaction.script].add(transaction);
        Ok(())
    }

    /// All tallies, packed, and the times of the first and last transaction, if there is one.
    pub fn finish(mut self) -> (BTreeMap<CellKey, PackedTally>, Option<(i64, i64)>) {
        for slot in 0..self.open.len() {
            self.pack(slot);
        }
        let times = (self.first_us <= self.last_us).then_some((self.first_us, self.last_us));
        (self.packed, times)
    }

    #[cold]
    fn switch_to(&mut self, interval: i64) -> Result<(), SpanTooLong> {
        self.widen_span(interval)?;
        self.switches += 1;
        self.current = match self.open.iter().position(|open| open.interval == interval) {
            Some(slot) => slot,
            None => self.open_slot(),
        };
        let open = &mut self.open[self.current];
        (open.interval, open.start_us, open.last_use) =
            (interval, self.grid.start_us(interval), self.switches);
        Ok(())
    }

    fn widen_span(&mut self, interval: i64) -> Result<(), SpanTooLong> {
        let (first, last) = self.span.unwrap_or((interval, interval));
        let (first, last) = (first.min(interval), last.max(interval));
        if last.saturating_sub(first) >= MAX_INTERVALS {
            return Err(SpanTooLong);
        }
        self.span = Some((first, last));
        Ok(())
    }

    /// An empty slot: a new one, or the one used longest ago after packing it.
    fn open_slot(&mut self) -> usize {
        if self.open.len() < OPEN_INTERVALS {
            self.open.push(OpenInterval {
                interval: 0,
                start_us: 0,
                last_use: 0,
                scripts: Vec::new(),
            });
            return self.open.len() - 1;
        }
        let slot = (0..OPEN_INTERVALS)
            .min_by_key(|slot| self.open[*slot].last_use)
            .unwrap_or(0);
        self.pack(slot);
        slot
    }

    fn pack(&mut self, slot: usize) {
        let open = &mut self.open[slot];
        for (script, tally) in open
            .scripts
            .iter_mut()
            .enumerate()
            .filter(|(_, tally)| !tally.is_empty())
        {
            merge_packed(
                &mut self.packed,
                (open.interval, script),
                PackedTally::from(&*tally),
            );
            tally.clear();
        }
    }
}

/// Adds `tally` to the cell of `key`.
pub fn merge_packed(cells: &mut BTreeMap<CellKey, PackedTally>, key: CellKey, tally: PackedTally) {
    cells
        .entry(key)
        .and_modify(|cell| {
            let mut sum = Tally::default();
            cell.merge_into(&mut sum);
            tally.merge_into(&mut sum);
            *cell = PackedTally::from(&sum);
        })
        .or_insert(tally);
}
