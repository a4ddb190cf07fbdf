//! What lies in the log before a block's bytes: whose they are, so that a segment can be emptied without an index.

use super::BLOCK_BYTES;
use super::entry::UNIT_BYTES;

/// Bytes before the block's own.
pub const HEADER_BYTES: usize = 8;

/// The most that a block can take.
pub const MAX_RECORD_BYTES: usize = HEADER_BYTES + BLOCK_BYTES;

/// The owner and the length of a stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Logical block.
    pub lba: u32,
    /// Bytes that follow, 1 to 4096.
    pub length: usize,
}

impl Header {
    /// As it lies in the log.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        (u64::from(self.lba) | (self.length as u64) << 32).to_le_bytes()
    }

    /// Reads a header; `None` if there cannot be one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(bytes.get(..HEADER_BYTES)?.try_into().ok()?);
        let length = (word >> 32) as usize;
        (1..=BLOCK_BYTES).contains(&length).then_some(Self { lba: word as u32, length })
    }
}

/// Bytes of log that a block of `length` bytes takes: header, bytes, and the rest of a unit.
pub fn footprint(length: usize) -> usize {
    (HEADER_BYTES + length).next_multiple_of(UNIT_BYTES as usize)
}

#[cfg(test)]
mod tests {
    use super::{Header, footprint};

    #[test]
    fn a_header_survives_and_nonsense_does_not() {
        let header = Header { lba: u32::MAX, length: 4096 };
        assert_eq!(Header::from_bytes(&header.to_bytes()), Some(header));
        assert_eq!(Header::from_bytes(&[0; 8]), None);
        assert_eq!(Header::from_bytes(&[255; 8]), None);
        assert_eq!(Header::from_bytes(&[1; 3]), None);
        assert_eq!((footprint(1), footprint(8), footprint(4096)), (16, 16, 4104));
    }
}
