//! Everything that can go wrong: what the host gets to see of it (an errno) and what a person does (a text and a hint).

use std::fmt;
use std::io;

use codec::DamagedBlock;
use description::Refused;
use flash::FlashError;

/// Why something was refused or has failed. Messages are lower case and have no full stop.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError {
    /// A wrong request or configuration: what is wrong, and what helps.
    Refused {
        /// What is wrong.
        message: String,
        /// What helps; may be empty.
        hint: String,
    },
    /// The drive has no physical space left (the flash model says so).
    OutOfSpace,
    /// The store that holds the contents is full.
    StoreFull,
    /// A request outside the drive.
    PastEnd,
    /// The operating system failed.
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// Stored contents are not what was stored: a defect of this program or of memory.
    Damaged(&'static str),
    /// The flash model refused.
    Flash(FlashError),
}

impl DriveError {
    /// A refusal with a hint.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// A failure of the operating system.
    pub fn io(what: &'static str, error: io::Error) -> Self {
        Self::Io { what, error }
    }

    /// What a real drive's host would get.
    pub fn errno(&self) -> i32 {
        match self {
            Self::OutOfSpace | Self::StoreFull => libc::ENOSPC,
            Self::PastEnd | Self::Refused { .. } => libc::EINVAL,
            Self::Io { .. } | Self::Damaged(_) | Self::Flash(_) => libc::EIO,
        }
    }

    /// What helps; empty if nothing is known to.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::OutOfSpace => "discard or overwrite with what compresses better, or make the drive larger".into(),
            Self::StoreFull => "give the drive a larger store_bytes, or drop a snapshot".into(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for DriveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { message, .. } => out.write_str(message),
            Self::OutOfSpace => out.write_str("the drive has no physical space left"),
            Self::StoreFull => out.write_str("the store that holds the drive's contents is full"),
            Self::PastEnd => out.write_str("the request lies past the end of the drive"),
            Self::Io { what, error } => write!(out, "{what}: {error}"),
            Self::Damaged(what) => out.write_str(what),
            Self::Flash(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for DriveError {}

impl From<FlashError> for DriveError {
    fn from(error: FlashError) -> Self {
        match error {
            FlashError::OutOfSpace { .. } => Self::OutOfSpace,
            FlashError::PastEnd { .. } => Self::PastEnd,
            other => Self::Flash(other),
        }
    }
}

impl From<Refused> for DriveError {
    fn from(error: Refused) -> Self {
        Self::refused(error.message, error.hint)
    }
}

impl From<DamagedBlock> for DriveError {
    fn from(_: DamagedBlock) -> Self {
        Self::Damaged("a stored block cannot be decompressed")
    }
}

impl From<io::Error> for DriveError {
    fn from(error: io::Error) -> Self {
        Self::io("cannot read the store", error)
    }
}
