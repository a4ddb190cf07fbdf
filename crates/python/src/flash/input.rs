//! `pgassay._core.FlashInput`: loads by formula.

use flash::BLOCK_BYTES;
use flash::input::{
    Batch, Component, HeatClass, Input, Pattern, Placement, Redraw, SizeDistribution, Sizes,
};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::error::refused;
use super::table::Table;

/// Addresses, compressed sizes and placement handles of writes, as arrays.
type Writes<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u16>>,
    Bound<'py, PyArray1<u8>>,
);

/// An endless load over a drive's logical blocks.
#[pyclass(name = "FlashInput", module = "pgassay._core")]
#[derive(Clone)]
pub struct PyFlashInput(pub Input);

#[pymethods]
impl PyFlashInput {
    #[new]
    #[pyo3(signature = (logical_blocks, components, seed = 1))]
    fn new(logical_blocks: u32, components: Vec<Bound<'_, PyDict>>, seed: u64) -> PyResult<Self> {
        let components = components
            .into_iter()
            .map(|dict| component(logical_blocks, dict))
            .collect::<PyResult<Vec<_>>>()?;
        Input::new(logical_blocks, components, seed)
            .map(Self)
            .map_err(refused)
    }

    /// The next writes.
    fn batch<'py>(&mut self, py: Python<'py>, writes: usize) -> Writes<'py> {
        let mut batch = Batch::default();
        py.detach(|| self.0.fill(&mut batch, writes));
        batch.handles.resize(writes, 0);
        (
            batch.lbas.into_pyarray(py),
            batch.compressed_bytes.into_pyarray(py),
            batch.handles.into_pyarray(py),
        )
    }

    /// Classes of blocks that are written equally often: (blocks, share of the writes, mean bytes in whole granules),
    /// or None if the load has none.
    #[pyo3(signature = (granularity_bytes = 1))]
    fn popularity(&self, granularity_bytes: u32) -> PyResult<Option<Vec<(f64, f64, f64)>>> {
        if !(1..=BLOCK_BYTES).contains(&granularity_bytes) {
            return Err(PyValueError::new_err(format!(
                "invalid granularity_bytes {granularity_bytes}: must be 1 to {BLOCK_BYTES}"
            )));
        }
        let classes = self.0.popularity(granularity_bytes);
        Ok(classes.map(|classes| {
            classes
                .iter()
                .map(|class| (class.blocks, class.writes, class.mean_bytes))
                .collect()
        }))
    }
}

fn component(logical_blocks: u32, dict: Bound<'_, PyDict>) -> PyResult<Component> {
    let table = Table::new("input", dict);
    let first_block = table.or("first_block", 0)?;
    let patterns = [
        ("uniform", Pattern::Uniform),
        ("sequential", Pattern::Sequential),
        (
            "zipf",
            Pattern::Zipf {
                exponent: table.or("exponent", 0.99)?,
            },
        ),
        (
            "hot-cold",
            Pattern::HotCold {
                hot_blocks: table.or("hot_blocks", 0.2)?,
                hot_writes: table.or("hot_writes", 0.8)?,
            },
        ),
    ];
    let scattered: bool = table.or("scattered", false)?;
    let component = Component {
        share_of_writes: table.or("share_of_writes", 1.0)?,
        first_block,
        blocks: table.or("blocks", logical_blocks.saturating_sub(first_block))?,
        pattern: table.word("pattern", "uniform", &patterns)?,
        placement: if scattered {
            Placement::Scattered
        } else {
            Placement::Clustered
        },
        sizes: Sizes {
            classes: match table.get::<Vec<Bound<'_, PyDict>>>("sizes")? {
                Some(classes) => classes
                    .into_iter()
                    .map(heat_class)
                    .collect::<PyResult<_>>()?,
                None => Sizes::incompressible().classes,
            },
            redraw: if table.or("redraw_sizes", false)? {
                Redraw::EachWrite
            } else {
                Redraw::Never
            },
        },
        handle: table.or("handle", 0)?,
    };
    table.finish()?;
    Ok(component)
}

/// One of `bytes`, `between`, `quantiles` and `weights`, up to a share of the blocks counted from the hottest.
fn heat_class(dict: Bound<'_, PyDict>) -> PyResult<HeatClass> {
    let table = Table::new("sizes", dict);
    let constant = table.get("bytes")?.map(SizeDistribution::Constant);
    let between = table.get::<[u16; 2]>("between")?;
    let quantiles = table.get::<Vec<[f64; 2]>>("quantiles")?;
    let weights = table.get::<Vec<[f64; 2]>>("weights")?;
    let uniform = between.map(|[low, high]| SizeDistribution::Uniform(low, high));
    let quantiles = quantiles.map(|knots| {
        SizeDistribution::Quantiles(
            knots
                .into_iter()
                .map(|[share, bytes]| (share, bytes))
                .collect(),
        )
    });
    let weights = weights.map(|sizes| discrete(&table, &sizes)).transpose()?;
    let given: Vec<SizeDistribution> = [constant, uniform, quantiles, weights]
        .into_iter()
        .flatten()
        .collect();
    let up_to = table.or("up_to", 1.0)?;
    let Ok([distribution]) = <[SizeDistribution; 1]>::try_from(given) else {
        let reason = "say exactly one of bytes, between, quantiles, weights";
        return Err(table.invalid("class up to", &up_to.to_string(), reason));
    };
    table.finish()?;
    Ok(HeatClass {
        up_to,
        distribution,
    })
}

/// Sizes with weights; a size must be whole, and one beyond 4096 is refused by the model.
fn discrete(table: &Table<'_>, sizes: &[[f64; 2]]) -> PyResult<SizeDistribution> {
    let weighted = sizes.iter().map(|&[bytes, weight]| {
        let is_whole = (0.0..=f64::from(u16::MAX)).contains(&bytes) && bytes.fract() == 0.0;
        let reason = "sizes must be whole numbers of bytes, 0 to 4096";
        is_whole
            .then_some((bytes as u16, weight))
            .ok_or_else(|| table.invalid("weights", &bytes.to_string(), reason))
    });
    Ok(SizeDistribution::Discrete(
        weighted.collect::<PyResult<_>>()?,
    ))
}
