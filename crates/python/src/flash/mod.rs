//! The flash model as Python sees it: descriptions are dicts (a TOML table as it stands), blocks are numpy arrays.
//!
//! Nothing is decided here: descriptions are checked, calls passed on without the interpreter's lock, and errors raised
//! as `ValueError` with the crate's own words.

mod ageing;
mod description;
mod drive;
mod error;
mod input;
mod log_page;
mod model;
mod table;
mod theory;
mod timing;
mod trace;

pub use drive::PyFlashDrive;
pub use error::FlashOutOfSpaceError;
pub use input::PyFlashInput;
pub use trace::{PyFlashTrace, write_flash_trace};

use pyo3::prelude::*;

/// Adds the classes and functions to `pgassay._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add(
        "FlashOutOfSpaceError",
        py.get_type::<FlashOutOfSpaceError>(),
    )?;
    description::register(module)?;
    module.add_class::<PyFlashDrive>()?;
    module.add_class::<PyFlashInput>()?;
    module.add_class::<PyFlashTrace>()?;
    module.add_function(wrap_pyfunction!(trace::write_flash_trace, module)?)?;
    module.add_function(wrap_pyfunction!(ageing::flash_is_steady, module)?)?;
    module.add_function(wrap_pyfunction!(theory::flash_theory, module)?)
}
