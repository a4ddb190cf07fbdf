//! `pgassay._core`: the Rust half of pgassay as one Python module.
//!
//! Each concept has a file of its own and registers itself here, so that a newcomer finds the Python name and the
//! Rust file side by side.

pub mod compressibility;
pub mod flash;
pub mod latency_sketch;
pub mod pgbench_log;
pub mod server_log;

use pyo3::prelude::*;

/// The module that Python imports as `pgassay._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    compressibility::register(module)?;
    flash::register(module)?;
    latency_sketch::register(module)?;
    pgbench_log::register(module)?;
    server_log::register(module)?;
    Ok(())
}
