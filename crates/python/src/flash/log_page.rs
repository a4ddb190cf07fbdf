//! What a drive reports, as dicts under the names that nvme-cli prints for real drives.

use flash::{Counters, HealthLog};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Counts since the drive was made.
pub fn counters<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("host_bytes_written", counters.host_bytes_written),
        (
            "compressed_bytes_written",
            counters.compressed_bytes_written,
        ),
        ("gc_bytes_written", counters.gc_bytes_written),
        (
            "wear_levelling_bytes_written",
            counters.wear_levelling_bytes_written,
        ),
        ("padding_bytes_written", counters.padding_bytes_written),
        ("nand_bytes_written", counters.nand_bytes_written),
        ("host_bytes_trimmed", counters.host_bytes_trimmed),
        ("blocks_erased", counters.blocks_erased),
        ("throttled_writes", counters.throttled_writes),
        ("rejected_writes", counters.rejected_writes),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The log page.
pub fn health<'py>(py: Python<'py>, log: &HealthLog) -> PyResult<Bound<'py, PyDict>> {
    let wear = PyDict::new(py);
    wear.set_item("min", log.wear_leveling.min)?;
    wear.set_item("max", log.wear_leveling.max)?;
    wear.set_item("avg", log.wear_leveling.avg)?;
    // OCP's counter has 128 bits; nvme-cli prints its halves, so what reads a real drive's reads this one's.
    let media = PyDict::new(py);
    media.set_item("hi", 0)?;
    media.set_item("lo", log.physical_media_units_written)?;
    let dict = PyDict::new(py);
    dict.set_item("host_bytes_written", log.host_bytes_written)?;
    dict.set_item("nand_bytes_written", log.nand_bytes_written)?;
    dict.set_item("physical_media_units_written", media)?;
    dict.set_item("gc_bytes_written", log.gc_bytes_written)?;
    dict.set_item("compression_ratio", log.compression_ratio)?;
    dict.set_item("physical_usage_ratio", log.physical_usage_ratio)?;
    dict.set_item("wear_leveling", wear)?;
    dict.set_item("percentage_used", log.percentage_used)?;
    dict.set_item("free_blocks", log.free_blocks)?;
    Ok(dict)
}
