//! `pgassay._core.flash_theory`: the formula that fits a drive and a load, if there is one.

use flash::BLOCK_BYTES;
use flash::theory::{compressed, d_choices, fifo, greedy, independent, separation};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// (blocks, share of the writes, mean bytes)
type Class = (f64, f64, f64);

/// Write amplification by formula; None where there is none.
///
/// `classes` is `FlashInput.popularity()`, with the granularity of a drive that compresses. FIFO has a formula for any
/// load, the others for uniform writes that are not compressed; with `separated` α's, each class has a pool of its own.
#[pyfunction]
#[pyo3(signature = (policy, alpha, pages_per_block, classes, *, choices = 2, compressing = false, separated = None))]
pub fn flash_theory(
    policy: &str,
    alpha: f64,
    pages_per_block: u32,
    classes: Vec<Class>,
    choices: u32,
    compressing: bool,
    separated: Option<Vec<f64>>,
) -> PyResult<Option<f64>> {
    // A drive that compresses may be shown to its host larger than it is; then only its data have to fit.
    let least = if compressing { 0.0 } else { 1.0 };
    if !(alpha > least && alpha.is_finite()) {
        return Err(PyValueError::new_err(format!(
            "invalid alpha {alpha}: must be greater than {least}"
        )));
    }
    let blocks: f64 = classes.iter().map(|class| class.0).sum();
    let shares: Vec<independent::Class> = classes
        .iter()
        .map(|&(count, writes, _)| independent::Class {
            pages: count / blocks,
            writes,
        })
        .collect();
    if let Some(alphas) = separated {
        if alphas.len() != shares.len() {
            return Err(PyValueError::new_err(format!(
                "{} pools for {} classes",
                alphas.len(),
                shares.len()
            )));
        }
        let known = policy == "fifo";
        return Ok(known.then(|| separation::write_amplification(&shares, &alphas)));
    }
    if compressing {
        let classes: Vec<compressed::Class> = classes
            .iter()
            .map(|&(count, writes, bytes)| compressed::Class {
                blocks: count / blocks,
                writes,
                bytes,
            })
            .collect();
        let live: f64 = classes.iter().map(|class| class.blocks * class.bytes).sum();
        if live >= alpha * f64::from(BLOCK_BYTES) {
            return Err(PyValueError::new_err(format!(
                "invalid alpha {alpha}: {live} bytes a block on average do not fit"
            )));
        }
        let known = policy == "fifo";
        return Ok(known.then(|| compressed::write_amplification(alpha, &classes)));
    }
    let is_uniform = shares
        .iter()
        .all(|class| (class.writes / class.pages - 1.0).abs() < 1e-9);
    Ok(match policy {
        "fifo" if is_uniform => Some(fifo::write_amplification(alpha)),
        "fifo" => Some(independent::write_amplification(alpha, &shares)),
        "greedy" if is_uniform => Some(greedy::write_amplification(alpha, pages_per_block)),
        "d-choices" if is_uniform => Some(d_choices::write_amplification(
            alpha,
            pages_per_block,
            choices,
        )),
        "random" if is_uniform => Some(d_choices::write_amplification(alpha, pages_per_block, 1)),
        _ => None,
    })
}
