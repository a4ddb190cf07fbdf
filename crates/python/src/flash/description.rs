//! Descriptions of drives from Python: dicts become the tables of the crate `description`, which knows all keys.

use std::path::PathBuf;

use description::{Configuration, Description, FlashTable, Refused, Table};
use flash::pools::Pools;
use flash::{Compressing, FlashError, PageMapped};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Number, Value, json};

use super::model::Model;

create_exception!(
    pgassay._core,
    DescriptionError,
    PyValueError,
    "A drive's description that cannot be: which key, what is wrong, what is accepted; `hint` says what helps."
);

/// A refusal as Python's exception.
pub fn undescribed(py: Python<'_>, refused: Refused) -> PyErr {
    let error = DescriptionError::new_err(refused.message);
    match error.value(py).setattr("hint", refused.hint) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// A dict as a table. What no description can hold is shown as text, which every key refuses by name.
pub fn table(dict: &Bound<'_, PyDict>) -> PyResult<Table> {
    let pair =
        |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((key.extract()?, plain(&value)?));
    dict.iter().map(pair).collect()
}

fn plain(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table(dict).map(Value::Object);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value
            .try_iter()?
            .map(|item| plain(&item?))
            .collect::<PyResult<_>>()?;
        return Ok(Value::Array(items));
    }
    // A number, of numpy's kinds, too. A float is one though it is whole.
    let number = if value.is_instance_of::<PyFloat>() {
        value.extract().ok().and_then(Number::from_f64)
    } else if let Ok(number) = value.extract::<u64>() {
        Some(number.into())
    } else if let Ok(number) = value.extract::<i64>() {
        Some(number.into())
    } else if value.is_instance_of::<PyInt>() {
        None
    } else {
        value.extract().ok().and_then(Number::from_f64)
    };
    Ok(match number {
        Some(number) => Value::Number(number),
        None => Value::String(value.repr()?.to_string()),
    })
}

/// Plain values as Python's.
fn as_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(found) => found.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(found) => match (found.as_u64(), found.as_i64()) {
            (Some(found), _) => found.into_pyobject(py)?.into_any(),
            (None, Some(found)) => found.into_pyobject(py)?.into_any(),
            (None, None) => found.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(found) => found.into_pyobject(py)?.into_any(),
        Value::Array(found) => {
            let items = found
                .iter()
                .map(|item| as_python(py, item))
                .collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(found) => as_dict(py, found)?.into_any(),
    })
}

fn as_dict<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in table {
        dict.set_item(key, as_python(py, value)?)?;
    }
    Ok(dict)
}

/// The drive of a configuration, fresh.
pub fn model(configuration: Configuration) -> Result<Model, FlashError> {
    Ok(match configuration {
        Configuration::PageMapped(config) => {
            Model::PageMapped(PageMapped::watched(config, Default::default())?)
        }
        Configuration::Compressing(config) => {
            Model::Compressing(Compressing::watched(config, Default::default())?)
        }
        Configuration::Pools(configs) => {
            let drives: Result<Vec<_>, _> = configs.into_iter().map(PageMapped::new).collect();
            Model::Pools(Pools::new(drives?)?)
        }
    })
}

/// One drive as it is described; immutable.
#[pyclass(name = "DriveDescription", module = "pgassay._core", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyDriveDescription(Description);

#[pymethods]
impl PyDriveDescription {
    #[new]
    fn new(py: Python<'_>, document: &Bound<'_, PyDict>) -> PyResult<Self> {
        Description::parse(&table(document)?)
            .map(Self)
            .map_err(|refused| undescribed(py, refused))
    }

    /// A drive by name.
    #[staticmethod]
    fn preset(py: Python<'_>, name: &str) -> PyResult<Self> {
        Description::preset(name)
            .map(Self)
            .map_err(|refused| undescribed(py, refused))
    }

    /// Some values set by their keys.
    fn replace(&self, py: Python<'_>, changes: &Bound<'_, PyDict>) -> PyResult<Self> {
        self.0
            .with(&table(changes)?)
            .map(Self)
            .map_err(|refused| undescribed(py, refused))
    }

    /// The same drive with another capacity.
    fn with_capacity(&self, capacity_bytes: u64) -> Self {
        Self(self.0.with_capacity(capacity_bytes))
    }

    /// Refuses what cannot be emulated, before anything is made; the capacity is known.
    fn check_emulated(&self, py: Python<'_>) -> PyResult<()> {
        self.0
            .check_emulated()
            .map_err(|refused| undescribed(py, refused))
    }

