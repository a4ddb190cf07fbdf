//! A drive against the clock, from Python.

use description::{Refused, TimingTable};
use flash::input::Input;
use flash::timing::{
    Arrivals, Latencies, Load, OperationLog, ServiceTimes, Simulation, TimingReport,
};
use flash::trace::Record;
use flash::{Drive, FlashError, Geometry};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::description::{table, undescribed};
use super::error::refused;
use super::model::Model;

/// Requests of a load.
pub struct Requests {
    pub requests: u64,
    pub read_share: f64,
    pub per_second: Option<f64>,
    pub queue_depth: u32,
    pub seed: u64,
}

/// Times single-block requests of an input.
pub fn time_load<'py>(
    py: Python<'py>,
    model: &mut Model,
    service: (Option<&Bound<'py, PyDict>>, Option<ServiceTimes>),
    input: &Input,
    requests: Requests,
) -> PyResult<Bound<'py, PyDict>> {
    let service = service_times(py, service.0, service.1, model)?;
    let mut load = Load::new(
        input.clone(),
        requests.requests,
        requests.read_share,
        requests.per_second,
        requests.seed,
    )
    .map_err(refused)?;
    let arrivals = match requests.per_second {
        Some(_) => Arrivals::Recorded,
        None => Arrivals::Closed {
            queue_depth: requests.queue_depth,
        },
    };
    let next = |record: &mut Record| Ok(load.next(record));
    let report = py
        .detach(|| run(model, service, arrivals, next))?
        .map_err(refused)?;
    as_dict(py, &report)
}

fn run(
    model: &mut Model,
    service: ServiceTimes,
    arrivals: Arrivals,
    next: impl FnMut(&mut Record) -> Result<bool, FlashError>,
) -> PyResult<Result<TimingReport, FlashError>> {
    let geometry = model.capacities()[0].geometry();
    let handles = model.streams().handles();
    match model {
        Model::PageMapped(drive) => Ok(timed(drive, geometry, service, handles, arrivals, next)),
        Model::Compressing(drive) => Ok(timed(drive, geometry, service, handles, arrivals, next)),
        Model::Pools(_) => Err(PyValueError::new_err("pools have no timing")),
    }
}

fn timed<D: Drive<Observer = OperationLog>>(
    drive: &mut D,
    geometry: Geometry,
    service: ServiceTimes,
    handles: u8,
    arrivals: Arrivals,
    next: impl FnMut(&mut Record) -> Result<bool, FlashError>,
) -> Result<TimingReport, FlashError> {
    Simulation::new(drive, geometry, service, handles)?.run(next, arrivals)
}

/// What operations take: as a profile says (`of_drive`) or usual, with single figures laid over.
fn service_times(
    py: Python<'_>,
    dict: Option<&Bound<'_, PyDict>>,
    of_drive: Option<ServiceTimes>,
    model: &Model,
) -> PyResult<ServiceTimes> {
    let said = match dict {
        Some(dict) => TimingTable::parse(&table(dict)?).map_err(|wrong| undescribed(py, wrong))?,
        None => TimingTable::default(),
    };
    if said.profile.is_some() && of_drive.is_none() {
        let reason = "name the profile when the drive is made, because it brings its shape";
        let wrong = Refused::value(
            "timing",
            "profile",
            said.profile.unwrap_or_default(),
            reason,
        );
        return Err(undescribed(py, wrong));
    }
    let mut service = of_drive.unwrap_or_else(|| {
        let usual = ServiceTimes::default();
        let pages = model.capacities()[0].geometry().flash_pages_per_block;
        let throttled_bytes_per_second = match model {
            Model::Compressing(drive) => drive.config().throttling.bytes_per_second,
            _ => usual.throttled_bytes_per_second,
        };
        ServiceTimes {
            pages_per_program: usual.pages_per_program.min(pages),
            throttled_bytes_per_second,
            ..usual
        }
    });
    said.lay_over(&mut service);
    Ok(service)
}

fn as_dict<'py>(py: Python<'py>, report: &TimingReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("reads", latencies(py, &report.reads)?)?;
    dict.set_item("writes", latencies(py, &report.writes)?)?;
    dict.set_item("duration_ns", report.duration_ns)?;
    dict.set_item("drained_ns", report.drained_ns)?;
    dict.set_item("stalled_writes", report.stalled_writes)?;
    dict.set_item("dies", report.dies)?;
    dict.set_item("host_reads_ns", report.busy.host_reads_ns)?;
    dict.set_item("gc_reads_ns", report.busy.gc_reads_ns)?;
    dict.set_item("programs_ns", report.busy.programs_ns)?;
    dict.set_item("erases_ns", report.busy.erases_ns)?;
    Ok(dict)
}

/// None of no requests.
fn latencies<'py>(py: Python<'py>, latencies: &Latencies) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(mean_ns) = latencies.mean_ns() else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    dict.set_item("count", latencies.count())?;
    dict.set_item("mean_ns", mean_ns)?;
    for (name, share) in [
        ("p50_ns", 0.5),
        ("p90_ns", 0.9),
        ("p99_ns", 0.99),
        ("p999_ns", 0.999),
    ] {
        dict.set_item(name, latencies.quantile_ns(share))?;
    }
    dict.set_item("max_ns", latencies.max_ns())?;
    dict.set_item("histogram", latencies.histogram())?;
    Ok(Some(dict))
}
