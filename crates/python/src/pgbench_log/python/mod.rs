//! `pgassay._core.read_pgbench_logs`: arguments checked, the interpreter's lock released, errors turned into Python's.

mod log;
mod series;
mod totals;

use std::path::PathBuf;
use std::thread;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

pub use log::PgbenchLog;
pub use series::PgbenchSeries;
pub use totals::PgbenchTotals;

use super::error::LogError;
use super::line::LineFormat;
use super::reader::{ReadOptions, read_logs};

create_exception!(
    pgassay._core,
    PgbenchLogError,
    PyValueError,
    "A line that is not pgbench's (path, line_number, text, reason), or times too far apart (all None)."
);

/// Adds the function, its results and its error to `pgassay._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PgbenchLogError", module.py().get_type::<PgbenchLogError>())?;
    module.add_class::<PgbenchLog>()?;
    module.add_class::<PgbenchSeries>()?;
    module.add_class::<PgbenchTotals>()?;
    module.add_function(wrap_pyfunction!(read_pgbench_logs, module)?)
}

/// Longer intervals have no use, and would leave the room of 64-bit microseconds.
const MAX_INTERVAL_S: f64 = 86_400.0;

/// Reading is bound by memory sooner than by processors.
const MAX_THREADS: usize = 16;

/// Reads the files that one `pgbench -l` run wrote, each once, and counts their transactions together.
#[pyfunction]
#[pyo3(signature = (paths, *, start_us = None, has_lag = false, has_retries = false, interval_s = 1.0, threads = None))]
pub fn read_pgbench_logs(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    start_us: Option<i64>,
    has_lag: bool,
    has_retries: bool,
    interval_s: f64,
    threads: Option<usize>,
) -> PyResult<PgbenchLog> {
    let interval_us = (interval_s * 1e6).round();
    if !(interval_us >= 1.0 && interval_s <= MAX_INTERVAL_S) {
        let message =
            format!("interval_s {interval_s} is not between 0.000001 and {MAX_INTERVAL_S}");
        return Err(PyValueError::new_err(message));
    }
    if paths.is_empty() {
        return Err(PyValueError::new_err("no log file given"));
    }
    let twice = paths
        .iter()
        .enumerate()
        .find_map(|(i, path)| paths[..i].contains(path).then_some(path));
    if let Some(path) = twice {
        return Err(PyValueError::new_err(format!(
            "log file \"{}\" is given twice",
            path.display()
        )));
    }
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(cores).clamp(1, MAX_THREADS);
    let options = ReadOptions::new(
        LineFormat {
            has_lag,
            has_retries,
        },
        interval_us as i64,
        start_us,
        threads,
    );
    py.detach(|| read_logs(&paths, &options).map(|logs| PgbenchLog::new(logs, &options)))
        .map_err(|error| python_error(py, error))
}

fn python_error(py: Python<'_>, error: LogError) -> PyErr {
    let message = error.to_string();
    let (path, line_number, text, reason) = match error {
        LogError::Io { path, source } => return os_error(path, &source, message),
        LogError::Line {
            path,
            line_number,
            text,
            reason,
        } => (Some(path), Some(line_number), Some(text), Some(reason)),
        LogError::Span { .. } => (None, None, None, None),
    };
    let python_error = PgbenchLogError::new_err(message);
    let value = python_error.value(py);
    let set = value
        .setattr("path", path.map(|path| path.to_string_lossy().into_owned()))
        .and_then(|()| value.setattr("line_number", line_number))
        .and_then(|()| value.setattr("text", text))
        .and_then(|()| value.setattr("reason", reason));
    set.err().unwrap_or(python_error)
}

/// With the system's number Python makes it the FileNotFoundError or PermissionError that it is.
fn os_error(path: PathBuf, source: &std::io::Error, message: String) -> PyErr {
    let Some(number) = source.raw_os_error() else {
        return PyOSError::new_err(message);
    };
    let words = source.to_string();
    let words = words
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned();
    PyOSError::new_err((number, words, path.to_string_lossy().into_owned()))
}
