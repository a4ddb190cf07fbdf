//! Writing a trace, in one pass, to anything that takes bytes.

use std::io::Write;

use super::chunk::ChunkHeader;
use super::error::TraceError;
use super::format::{CHUNK_HEADER_BYTES, CHUNK_TARGET_BYTES, HEADER_BYTES};
use super::header::Header;
use super::index::{self, IndexEntry};
use super::record::{Operation, Record};

/// Writes records; call [`Writer::finish`] at the end, or the trace has no index.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    header: Header,
    payload: Vec<u8>,
    chunk: IndexEntry,
    index: Vec<IndexEntry>,
    last_time_ns: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut out: W, header: Header) -> Result<Self, TraceError> {
        out.write_all(&header.to_bytes())?;
        let chunk = empty_chunk(HEADER_BYTES as u64, 0);
        Ok(Self { out, header, payload: Vec::new(), chunk, index: Vec::new(), last_time_ns: 0 })
    }

    /// Adds a record, which may not be earlier than the last one. A refused record leaves the trace as it was.
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        record.check(self.records(), self.last_time_ns, self.header.drive_blocks)?;
        if self.payload.is_empty() {
            self.chunk.first_time_ns = record.time_ns;
        }
        record.encode(&mut self.payload);
        self.last_time_ns = record.time_ns;
        self.chunk.records += 1;
        if record.operation == Operation::Write {
            self.chunk.written_blocks += record.blocks;
        }
        if self.payload.len() >= CHUNK_TARGET_BYTES { self.end_chunk() } else { Ok(()) }
    }

    /// Records added so far.
    pub fn records(&self) -> u64 {
        self.chunk.first_record + u64::from(self.chunk.records)
    }

    /// Passes on all records added so far, so that they survive the death of the writer.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.end_chunk()?;
        Ok(self.out.flush()?)
    }

    /// Writes index and trailer and gives the output back.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.end_chunk()?;
        self.out.write_all(&index::to_bytes(&self.index, self.chunk.offset))?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_chunk(&mut self) -> Result<(), TraceError> {
        if self.payload.is_empty() {
            return Ok(());
        }
        let header = ChunkHeader {
            payload_bytes: self.payload.len() as u32,
            records: self.chunk.records,
            payload_crc: crc32fast::hash(&self.payload),
            first_time_ns: self.chunk.first_time_ns,
            written_blocks: self.chunk.written_blocks,
        };
        self.out.write_all(&header.to_bytes())?;
        self.out.write_all(&self.payload)?;
        let end = self.chunk.offset + (CHUNK_HEADER_BYTES + self.payload.len()) as u64;
        let next = empty_chunk(end, self.records());
        self.index.push(std::mem::replace(&mut self.chunk, next));
        self.payload.clear();
        Ok(())
    }
}

fn empty_chunk(offset: u64, first_record: u64) -> IndexEntry {
    IndexEntry { offset, first_record, first_time_ns: 0, records: 0, written_blocks: 0 }
}
