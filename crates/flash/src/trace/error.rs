//! Everything that can be wrong with a trace, each with the value, the place and the reason.

use std::fmt;
use std::io;

/// Why a trace cannot be read or written. The message is lower case and has no full stop.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// Reading or writing the bytes failed.
    Io(io::Error),
    /// The bytes do not begin (or go on) with what marks a trace.
    Magic {
        /// Which part of the file.
        what: &'static str,
        /// Its offset in the file.
        at: u64,
        /// What is there.
        found: Vec<u8>,
        /// What should be there.
        expected: &'static [u8],
    },
    /// A later version of the format.
    Version {
        /// What the file says.
        found: u16,
        /// The latest that is understood.
        supported: u16,
    },
    /// The file was written with another byte order, block unit or clock.
    Unit {
        /// Which of them.
        what: &'static str,
        /// What the file says.
        found: u32,
        /// The only value that is understood.
        expected: u32,
    },
    /// Bytes have changed since they were written.
    Checksum {
        /// Which part of the file.
        what: &'static str,
        /// Its offset in the file.
        at: u64,
        /// Checksum in the file.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// The file ends inside a part.
    Truncated {
        /// Which part.
        what: &'static str,
        /// Its offset in the file.
        at: u64,
        /// Bytes it should have.
        wanted: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The file ends after a whole chunk, without index and trailer: the recorder did not finish. All records before
    /// are sound.
    NoTrailer {
        /// Where the file ends.
        at: u64,
        /// Records that were read.
        records: u64,
    },
    /// A length or count that no writer produces.
    Length {
        /// Of what.
        what: &'static str,
        /// Offset of the part in the file.
        at: u64,
        /// What the file says.
        found: u64,
        /// What it should be, or may be at most.
        expected: u64,
    },
    /// A record that no drive can have seen.
    Record {
        /// Its number from 0.
        number: u64,
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl TraceError {
    /// A wrong field of a record.
    pub(super) fn record(number: u64, field: &'static str, value: impl Into<u64>, reason: impl Into<String>) -> Self {
        Self::Record { number, field, value: value.into(), reason: reason.into() }
    }

    /// A record that runs past the end of a drive.
    pub(super) fn past_end(number: u64, (first_block, blocks): (u32, u32), drive_blocks: u64) -> Self {
        let reason = format!("{blocks} blocks from there run past the end of the drive, which has {drive_blocks}");
        Self::record(number, "first block", first_block, reason)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(out, "could not read or write the trace: {error}"),
            Self::Magic { what, at, found, expected } => write!(
                out,
                "no {what} of a trace at byte {at}: found \"{}\", expected \"{}\"",
                found.escape_ascii(),
                expected.escape_ascii()
            ),
            Self::Version { found, supported } => {
                write!(out, "trace has format version {found}, this program reads up to {supported}")
            }
            Self::Unit { what, found, expected } => {
                write!(out, "trace has {what} {found:#x}, this program reads {expected:#x} only")
            }
            Self::Checksum { what, at, stored, computed } => write!(
                out,
                "damaged {what} at byte {at} of the trace: checksum {computed:08x} of its bytes differs from \
                 {stored:08x}, which was stored"
            ),
            Self::Truncated { what, at, wanted, found } => {
                write!(out, "trace ends inside the {what} at byte {at}: {found} of {wanted} bytes are there")
            }
            Self::NoTrailer { at, records } => {
                write!(
                    out,
                    "trace ends at byte {at} without an index: its recorder did not finish; {records} records are sound"
                )
            }
            Self::Length { what, at, found, expected } => {
                write!(out, "damaged trace: {what} at byte {at} is {found}, expected {expected}")
            }
            Self::Record { number, field, value, reason } => {
                write!(out, "record {number} of the trace has {field} {value}: {reason}")
            }
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
