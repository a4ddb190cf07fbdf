//! `PgbenchSeries`: columns as memoryviews of 64-bit integers or floats, which `numpy.asarray` takes as they are.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};

use crate::pgbench_log::series::{Column, Series};

/// One row for every interval from the first to the last.
#[pyclass(module = "pgassay._core", frozen)]
pub struct PgbenchSeries(pub(super) Arc<Series>);

#[pymethods]
impl PgbenchSeries {
    fn __len__(&self) -> usize {
        self.0.length
    }

    /// The columns' names, in order.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.0.columns.iter().map(|(name, _)| *name).collect()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.0.columns.iter().find(|(known, _)| *known == name);
        view(
            py,
            &column
                .ok_or_else(|| PyKeyError::new_err(name.to_owned()))?
                .1,
        )
    }

    /// All columns by name, in order.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, column) in &self.0.columns {
            columns.set_item(name, view(py, column)?)?;
        }
        Ok(columns)
    }

    fn __repr__(&self) -> String {
        format!(
            "<PgbenchSeries rows={} columns={}>",
            self.0.length,
            self.0.columns.len()
        )
    }
}

fn view<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::Counts(counts) => view_of(py, counts, i64::to_ne_bytes, "q"),
        Column::Values(values) => view_of(py, values, f64::to_ne_bytes, "d"),
    }
}

/// Numbers as a memoryview of the format that `struct` calls `format`.
fn view_of<'py, T: Copy>(
    py: Python<'py>,
    numbers: &[T],
    to_bytes: fn(T) -> [u8; 8],
    format: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| to_bytes(*number))
        .collect();
    PyMemoryView::from(&PyBytes::new(py, &bytes))?.call_method1("cast", (format,))
}
