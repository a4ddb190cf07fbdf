//! `pgassay._core.FlashTrace` and `write_flash_trace`: recorded loads as files and arrays.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;

use flash::trace::{Codec, Header, IndexedReader, Operation, Reader, Record, Writer};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::error::untraceable;

const OPERATIONS: [(&str, Operation); 5] = [
    ("write", Operation::Write),
    ("trim", Operation::Trim),
    ("flush", Operation::Flush),
    ("read", Operation::Read),
    ("write-zeroes", Operation::WriteZeroes),
];

/// A recorded load, opened through its index.
#[pyclass(name = "FlashTrace", module = "pgassay._core")]
pub struct PyFlashTrace {
    path: PathBuf,
    header: Header,
    #[pyo3(get)]
    records: u64,
    #[pyo3(get)]
    written_blocks: u64,
}

#[pymethods]
impl PyFlashTrace {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let reader = IndexedReader::new(BufReader::new(File::open(&path)?)).map_err(untraceable)?;
        Ok(Self {
            header: reader.header(),
            records: reader.records(),
            written_blocks: reader.written_blocks(),
            path,
        })
    }

    #[getter]
    fn codec(&self) -> &'static str {
        self.header.codec.name()
    }

    #[getter]
    fn codec_level(&self) -> i8 {
        self.header.codec_level
    }

    #[getter]
    fn drive_blocks(&self) -> u64 {
        self.header.drive_blocks
    }

    /// All records as arrays, and all of the file checked on the way. Sizes lie one after the other, one a block
    /// written.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut columns = Columns::default();
        let mut reader = Reader::new(BufReader::with_capacity(1 << 20, File::open(&self.path)?))
            .map_err(untraceable)?;
        py.detach(|| columns.read(&mut reader))
            .map_err(untraceable)?;
        let dict = PyDict::new(py);
        dict.set_item("time_ns", columns.time_ns.into_pyarray(py))?;
        dict.set_item("operation", columns.operation.into_pyarray(py))?;
        dict.set_item("stream", columns.stream.into_pyarray(py))?;
        dict.set_item("first_block", columns.first_block.into_pyarray(py))?;
        dict.set_item("blocks", columns.blocks.into_pyarray(py))?;
        dict.set_item(
            "compressed_bytes",
            columns.compressed_bytes.into_pyarray(py),
        )?;
        Ok(dict)
    }

    /// The operations by the number that `arrays` and `write_flash_trace` use.
    #[classattr]
    #[pyo3(name = "OPERATIONS")]
    fn operations() -> [&'static str; 5] {
        OPERATIONS.map(|(name, _)| name)
    }
}

#[derive(Default)]
struct Columns {
    time_ns: Vec<u64>,
    operation: Vec<u8>,
    stream: Vec<u8>,
    first_block: Vec<u32>,
    blocks: Vec<u32>,
    compressed_bytes: Vec<u16>,
}

impl Columns {
    fn read(
        &mut self,
        reader: &mut Reader<impl std::io::Read>,
    ) -> Result<(), flash::trace::TraceError> {
        let mut record = Record::default();
        while reader.read(&mut record)? {
            self.time_ns.push(record.time_ns);
            self.operation.push(record.operation as u8);
            self.stream.push(record.stream);
            self.first_block.push(record.first_block);
            self.blocks.push(record.blocks);
            self.compressed_bytes.extend(&record.compressed_bytes);
        }
        Ok(())
    }
}

/// Writes a trace from arrays as `FlashTrace.arrays` gives them; stream defaults to 0.
#[pyfunction]
#[pyo3(signature = (
    path, *, drive_blocks, time_ns, operation, first_block, blocks, compressed_bytes,
    stream = None, codec = "synthetic", codec_level = 0
))]
#[allow(clippy::too_many_arguments)] // Keyword arguments, each with its name at the call.
pub fn write_flash_trace(
    path: PathBuf,
    drive_blocks: u64,
    time_ns: PyReadonlyArray1<'_, u64>,
    operation: PyReadonlyArray1<'_, u8>,
    first_block: PyReadonlyArray1<'_, u32>,
    blocks: PyReadonlyArray1<'_, u32>,
    compressed_bytes: PyReadonlyArray1<'_, u16>,
    stream: Option<PyReadonlyArray1<'_, u8>>,
    codec: &str,
    codec_level: i8,
) -> PyResult<()> {
    let codec = Codec::named(codec)
        .ok_or_else(|| PyValueError::new_err(format!("invalid codec {codec}: not known")))?;
    let header = Header {
        codec,
        codec_level,
        drive_blocks,
        start_unix_ns: 0,
    };
    let (times, operations) = (time_ns.as_slice()?, operation.as_slice()?);
    let (firsts, counts) = (first_block.as_slice()?, blocks.as_slice()?);
    let streams = match &stream {
        Some(stream) => stream.as_slice()?,
        None => &[],
    };
    let mut sizes = compressed_bytes.as_slice()?;
    let lengths = [times.len(), operations.len(), firsts.len(), counts.len()];
    if lengths != [times.len(); 4] || (stream.is_some() && streams.len() != times.len()) {
        return Err(PyValueError::new_err(format!(
            "arrays differ in length: {lengths:?}"
        )));
    }
    let out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = Writer::new(out, header).map_err(untraceable)?;
    let mut record = Record::default();
    for number in 0..times.len() {
        let code = usize::from(operations[number]);
        record.operation = OPERATIONS
            .get(code)
            .map(|(_, known)| *known)
            .ok_or_else(|| {
                PyValueError::new_err(format!("record {number} has operation {code}: not known"))
            })?;
        record.time_ns = times[number];
        record.stream = streams.get(number).copied().unwrap_or(0);
        record.first_block = firsts[number];
        record.blocks = counts[number];
        record.compressed_bytes.clear();
        if record.operation == Operation::Write {
            let (own, rest) = sizes
                .split_at_checked(record.blocks as usize)
                .ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "record {number} writes {} blocks, {} sizes are left",
                        record.blocks,
                        sizes.len()
                    ))
                })?;
            record.compressed_bytes.extend(own);
            sizes = rest;
        }
        writer.push(&record).map_err(untraceable)?;
    }
    if !sizes.is_empty() {
        return Err(PyValueError::new_err(format!(
            "{} sizes are left after the last write",
            sizes.len()
        )));
    }
    writer.finish().map_err(untraceable)?;
    Ok(())
}
