//! The functions as Python sees them: chunks are three arrays, results are arrays with a row a chunk or a table.

use std::io;
use std::path::PathBuf;
use std::thread;

use codec::{BLOCK_BYTES, Codec, Compressor};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use super::chunk::{Chunk, ReadError};
use super::relations::relay;
use super::scan::scan;
use super::tally::{Method, Tally};

/// Adds the functions to `pgassay._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stored_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(scan_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(relay_tables, module)?)
}

/// The largest page that PostgreSQL knows; its line pointers hold 15 bits.
const MAX_PAGE_BYTES: usize = 32_768;

fn invalid(message: String) -> PyErr {
    PyValueError::new_err(message)
}

fn named(name: &str) -> PyResult<Codec> {
    name.parse()
        .map_err(|error: codec::UnknownCodec| invalid(error.to_string()))
}

fn method(codecs: &[String], granularities: Vec<usize>) -> PyResult<Method> {
    let wrong = |bytes: &&usize| !(bytes.is_power_of_two() && **bytes <= BLOCK_BYTES);
    if let Some(bytes) = granularities.iter().find(wrong) {
        return Err(invalid(format!(
            "granularity {bytes} is not a power of two from 1 to {BLOCK_BYTES}"
        )));
    }
    if codecs.is_empty() || granularities.is_empty() {
        return Err(invalid("no codec or no granularity given".to_owned()));
    }
    let codecs = codecs
        .iter()
        .map(|name| named(name))
        .collect::<PyResult<_>>()?;
    Ok(Method {
        codecs,
        granularities,
    })
}

/// Three arrays of one length, as chunks of files that are there.
fn chunks(
    files: &PyReadonlyArray1<'_, u32>,
    offsets: &PyReadonlyArray1<'_, u64>,
    lengths: &PyReadonlyArray1<'_, u32>,
    paths: usize,
) -> PyResult<Vec<Chunk>> {
    let (files, offsets, lengths) = (files.as_array(), offsets.as_array(), lengths.as_array());
    if files.len() != offsets.len() || files.len() != lengths.len() {
        return Err(invalid(
            "files, offsets and lengths differ in length".to_owned(),
        ));
    }
    let chunk = |((file, offset), bytes): ((&u32, &u64), &u32)| Chunk {
        file: *file as usize,
        offset: *offset,
        bytes: *bytes as usize,
    };
    let chunks: Vec<Chunk> = files.iter().zip(offsets).zip(lengths).map(chunk).collect();
    match chunks.iter().find(|chunk| chunk.file >= paths) {
        Some(chunk) => Err(invalid(format!(
            "there is no file {} among {paths}",
            chunk.file
        ))),
        None => Ok(chunks),
    }
}

fn workers(threads: Option<usize>) -> usize {
    threads
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
        .max(1)
}

/// With the system's number Python makes it the PermissionError that it is.
fn unreadable(error: ReadError) -> PyErr {
    let ReadError { path, source } = error;
    let words = match source.raw_os_error() {
        Some(number) => {
            let text = io::Error::from_raw_os_error(number).to_string();
            let words = text
                .split(" (os error")
                .next()
                .unwrap_or_default()
                .to_owned();
            return PyOSError::new_err((number, words, path.to_string_lossy().into_owned()));
        }
        None => source.to_string(),
    };
    PyOSError::new_err(format!("{}: {words}", path.display()))
}

/// What a drive stores for each 4 KiB block of `data`; the last is filled up with zeros.
#[pyfunction]
fn stored_bytes<'py>(
    py: Python<'py>,
    data: &[u8],
    codec: &str,
) -> PyResult<Bound<'py, PyArray1<u16>>> {
    let mut compressor = Compressor::new(named(codec)?);
    let sizes: Vec<u16> = py.detach(|| {
        let weigh = |block: &[u8]| match block.len() {
            BLOCK_BYTES => compressor.stored_bytes(block) as u16,
            bytes => {
                let mut whole = [0; BLOCK_BYTES];
                whole[..bytes].copy_from_slice(block);
                compressor.stored_bytes(&whole) as u16
            }
        };
        data.chunks(BLOCK_BYTES).map(weigh).collect()
    });
    Ok(sizes.into_pyarray(py))
}

/// The columns before the sums in a row of a tally.
const COUNTS: usize = 2;

