//! `pgassay._core.FlashInput`: loads by formula.

use flash::input::{
    Batch, Component, HeatClass, Input, Pattern, Placement, Redraw, SizeDistribution, Sizes,
};
use numpy::{IntoPyArray, PyArray1};
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

    /// Classes of blocks that are written equally often: (blocks, share of the writes, mean bytes), or None if the
    /// load has none.
    fn popularity(&self) -> Option<Vec<(f64, f64, f64)>> {
        let classes = self.0.popularity()?;
        Some(
            classes
                .iter()
                .map(|class| (class.blocks, class.writes, class.mean_bytes))
                .collect(),
        )
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
    // The cast saturates: sizes beyond 65535 are refused as those beyond 4096 are.
    let weights = weights.map(|sizes| {
        SizeDistribution::Discrete(
            sizes
                .into_iter()
                .map(|[bytes, weight]| (bytes as u16, weight))
                .collect(),
        )
    });
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
