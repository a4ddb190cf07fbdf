//! The index and the trailer: where each chunk lies, so that a reader can jump.

use super::error::TraceError;
use super::format::{
    CHUNK_HEADER_BYTES, END_MAGIC, HEADER_BYTES, INDEX_ENTRY_BYTES, RECORD_BYTES, TRAILER_BYTES, check_crc, u32_at,
    u64_at,
};

/// One chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    /// Offset of the chunk in the file.
    pub offset: u64,
    /// Number of its first record.
    pub first_record: u64,
    /// Time of its first record, in nanoseconds since the start.
    pub first_time_ns: u64,
    /// Number of its records.
    pub records: u32,
    /// Blocks that its records write.
    pub written_blocks: u32,
}

impl IndexEntry {
    fn to_bytes(self) -> [u8; INDEX_ENTRY_BYTES] {
        let mut bytes = [0; INDEX_ENTRY_BYTES];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_record.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_time_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.records.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.written_blocks.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            offset: u64_at(bytes, 0),
            first_record: u64_at(bytes, 8),
            first_time_ns: u64_at(bytes, 16),
            records: u32_at(bytes, 24),
            written_blocks: u32_at(bytes, 28),
        }
    }
}

/// Index and trailer as they stand at the end of a file.
pub(super) fn to_bytes(entries: &[IndexEntry], index_offset: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
    let index_crc = crc32fast::hash(&bytes);
    let mut trailer = [0; TRAILER_BYTES];
    trailer[0..8].copy_from_slice(&index_offset.to_le_bytes());
    trailer[8..12].copy_from_slice(&(entries.len() as u32).to_le_bytes());
    trailer[12..16].copy_from_slice(&index_crc.to_le_bytes());
    let crc = crc32fast::hash(&trailer[..20]);
    trailer[20..24].copy_from_slice(&crc.to_le_bytes());
    trailer[24..].copy_from_slice(&END_MAGIC);
    bytes.extend(trailer);
    bytes
}

/// What the trailer says about the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trailer {
    pub index_offset: u64,
    pub chunks: u32,
    index_crc: u32,
}

impl Trailer {
    /// `at` is the trailer's offset in the file; the index must lie right before it.
    pub(super) fn from_bytes(bytes: &[u8], at: u64) -> Result<Self, TraceError> {
        if bytes[24..32] != END_MAGIC {
            return Err(TraceError::Magic { what: "trailer", at, found: bytes[24..32].to_vec(), expected: &END_MAGIC });
        }
        check_crc("trailer", at, u32_at(bytes, 20), &bytes[..20])?;
        let trailer = Self { index_offset: u64_at(bytes, 0), chunks: u32_at(bytes, 8), index_crc: u32_at(bytes, 12) };
        let index_bytes = u64::from(trailer.chunks) * INDEX_ENTRY_BYTES as u64;
        if trailer.index_offset.checked_add(index_bytes) != Some(at) {
            let expected = at.saturating_sub(index_bytes);
            return Err(TraceError::Length { what: "index offset", at, found: trailer.index_offset, expected });
        }
        Ok(trailer)
    }

    /// The entries from the index's bytes.
    pub(super) fn entries(&self, index: &[u8]) -> Result<Vec<IndexEntry>, TraceError> {
        check_crc("index", self.index_offset, self.index_crc, index)?;
        let entries: Vec<IndexEntry> = index.chunks_exact(INDEX_ENTRY_BYTES).map(IndexEntry::from_bytes).collect();
        self.check_order(&entries)?;
        Ok(entries)
    }

    /// Chunks lie one behind the other from the header on, are large enough for their records, and time never falls.
    fn check_order(&self, entries: &[IndexEntry]) -> Result<(), TraceError> {
        let (mut offset, mut record, mut time_ns) = (HEADER_BYTES as u64, 0, 0);
        for (number, entry) in entries.iter().enumerate() {
            let at = self.index_offset + (number * INDEX_ENTRY_BYTES) as u64;
            let wrong = |what, found, expected| Err(TraceError::Length { what, at, found, expected });
            if number == 0 && entry.offset != offset || entry.offset < offset {
                return wrong("offset in the index", entry.offset, offset);
            }
            if entry.first_record != record {
                return wrong("first record in the index", entry.first_record, record);
            }
            if entry.first_time_ns < time_ns {
                return wrong("first time in the index", entry.first_time_ns, time_ns);
            }
            let end = entries.get(number + 1).map_or(self.index_offset, |next| next.offset);
            let most = end.saturating_sub(entry.offset).saturating_sub(CHUNK_HEADER_BYTES as u64) / RECORD_BYTES as u64;
            if entry.records == 0 || u64::from(entry.records) > most {
                return wrong("number of records in the index", entry.records.into(), most);
            }
            offset = entry.offset + (CHUNK_HEADER_BYTES + RECORD_BYTES) as u64;
            record += u64::from(entry.records);
            time_ns = entry.first_time_ns;
        }
        Ok(())
    }
}
