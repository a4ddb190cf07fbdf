//! A dict that must not hold unknown keys: otherwise a mistyped option would change nothing, unnoticed.

use std::cell::RefCell;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A dict and the keys of it that have been asked for.
pub struct Table<'py> {
    what: &'static str,
    dict: Bound<'py, PyDict>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'py> Table<'py> {
    /// `what` names the table in messages.
    pub fn new(what: &'static str, dict: Bound<'py, PyDict>) -> Self {
        Self {
            what,
            dict,
            asked: RefCell::default(),
        }
    }

    /// The value of a key; `None` and a missing key are the same.
    pub fn get<T: FromPyObjectOwned<'py>>(&self, key: &'static str) -> PyResult<Option<T>> {
        self.asked.borrow_mut().push(key);
        let Some(value) = self.dict.get_item(key)?.filter(|value| !value.is_none()) else {
            return Ok(None);
        };
        value.extract().map(Some).map_err(|error| {
            let shown = value
                .repr()
                .map_or_else(|_| "?".into(), |repr| repr.to_string());
            let reason = reason(error, self.dict.py());
            PyTypeError::new_err(format!("invalid {} {key} {shown}: {reason}", self.what))
        })
    }

    /// The value of a key or a default.
    pub fn or<T: FromPyObjectOwned<'py>>(&self, key: &'static str, default: T) -> PyResult<T> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// A word out of several.
    pub fn word<T: Copy>(
        &self,
        key: &'static str,
        default: &str,
        words: &[(&str, T)],
    ) -> PyResult<T> {
        let word: String = self.or(key, default.to_owned())?;
        let known = words.iter().find(|(name, _)| *name == word);
        known.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            self.invalid(key, &word, &format!("must be one of {}", names.join(", ")))
        })
    }

    /// A value that is not possible.
    pub fn invalid(&self, key: &str, value: &str, reason: &str) -> PyErr {
        PyValueError::new_err(format!("invalid {} {key} {value}: {reason}", self.what))
    }

    /// Refuses keys that were never read.
    pub fn finish(self) -> PyResult<()> {
        let asked = self.asked.borrow();
        for key in self.dict.keys() {
            let key: String = key.extract()?;
            if !asked.contains(&key.as_str()) {
                let mut known = asked.clone();
                known.sort_unstable();
                let known = known.join(", ");
                return Err(PyValueError::new_err(format!(
                    "{} has no key {key}; its keys are {known}",
                    self.what
                )));
            }
        }
        Ok(())
    }
}

/// What Python says about a value of the wrong type.
fn reason(error: impl Into<PyErr>, py: Python<'_>) -> String {
    error.into().value(py).to_string()
}
