//! When write amplification stands still: by means over whole waves, from windows of equal length.
//!
//! Data that were written together are collected together, so write amplification comes in waves, one for each turn of
//! the flash, and the waves fade only as cold data are written anew. Two windows may agree by chance while it still
//! swings. `pgassay drive simulate` and the emulated drive settle by this one rule.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::counters::Counters;
use crate::drive::Drive;
use crate::error::FlashError;

/// Windows in a drive write.
const WINDOWS: u32 = 10;
/// Of each of the two one-sided tests.
const CONFIDENCE: f64 = 0.95;
/// In a stretch, at most: 10 to 30 are enough (Schmeiser, Operations Research 30 (1982) 556-568).
const BATCHES: usize = 10;
/// Waves in a stretch, and batches, at least.
const LEAST: usize = 3;
/// Times as many windows before the next look: frequent looks would find by chance what they look for.
const NEXT_LOOK: f64 = 1.05;

/// Whether the mean of write amplification stopped moving: `windows` begin where ageing began, `wave` (a turn of the
/// flash) and `stretch` are in windows.
///
/// The first third at least is left out, and the two stretches after it are compared. Each has three waves at least and
/// is no shorter than `stretch`. Steady means that the difference of their means is shown to lie within `tolerance`
/// times the mean: both ends of its 90 % interval do, by two one-sided tests (Schuirmann, Journal of Pharmacokinetics
/// and Biopharmaceutics 15 (1987) 657-680), with standard errors by batch means. Noise that hides a drift is no proof.
pub fn is_steady(windows: &[f64], wave: f64, stretch: f64, tolerance: f64) -> bool {
    let count = windows.len();
    if !wave.is_finite() || !stretch.is_finite() {
        return false;
    }
    let length = (stretch.ceil() as usize).max((LEAST as f64 * wave.max(1.0)).ceil() as usize).max(count / 3);
    if count < length.saturating_mul(3) {
        return false;
    }
    let batch = (wave.ceil() as usize).max(length.div_ceil(BATCHES)).min(length / LEAST);
    let later = Batches::of(&windows[count - length..], batch);
    let earlier = Batches::of(&windows[count - 2 * length..count - length], batch);
    let freedom = (later.count + earlier.count - 2) as f64;
    let Ok(t) = StudentsT::new(0.0, 1.0, freedom) else { return false };
    let error = later.error.hypot(earlier.error);
    (later.mean - earlier.mean).abs() + t.inverse_cdf(CONFIDENCE) * error <= tolerance * later.mean.abs()
}

/// Means of successive batches, together.
struct Batches {
    count: usize,
    mean: f64,
    /// Standard error of the mean.
    error: f64,
}

impl Batches {
    /// Of batches of so many windows; what is left over at the start belongs to none.
    fn of(windows: &[f64], length: usize) -> Self {
        let means: Vec<f64> = windows.rchunks_exact(length).map(mean).collect();
        let (count, middle) = (means.len(), mean(&means));
        let squares: f64 = means.iter().map(|each| (each - middle).powi(2)).sum();
        Self { count, mean: middle, error: (squares / (count - 1) as f64 / count as f64).sqrt() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// When [`until_steady`] ends.
#[derive(Debug, Clone, Copy)]
pub struct Settling {
    /// Relative difference of two stretches that counts as none.
    pub tolerance: f64,
    /// Drive writes at most.
    pub limit: f64,
    /// Drive writes in which the coldest data are written once over, as far as it is known; a stretch is no shorter.
    pub coldest_turn: f64,
}

/// How [`until_steady`] ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Drive writes written.
    pub drive_writes: f64,
    /// Mean over the last third of what was written, which holds three waves at least if it is steady; `None` if
    /// nothing was written.
    pub write_amplification: Option<f64>,
    /// Whether it stood still; false if the limit came first.
    pub reached: bool,
}

/// Calls `write`, which writes so many blocks of the load in question, until write amplification is steady or the limit
/// is reached. A stretch is at least a drive write.
///
/// # Errors
/// That of a write.
pub fn until_steady<D: Drive>(
    drive: &mut D,
    settling: Settling,
    mut write: impl FnMut(&mut D, u64) -> Result<(), FlashError>,
) -> Result<Steady, FlashError> {
    let begin = drive.counters();
    let blocks = f64::from(drive.logical_blocks());
    let (mut windows, mut due, mut reached) = (Vec::new(), 1, false);
    let drive_writes = |now: &Counters| now.host_blocks_written() as f64 / blocks;
    let mut written = Counters::default();
    while !reached && drive_writes(&written) < settling.limit {
        let before = drive.counters();
        write(drive, u64::from(drive.logical_blocks().div_ceil(WINDOWS)))?;
        let window = drive.counters().since(&before);
        written = drive.counters().since(&begin);
        let Some(amplification) = window.write_amplification() else { break };
        windows.push(amplification);
        if windows.len() >= due {
            let wave = drive.usable_bytes() as f64 / (mean(&windows) * window.host_bytes_written as f64);
            let stretch = settling.coldest_turn.max(1.0) / drive_writes(&window);
            reached = is_steady(&windows, wave, stretch, settling.tolerance);
            due = (NEXT_LOOK * windows.len() as f64).ceil() as usize;
        }
    }
    let last = &windows[windows.len() - windows.len().div_ceil(3)..];
    Ok(Steady {
        drive_writes: drive_writes(&written),
        write_amplification: (!last.is_empty()).then(|| mean(last)),
        reached,
    })
}
