//! The crate's errors as Python's.

use flash::FlashError;
use flash::trace::TraceError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};

create_exception!(
    pgassay._core,
    FlashOutOfSpaceError,
    PyValueError,
    "A compressing drive has no physical space left for a write."
);

/// A description or request that the model refuses.
pub fn refused(error: FlashError) -> PyErr {
    match error {
        FlashError::OutOfSpace { .. } => FlashOutOfSpaceError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A trace that cannot be read or written.
pub fn untraceable(error: TraceError) -> PyErr {
    match error {
        TraceError::Io(error) => PyOSError::new_err(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}