fn table(tallies: &[Tally], sums: usize) -> Array2<u64> {
    let mut table = Array2::zeros((tallies.len(), COUNTS + sums));
    for (mut row, tally) in table.outer_iter_mut().zip(tallies) {
        let counts = [tally.blocks, tally.zero_blocks];
        let values = counts.iter().chain(&tally.stored_bytes);
        row.iter_mut()
            .zip(values)
            .for_each(|(cell, value)| *cell = *value);
    }
    table
}

/// A row a chunk: blocks, blocks of zeros, then bytes stored for each codec and (innermost) granularity.
#[pyfunction]
#[pyo3(signature = (paths, files, offsets, lengths, *, codecs, granularities, threads = None))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn scan_blocks<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    files: PyReadonlyArray1<'py, u32>,
    offsets: PyReadonlyArray1<'py, u64>,
    lengths: PyReadonlyArray1<'py, u32>,
    codecs: Vec<String>,
    granularities: Vec<usize>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let method = method(&codecs, granularities)?;
    let chunks = chunks(&files, &offsets, &lengths, paths.len())?;
    let scanned = py.detach(|| scan(&paths, &chunks, &method, workers(threads)));
    Ok(table(&scanned.map_err(unreadable)?, method.sums()).into_pyarray(py))
}

/// Lays out samples of tables (`tables[i]` says whose chunk `i` is) at each fillfactor, in memory.
///
/// A row a table and (innermost) fillfactor: pages read, rows in them, pages filled, rows there, then as scan_blocks.
#[pyfunction]
#[pyo3(signature = (paths, tables, files, offsets, lengths, *, page_bytes, fillfactors, codecs, granularities,
                    threads = None))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn relay_tables<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    tables: PyReadonlyArray1<'py, u32>,
    files: PyReadonlyArray1<'py, u32>,
    offsets: PyReadonlyArray1<'py, u64>,
    lengths: PyReadonlyArray1<'py, u32>,
    page_bytes: usize,
    fillfactors: Vec<usize>,
    codecs: Vec<String>,
    granularities: Vec<usize>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let method = method(&codecs, granularities)?;
    if !(page_bytes.is_power_of_two() && (1024..=MAX_PAGE_BYTES).contains(&page_bytes)) {
        return Err(invalid(format!(
            "page_bytes {page_bytes} is not a power of two from 1024 to {MAX_PAGE_BYTES}"
        )));
    }
    if let Some(wrong) = fillfactors.iter().find(|each| !(10..=100).contains(*each)) {
        return Err(invalid(format!("fillfactor {wrong} is not from 10 to 100")));
    }
    let chunks = chunks(&files, &offsets, &lengths, paths.len())?;
    let owners = tables.as_array();
    if owners.len() != chunks.len() {
        return Err(invalid("tables and files differ in length".to_owned()));
    }
    if let Some(owner) = owners.iter().find(|owner| **owner as usize >= chunks.len()) {
        return Err(invalid(format!(
            "table {owner} is past the number of chunks"
        )));
    }
    let mut of_table: Vec<Vec<Chunk>> = Vec::new();
    for (owner, chunk) in owners.iter().zip(chunks) {
        let owner = *owner as usize;
        if of_table.len() <= owner {
            of_table.resize(owner + 1, Vec::new());
        }
        of_table[owner].push(chunk);
    }
    let relaid = py.detach(|| {
        relay(
            &paths,
            &of_table,
            page_bytes,
            &fillfactors,
            &method,
            workers(threads),
        )
    });
    let relaid = relaid.map_err(unreadable)?;
    let filled: Vec<_> = relaid
        .iter()
        .flat_map(|table| table.filled.iter().map(move |filled| (table, filled)))
        .collect();
    let tallies: Vec<Tally> = filled
        .iter()
        .map(|(_, filled)| filled.tally.clone())
        .collect();
    let sums = table(&tallies, method.sums());
    let mut rows = Array2::zeros((filled.len(), 4 + sums.ncols()));
    for ((mut row, (table, filled)), sums) in
        rows.outer_iter_mut().zip(filled).zip(sums.outer_iter())
    {
        let counts = [table.source_pages, table.rows, filled.pages, filled.rows];
        row.iter_mut()
            .zip(counts.iter().chain(sums.iter()))
            .for_each(|(cell, value)| *cell = *value);
    }
    Ok(rows.into_pyarray(py))
}
