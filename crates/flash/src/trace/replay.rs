//! Writing a recorded load to a modelled drive.

use std::io::Read;

use super::error::TraceError;
use super::reader::Reader;
use super::record::{Operation, Record};
use crate::drive::Drive;
use crate::error::FlashError;

/// Why a replay stopped.
#[derive(Debug)]
pub enum ReplayError {
    /// The trace is at fault.
    Trace(TraceError),
    /// The drive refused a record.
    Drive {
        /// The record's number.
        record: u64,
        /// What the drive said.
        error: FlashError,
    },
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(out),
            Self::Drive { record, error } => write!(out, "record {record} of the trace: {error}"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<TraceError> for ReplayError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

/// What a replay has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replay {
    /// Records read.
    pub records: u64,
    /// Blocks written, zeros included.
    pub written_blocks: u64,
    /// Blocks trimmed.
    pub trimmed_blocks: u64,
}

/// Applies one record. Reads and flushes change no flash. Zeros are written with size 0: a page-mapped drive stores
/// them, a compressing one keeps them in its map.
///
/// A drive with fewer placement handles than the recorded one takes all writes through handle 0.
pub fn apply<D: Drive>(record: &Record, drive: &mut D, handles: u8) -> Result<(), FlashError> {
    let handle = if record.stream < handles { record.stream } else { 0 };
    match record.operation {
        Operation::Write => (record.first_block..)
            .zip(&record.compressed_bytes)
            .try_for_each(|(lba, &bytes)| drive.write_placed(lba, bytes.into(), handle)),
        Operation::WriteZeroes => (record.first_block..record.first_block + record.blocks)
            .try_for_each(|lba| drive.write_placed(lba, 0, handle)),
        Operation::Trim => drive.trim(record.first_block, record.blocks),
        Operation::Flush | Operation::Read => Ok(()),
    }
}

/// Applies all records that are left in `reader` to a drive with `handles` placement handles.
pub fn replay<R: Read, D: Drive>(reader: &mut Reader<R>, drive: &mut D, handles: u8) -> Result<Replay, ReplayError> {
    let drive_blocks = u64::from(drive.logical_blocks());
    let mut done = Replay::default();
    let mut record = Record::default();
    loop {
        let number = reader.next_record();
        if !reader.read(&mut record)? {
            return Ok(done);
        }
        // The trace's own drive may have been larger than this one.
        if u64::from(record.first_block) + u64::from(record.blocks) > drive_blocks {
            return Err(TraceError::past_end(number, (record.first_block, record.blocks), drive_blocks).into());
        }
        apply(&record, drive, handles).map_err(|error| ReplayError::Drive { record: number, error })?;
        done.records += 1;
        match record.operation {
            Operation::Write | Operation::WriteZeroes => done.written_blocks += u64::from(record.blocks),
            Operation::Trim => done.trimmed_blocks += u64::from(record.blocks),
            Operation::Flush | Operation::Read => {}
        }
    }
}