    /// The daemon's configuration.
    fn configuration<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        directory: PathBuf,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Description {
            drive,
            timing,
            emulation,
        } = &self.0;
        let mut flash = drive.table();
        // What the host sees has a key of its own.
        let own = if drive.logical_bytes.is_some() {
            "logical_bytes"
        } else {
            "user_bytes"
        };
        flash.remove(own);
        flash.extend(emulation.table());
        flash.insert("name".into(), json!(name));
        flash.insert("directory".into(), json!(directory));
        flash.insert("capacity_bytes".into(), json!(drive.capacity_bytes()));
        flash.insert("codec".into(), json!(self.codec()));
        let store = match emulation.store() {
            description::emulation::Store::Memory => json!("memory"),
            description::emulation::Store::File => json!({"file": directory.join("store")}),
        };
        flash.insert("store".into(), store);
        if let Some(timing) = timing {
            flash.insert("timing".into(), Value::Object(timing.clone()));
        }
        as_dict(py, &flash)
    }

    /// All that is said, in plain numbers and words.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut tables = Table::new();
        tables.insert("drive".into(), Value::Object(self.0.drive.table()));
        if let Some(timing) = &self.0.timing {
            tables.insert("timing".into(), Value::Object(timing.clone()));
        }
        tables.insert("emulation".into(), Value::Object(self.0.emulation.table()));
        as_dict(py, &tables)
    }

    /// Bytes a block of user capacity: of the model's tables, and at most of a snapshot of them.
    fn table_bytes_per_block(&self, user_bytes: u64, compressed_to: f64) -> (f64, f64) {
        self.0
            .drive
            .table_bytes_per_block(user_bytes, compressed_to)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.drive.kind().name()
    }

    #[getter]
    fn policy(&self) -> &'static str {
        self.0.drive.policy().name()
    }

    #[getter]
    fn over_provisioning(&self) -> f64 {
        self.0.drive.over_provisioning()
    }

    #[getter]
    fn granularity_bytes(&self) -> u32 {
        self.0.drive.granularity_bytes()
    }

    #[getter]
    fn pages_per_block(&self) -> Option<u32> {
        self.0.drive.pages_per_block
    }

    #[getter]
    fn has_shape(&self) -> bool {
        self.0.drive.has_shape()
    }

    #[getter]
    fn user_bytes(&self) -> Option<u64> {
        self.0.drive.user_bytes
    }

    #[getter]
    fn capacity_bytes(&self) -> Option<u64> {
        self.0.drive.capacity_bytes()
    }

    #[getter]
    fn codec(&self) -> String {
        self.0.emulation.codec(self.0.drive.kind()).to_string()
    }

    #[getter]
    fn store(&self) -> &'static str {
        self.0.emulation.store().name()
    }

    #[getter]
    fn store_bytes(&self) -> Option<u64> {
        self.0.emulation.store_bytes
    }

    #[getter]
    fn profile(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let Some(timing) = &self.0.timing else {
            return Ok(None);
        };
        description::timing::profile_of(timing)
            .map(|name| Some(name.to_owned()))
            .map_err(|refused| undescribed(py, refused))
    }

    fn __repr__(&self) -> String {
        format!("DriveDescription({:?})", self.0)
    }
}

/// The table of a flash model's drive.
pub fn flash_table(dict: &Bound<'_, PyDict>) -> PyResult<FlashTable> {
    FlashTable::parse(&table(dict)?).map_err(|refused| undescribed(dict.py(), refused))
}

/// Adds the classes and the names.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DescriptionError", py.get_type::<DescriptionError>())?;
    module.add_class::<PyDriveDescription>()?;
    let names: [(&str, &[&str]); 7] = [
        ("DRIVE_PRESETS", &description::PRESETS),
        ("FLASH_KINDS", description::Kind::NAMES),
        ("GC_POLICIES", description::flash_table::PolicyName::NAMES),
        ("GC_STREAMS", description::flash_table::GcStreamName::NAMES),
        ("DRIVE_CODECS", &description::emulation::CODECS),
        ("DRIVE_STORES", description::emulation::Store::NAMES),
        ("TIMING_PROFILES", &description::timing::PROFILES),
    ];
    for (name, words) in names {
        module.add(name, PyTuple::new(py, words)?)?;
    }
    let of_flash = description::timing::PROFILES
        .into_iter()
        .filter(|name| description::timing::is_of_flash(name));
    module.add(
        "FLASH_PROFILES",
        PyTuple::new(py, of_flash.collect::<Vec<_>>())?,
    )
}
