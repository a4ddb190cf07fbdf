//! Everything that can be wrong with a drive's description or with a request, each with the value and the reason.

use std::fmt;

/// Why a drive cannot be built or a request cannot be served. The message is lower case and has no full stop.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FlashError {
    /// A field of a description has a value that no drive can have.
    Invalid {
        /// The field's name as the user knows it, for example `over-provisioning`.
        field: &'static str,
        /// The value as it was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A request names a logical block past the drive's end.
    PastEnd {
        /// The first address that does not exist.
        lba: u64,
        /// The number of logical blocks of the drive.
        logical_blocks: u32,
    },
    /// A block of 4096 bytes cannot have this size after compression.
    CompressedSize {
        /// The address written.
        lba: u32,
        /// The size that was given, in bytes.
        bytes: u32,
    },
    /// Two parallel arrays of a batch differ in length.
    BatchLength {
        /// Number of addresses.
        lbas: usize,
        /// Number of compressed sizes.
        sizes: usize,
    },
    /// The request carries a placement handle that the drive does not have.
    Placement {
        /// The handle that was given.
        handle: u8,
        /// Number of handles of the drive.
        handles: u8,
    },
    /// A compressing drive has no physical space for the write; trimming or overwriting with less makes room.
    OutOfSpace {
        /// The address whose write was rejected.
        lba: u32,
        /// Bytes of flash that hold live data.
        live_bytes: u64,
        /// Bytes of flash that may hold live data.
        usable_bytes: u64,
    },
}

impl FlashError {
    /// A wrong field of a description.
    pub fn invalid(field: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Invalid { field, value: value.to_string(), reason: reason.into() }
    }
}

impl fmt::Display for FlashError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { field, value, reason } => write!(out, "invalid {field} {value}: {reason}"),
            Self::PastEnd { lba, logical_blocks } => {
                write!(
                    out,
                    "logical block {lba} is past the end of the drive, which has {logical_blocks} blocks of 4096 bytes"
                )
            }
            Self::CompressedSize { lba, bytes } => {
                write!(out, "compressed size {bytes} of logical block {lba} exceeds the 4096 bytes of a block")
            }
            Self::BatchLength { lbas, sizes } => {
                write!(out, "a batch of {lbas} logical blocks came with {sizes} compressed sizes")
            }
            Self::Placement { handle, handles } => {
                write!(out, "placement handle {handle} does not exist: the drive has {handles}")
            }
            Self::OutOfSpace { lba, live_bytes, usable_bytes } => write!(
                out,
                "write to logical block {lba} rejected: {live_bytes} of {usable_bytes} bytes of usable flash are live"
            ),
        }
    }
}

impl std::error::Error for FlashError {}
