//! Streams: who writes into which open block. Data that die together should lie together.
//!
//! The host names one of a few *placement handles* with a write (NVMe streams, flexible data placement): with two, one
//! can be hot and one cold. What garbage collection moves goes back into the host's stream, into one stream of its own
//! (FDP's *initially isolated*), or into one of its own per handle (*persistently isolated*).

use crate::error::FlashError;

/// Most placement handles of a drive.
pub const MAX_HANDLES: u8 = 16;

/// Where garbage collection writes what it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GcStream {
    /// Into the open block of the host stream it came from.
    WithHost,
    /// Into one stream for all.
    Own,
    /// Into a stream of its own for each placement handle.
    PerHandle,
}

/// The streams of a drive, and so the number of its open blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Streams {
    handles: u8,
    gc: GcStream,
}

impl Streams {
    /// Host and garbage collection write into the same open block.
    pub const ONE: Self = Self { handles: 1, gc: GcStream::WithHost };
    /// The host has one open block, garbage collection another.
    pub const TWO: Self = Self { handles: 1, gc: GcStream::Own };
    /// Handle 0 is cold and handle 1 hot, for the host and for garbage collection: four open blocks.
    pub const HOT_COLD: Self = Self { handles: 2, gc: GcStream::PerHandle };

    /// `handles` placement handles, 1 to 16.
    pub fn new(handles: u8, gc: GcStream) -> Result<Self, FlashError> {
        if handles == 0 || handles > MAX_HANDLES {
            return Err(FlashError::invalid("placement handles", handles, "must be between 1 and 16"));
        }
        Ok(Self { handles, gc })
    }

    /// Placement handles that a host may name.
    pub fn handles(self) -> u8 {
        self.handles
    }

    /// All streams.
    pub fn count(self) -> u8 {
        match self.gc {
            GcStream::WithHost => self.handles,
            GcStream::Own => self.handles + 1,
            GcStream::PerHandle => 2 * self.handles,
        }
    }

    /// Blocks that are open while garbage collection chooses a victim: one a stream, without the one just filled.
    pub fn open_blocks(self) -> u32 {
        u32::from(self.count()) - 1
    }

    /// The stream that garbage collection writes to when it empties a block that `stream` wrote.
    pub(crate) fn collecting(self, stream: u8) -> u8 {
        match self.gc {
            GcStream::WithHost => stream,
            GcStream::Own => self.handles,
            GcStream::PerHandle => self.handles + stream % self.handles,
        }
    }
}
