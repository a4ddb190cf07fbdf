//! `pgassay._core`'s reader of PostgreSQL's server logs: single events, or all that a capture takes of them.

use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serverlog::{LogFormat, Place, Prefix, Reader, normalize, parameters, summarize_beside};

/// Adds the functions and the iterator to `pgassay._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ServerLogReader>()?;
    module.add_function(wrap_pyfunction!(summarize_server_logs, module)?)?;
    module.add_function(wrap_pyfunction!(normalize_statement, module)?)
}

/// time_us, session, database, user, kind, text, parameters, duration_ms.
type Event = (
    i64,
    String,
    String,
    String,
    &'static str,
    String,
    Vec<Option<String>>,
    Option<f64>,
);

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn told(event: &serverlog::Event) -> Event {
    let values = parameters(&event.parameters);
    (
        event.time_us,
        text(&event.session),
        text(&event.database),
        text(&event.user),
        event.kind.name(),
        text(&event.text),
        values
            .into_iter()
            .map(|each| each.map(|it| text(&it)))
            .collect(),
        event.duration_ms,
    )
}

fn reader(paths: Vec<PathBuf>, prefixes: &[String], format: Option<&str>) -> PyResult<Reader> {
    let parsed = prefixes
        .iter()
        .map(|each| Prefix::parse(each))
        .collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let unknown = |name| {
        let names: Vec<&str> = LogFormat::names().collect();
        PyValueError::new_err(format!("no log format \"{name}\": {}", names.join(", ")))
    };
    let format = format
        .map(|name| LogFormat::named(name).ok_or_else(|| unknown(name)))
        .transpose()?;
    Ok(Reader::new(paths, format, parsed))
}

fn os_error(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Iterates over the events of logs, one after another.
#[pyclass(module = "pgassay._core")]
pub struct ServerLogReader(Reader);

#[pymethods]
impl ServerLogReader {
    #[new]
    #[pyo3(signature = (paths, prefixes, *, log_format = None))]
    fn new(paths: Vec<PathBuf>, prefixes: Vec<String>, log_format: Option<&str>) -> PyResult<Self> {
        reader(paths, &prefixes, log_format).map(Self)
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Option<Event>> {
        let event = self.0.next_event().map_err(os_error)?;
        Ok(event.map(told))
    }

    /// Records that could not be read: another prefix, or damaged.
    #[getter]
    fn unread(&self) -> u64 {
        self.0.tally().unread
    }

    /// Records that seem to be events in another language than English.
    #[getter]
    fn foreign(&self) -> u64 {
        self.0.tally().foreign
    }

    /// Records with a statement or its values that may not be whole, and are not used.
    #[getter]
    fn doubtful(&self) -> u64 {
        self.0.tally().doubtful
    }

    /// Entries of auto_explain of which the end of the statement cannot be told.
    #[getter]
    fn plans_unread(&self) -> u64 {
        self.0.tally().plans_unread
    }

    /// Logs whose last record is not whole.
    #[getter]
    fn torn(&self) -> u64 {
        self.0.tally().torn
    }
}

/// The whole of the logs as JSON: statements, transactions, arrivals by minute. The interpreter's lock is released, but
/// for the calls of `beside`, which gets each event. Of each file no more than `most_bytes` are read.
#[pyfunction]
#[pyo3(signature = (
    paths, prefixes, *, log_format = None, database = "", keep_values = false, beside = None, most_bytes = None
))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub fn summarize_server_logs<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    prefixes: Vec<String>,
    log_format: Option<&str>,
    database: &str,
    keep_values: bool,
    beside: Option<Py<PyAny>>,
    most_bytes: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut reader = reader(paths, &prefixes, log_format)?.limited(most_bytes.unwrap_or(u64::MAX));
    let mut raised = None;
    let written = py.detach(|| {
        let give = |event: &serverlog::Event| {
            let Some(beside) = &beside else { return Ok(()) };
            Python::attach(|py| beside.call1(py, (told(event),)))
                .map(|_| ())
                .map_err(|error| {
                    raised = Some(error);
                    std::io::Error::other("beside")
                })
        };
        let found = summarize_beside(&mut reader, database.as_bytes(), keep_values, give)?;
        serde_json::to_vec(&found).map_err(std::io::Error::other)
    });
    match (raised, written) {
        (Some(error), _) => Err(error),
        (None, written) => written
            .map(|bytes| PyBytes::new(py, &bytes))
            .map_err(os_error),
    }
}

/// The text with `$1`, `$2` … in order for each constant and parameter; the number that each had, or None.
#[pyfunction]
pub fn normalize_statement(statement: &str) -> (String, Vec<Option<usize>>) {
    let (mut written, mut places) = (Vec::new(), Vec::new());
    normalize(statement.as_bytes(), &mut written, &mut places);
    let numbers = places.iter().map(|place| match place {
        Place::Parameter(number) => Some(*number),
        Place::Null | Place::Constant(_) => None,
    });
    (text(&written), numbers.collect())
}
