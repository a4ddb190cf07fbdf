//! `pgassay._core.LatencySketch`: the sketch as Python sees it, with bad values refused as `ValueError`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{LatencySketch, MAX_COUNT, MAX_LATENCY_US, RELATIVE_ERROR};

/// Adds the class to `pgassay._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLatencySketch>()
}

/// Latencies in whole microseconds with exact moments and quantiles within `RELATIVE_ERROR`.
#[pyclass(name = "LatencySketch", module = "pgassay._core", eq)]
#[derive(Clone, Default, PartialEq)]
pub struct PyLatencySketch(pub LatencySketch);

#[pymethods]
impl PyLatencySketch {
    /// The largest distance of a quantile from the exact one, as a share of it.
    #[classattr]
    const RELATIVE_ERROR: f64 = RELATIVE_ERROR;

    /// The largest latency that can be recorded, in µs.
    #[classattr]
    const MAX_LATENCY_US: u64 = MAX_LATENCY_US;

    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds `count` transactions of `latency_us`.
    #[pyo3(signature = (latency_us, count = 1))]
    fn record(&mut self, latency_us: u64, count: u64) -> PyResult<()> {
        if latency_us > MAX_LATENCY_US {
            return Err(PyValueError::new_err(format!(
                "latency {latency_us} us is more than {MAX_LATENCY_US} us"
            )));
        }
        self.check_room(count)?;
        self.0.record(latency_us, count);
        Ok(())
    }

    /// Adds all that `other` has recorded.
    fn merge(slf: Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.borrow().0.clone(); // cloned first: a sketch may be merged into itself
        let mut this = slf.borrow_mut();
        this.check_room(other.count())?;
        this.0.merge(&other);
        Ok(())
    }

    /// The nearest-rank quantile in µs, or None when empty.
    fn quantile(&self, q: f64) -> PyResult<Option<f64>> {
        if !(0.0..=1.0).contains(&q) {
            return Err(PyValueError::new_err(format!(
                "quantile {q} is not between 0 and 1"
            )));
        }
        Ok(self.0.quantile(q))
    }

    /// The sketch as bytes, a few hundred for a usual load.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The sketch that `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        LatencySketch::from_bytes(data)
            .map(Self)
            .map_err(|why| PyValueError::new_err(format!("not a latency sketch: {}", why.0)))
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn sum_us(&self) -> u128 {
        self.0.sum_us()
    }

    #[getter]
    fn min_us(&self) -> Option<u64> {
        self.0.min_us()
    }

    #[getter]
    fn max_us(&self) -> Option<u64> {
        self.0.max_us()
    }

    #[getter]
    fn mean_us(&self) -> Option<f64> {
        self.0.mean_us()
    }

    #[getter]
    fn stddev_us(&self) -> Option<f64> {
        self.0.stddev_us()
    }

    fn __repr__(&self) -> String {
        match (self.0.mean_us(), self.0.quantile(0.99)) {
            (Some(mean), Some(p99)) => {
                format!(
                    "<LatencySketch count={} mean={mean:.1} us p99={p99:.1} us>",
                    self.0.count()
                )
            }
            _ => "<LatencySketch empty>".to_owned(),
        }
    }
}

impl PyLatencySketch {
    fn check_room(&self, more: u64) -> PyResult<()> {
        if self.0.count().saturating_add(more) > MAX_COUNT {
            return Err(PyValueError::new_err(format!(
                "more than {MAX_COUNT} latencies in one sketch"
            )));
        }
        Ok(())
    }
}
