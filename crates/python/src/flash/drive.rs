//! `pgassay._core.FlashDrive`: a modelled drive.

use description::{FlashTable, Refused, Table, Timing};
use flash::life::Life;
use flash::timing::ServiceTimes;
use flash::{BLOCK_BYTES, Drive, HealthLog};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::ageing;
use super::description::{flash_table, model, table, undescribed};
use super::error::refused;
use super::input::PyFlashInput;
use super::log_page;
use super::model::{Model, with_drive};
use super::timing;

/// A drive that is written, and says what it did with the writes.
#[pyclass(name = "FlashDrive", module = "pgassay._core")]
pub struct PyFlashDrive {
    model: Model,
    physical_bytes: u64,
    service: Option<ServiceTimes>,
}

/// What the flash of a profile takes; a disk or volume has none.
fn service_of(timing: &Table, flash: &mut FlashTable, py: Python<'_>) -> PyResult<ServiceTimes> {
    let found = Timing::resolve(timing, flash).map_err(|wrong| undescribed(py, wrong))?;
    found.service().ok_or_else(|| {
        let message = format!(
            "timing {} does not model flash: it can be emulated, not simulated",
            found.profile
        );
        undescribed(
            py,
            Refused::new(message, "name a profile of flash, such as sata-ssd"),
        )
    })
}

#[pymethods]
impl PyFlashDrive {
    /// With a table of service times that names a profile, the flash has the profile's shape unless it has its own.
    #[new]
    #[pyo3(signature = (description, timing = None))]
    fn new(
        py: Python<'_>,
        description: &Bound<'_, PyDict>,
        timing: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut flash = flash_table(description)?;
        let service = timing
            .map(|dict| service_of(&table(dict)?, &mut flash, py))
            .transpose()?;
        let configuration = flash
            .configuration()
            .map_err(|wrong| undescribed(py, wrong))?;
        let model = model(configuration).map_err(refused)?;
        let physical_bytes = model.physical_bytes();
        Ok(Self {
            model,
            physical_bytes,
            service,
        })
    }

    /// Writes blocks in order; sizes after compression are 4096 unless given.
    #[pyo3(signature = (lbas, compressed_bytes = None))]
    fn write(
        &mut self,
        py: Python<'_>,
        lbas: PyReadonlyArray1<'_, u32>,
        compressed_bytes: Option<PyReadonlyArray1<'_, u16>>,
    ) -> PyResult<()> {
        let lbas = lbas.as_slice()?;
        let sizes = match &compressed_bytes {
            Some(sizes) => sizes.as_slice()?,
            None => &[],
        };
        let model = &mut self.model;
        py.detach(|| with_drive!(model, drive => drive.write_batch(lbas, sizes)))
            .map_err(refused)
    }

    /// Writes the next writes of a load.
    fn apply(&mut self, py: Python<'_>, load: &mut PyFlashInput, writes: u64) -> PyResult<()> {
        let model = &mut self.model;
        py.detach(|| with_drive!(model, drive => load.0.apply(drive, writes)))
            .map_err(refused)
    }

    /// Writes every block of a share of the drive once, in the sizes of a load.
    #[pyo3(signature = (load, used_share = 1.0))]
    fn fill(&mut self, py: Python<'_>, load: &PyFlashInput, used_share: f64) -> PyResult<()> {
        let model = &mut self.model;
        let packing = model.packing();
        py.detach(|| {
            with_drive!(model, drive =>
                ageing::fill_for(drive, &load.0, used_share, packing))
        })
        .map_err(refused)
    }

    /// Lays the data down once, as equilibrium under uniform writes would; the drive must be fresh.
    #[pyo3(signature = (load, used_share = 1.0, seed = 1))]
    fn age_by_theory(
        &mut self,
        py: Python<'_>,
        load: &PyFlashInput,
        used_share: f64,
        seed: u64,
    ) -> PyResult<()> {
        let block_bytes = self.model.capacities()[0].geometry().superblock_bytes();
        let make = (self.model.policy(), self.model.packing(), block_bytes);
        let model = &mut self.model;
        py.detach(|| {
            with_drive!(model, drive =>
                ageing::equilibrium(drive, &load.0, used_share, make, seed))
        })
        .map_err(refused)
    }

    /// Runs single-block requests of a load against the clock; see `FlashTimingReport`.
    #[pyo3(signature = (
        load, requests, *, service = None, read_share = 0.0, per_second = None, queue_depth = 32, seed = 1
    ))]
    #[allow(clippy::too_many_arguments)] // Keyword arguments, each with its name at the call.
    fn time<'py>(
        &mut self,
        py: Python<'py>,
        load: &PyFlashInput,
        requests: u64,
        service: Option<&Bound<'py, PyDict>>,
        read_share: f64,
        per_second: Option<f64>,
        queue_depth: u32,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let shape = timing::Requests {
            requests,
            read_share,
            per_second,
            queue_depth,
            seed,
        };
        timing::time_load(py, &mut self.model, (service, self.service), &load.0, shape)
    }

    /// Counts since the drive was made, in bytes unless the name says otherwise.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        log_page::counters(py, &with_drive!(&self.model, drive => drive.counters()))
    }

    /// The log page, under the names that nvme-cli prints.
    #[pyo3(signature = (rated_cycles = 3000))]
    fn health<'py>(&self, py: Python<'py>, rated_cycles: u32) -> PyResult<Bound<'py, PyDict>> {
        log_page::health(
            py,
            &with_drive!(&self.model, drive => HealthLog::read(drive, rated_cycles)),
        )
    }

    /// Writes of the whole user capacity a day that the rated cycles allow for some years.
    #[pyo3(signature = (write_amplification, *, rated_cycles = 3000, years = 5.0))]
    fn drive_writes_per_day(
        &self,
        write_amplification: f64,
        rated_cycles: u32,
        years: f64,
    ) -> PyResult<f64> {
        if !(write_amplification > 0.0 && years > 0.0) {
            return Err(PyValueError::new_err(
                "write amplification and years must be greater than 0",
            ));
        }
        let life = Life {
            rated_cycles,
            physical_bytes: self.physical_bytes,
            user_bytes: self.model.user_bytes(),
        };
        Ok(life.drive_writes_per_day(write_amplification, years))
    }

    #[getter]
    fn logical_blocks(&self) -> u32 {
        with_drive!(&self.model, drive => drive.logical_blocks())
    }

    #[getter]
    fn usable_bytes(&self) -> u64 {
        with_drive!(&self.model, drive => drive.usable_bytes())
    }

    #[getter]
    fn physical_bytes(&self) -> u64 {
        self.physical_bytes
    }

    #[getter]
    fn user_bytes(&self) -> u64 {
        self.model.user_bytes()
    }

    #[getter]
    fn free_blocks(&self) -> u32 {
        with_drive!(&self.model, drive => drive.free_blocks())
    }

    /// Pages of 4096 bytes in a block (superblock).
    #[getter]
    fn pages_per_block(&self) -> u32 {
        self.model.capacities()[0].geometry().pages_per_block()
    }

    /// Usable flash over logical capacity: the α of the formulas.
    #[getter]
    fn alpha(&self) -> f64 {
        let logical = f64::from(self.logical_blocks()) * f64::from(BLOCK_BYTES);
        self.usable_bytes() as f64 / logical
    }
}
