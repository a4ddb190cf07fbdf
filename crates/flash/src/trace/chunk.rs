//! A chunk: some records under one checksum.

use super::error::TraceError;
use super::format::{
    CHUNK_HEADER_BYTES, CHUNK_MAGIC, CHUNK_MAX_BYTES, RECORD_BYTES, bytes_at, check_crc, u32_at, u64_at,
};

/// What a chunk says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    pub payload_bytes: u32,
    pub records: u32,
    pub payload_crc: u32,
    pub first_time_ns: u64,
    pub written_blocks: u32,
}

impl ChunkHeader {
    pub(super) fn to_bytes(self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&CHUNK_MAGIC);
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.records.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_time_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.written_blocks.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `at` is the chunk's offset in the file.
    pub(super) fn from_bytes(bytes: &[u8; CHUNK_HEADER_BYTES], at: u64) -> Result<Self, TraceError> {
        if bytes[..4] != CHUNK_MAGIC {
            return Err(TraceError::Magic { what: "chunk", at, found: bytes[..4].to_vec(), expected: &CHUNK_MAGIC });
        }
        check_crc("chunk header", at, u32_at(bytes, 28), &bytes[..28])?;
        let header = Self {
            payload_bytes: u32_at(bytes, 4),
            records: u32_at(bytes, 8),
            payload_crc: u32::from_le_bytes(bytes_at(bytes, 12)),
            first_time_ns: u64_at(bytes, 16),
            written_blocks: u32_at(bytes, 24),
        };
        if header.payload_bytes as usize > CHUNK_MAX_BYTES {
            let found = header.payload_bytes.into();
            return Err(TraceError::Length { what: "length of a chunk", at, found, expected: CHUNK_MAX_BYTES as u64 });
        }
        if header.records == 0 || u64::from(header.records) * RECORD_BYTES as u64 > u64::from(header.payload_bytes) {
            let (found, expected) = (header.records.into(), u64::from(header.payload_bytes) / RECORD_BYTES as u64);
            return Err(TraceError::Length { what: "number of records of a chunk", at, found, expected });
        }
        Ok(header)
    }
}
