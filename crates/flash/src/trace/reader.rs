//! Reading a trace: in one pass from anything that gives bytes, or from any chunk on if it can seek.

use std::io::{Read, Seek, SeekFrom};

use super::chunk::ChunkHeader;
use super::error::TraceError;
use super::format::{
    CHUNK_HEADER_BYTES, CHUNK_MAGIC, HEADER_BYTES, INDEX_ENTRY_BYTES, TRAILER_BYTES, check_crc, read_whole,
};
use super::header::Header;
use super::index::{IndexEntry, Trailer};
use super::record::{Operation, Record};

/// Reads records in order and checks all of the file on the way.
#[derive(Debug)]
pub struct Reader<R: Read> {
    source: R,
    header: Header,
    /// Offset in the file of the next byte of `source`.
    offset: u64,
    payload: Vec<u8>,
    /// Bytes of `payload` already decoded.
    position: usize,
    /// The chunk being read: records and written blocks are those still to come.
    chunk: IndexEntry,
    seen: Vec<IndexEntry>,
    next_record: u64,
    last_time_ns: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut source: R) -> Result<Self, TraceError> {
        let mut bytes = [0; HEADER_BYTES];
        read_whole(&mut source, &mut bytes, "header", 0)?;
        Ok(Self {
            source,
            header: Header::from_bytes(&bytes)?,
            offset: HEADER_BYTES as u64,
            payload: Vec::new(),
            position: 0,
            chunk: IndexEntry { offset: 0, first_record: 0, first_time_ns: 0, records: 0, written_blocks: 0 },
            seen: Vec::new(),
            next_record: 0,
            last_time_ns: 0,
            ended: false,
        })
    }

    /// What is true for the whole trace.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Number of the record that [`Reader::read`] gives next.
    pub fn next_record(&self) -> u64 {
        self.next_record
    }

    /// Reads the next record into `record`; `false` at the end of a sound trace.
    ///
    /// After an error the trace cannot be read on; all records given before it are sound.
    pub fn read(&mut self, record: &mut Record) -> Result<bool, TraceError> {
        if self.chunk.records == 0 && !self.next_chunk()? {
            return Ok(false);
        }
        self.position += record.decode(&self.payload[self.position..], self.next_record)?;
        record.check(self.next_record, self.last_time_ns, self.header.drive_blocks)?;
        self.last_time_ns = record.time_ns;
        self.next_record += 1;
        self.chunk.records -= 1;
        if record.operation == Operation::Write {
            self.chunk.written_blocks = self.chunk.written_blocks.wrapping_sub(record.blocks);
        }
        if self.chunk.records == 0 {
            self.check_chunk_end()?;
        }
        Ok(true)
    }

    /// A chunk must hold exactly the records and blocks that it announced.
    fn check_chunk_end(&self) -> Result<(), TraceError> {
        let at = self.chunk.offset;
        if self.position != self.payload.len() {
            let (found, expected) = (self.payload.len() as u64, self.position as u64);
            return Err(TraceError::Length { what: "length of a chunk", at, found, expected });
        }
        match self.chunk.written_blocks {
            0 => Ok(()),
            _ => {
                let announced = self.seen.last().map_or(0, |entry| entry.written_blocks);
                let expected = announced.wrapping_sub(self.chunk.written_blocks).into();
                Err(TraceError::Length {
                    what: "number of written blocks of a chunk",
                    at,
                    found: announced.into(),
                    expected,
                })
            }
        }
    }

    /// Loads the next chunk, or checks the end of the file and returns `false`.
    fn next_chunk(&mut self) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        let at = self.offset;
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        match read_whole(&mut self.source, &mut bytes, "chunk header", at) {
            Err(TraceError::Truncated { found: 0, .. }) => {
                return Err(TraceError::NoTrailer { at, records: self.next_record });
            }
            other => other?,
        }
        if bytes[..4] != CHUNK_MAGIC && self.may_be_index(&bytes) {
            self.check_end(&bytes)?;
            return Ok(false);
        }
        let header = ChunkHeader::from_bytes(&bytes, at)?;
        self.payload.resize(header.payload_bytes as usize, 0);
        read_whole(&mut self.source, &mut self.payload, "chunk", at)?;
        check_crc("chunk", at, header.payload_crc, &self.payload)?;
        self.offset += (CHUNK_HEADER_BYTES + self.payload.len()) as u64;
        self.position = 0;
        self.chunk = IndexEntry {
            offset: at,
            first_record: self.next_record,
            first_time_ns: header.first_time_ns,
            records: header.records,
            written_blocks: header.written_blocks,
        };
        self.seen.push(self.chunk);
        Ok(true)
    }

    /// Whether 32 bytes that are no chunk header can be the first entry of the index (which names the first chunk), or
    /// the trailer of a trace without chunks.
    fn may_be_index(&self, bytes: &[u8; CHUNK_HEADER_BYTES]) -> bool {
        let first = self.seen.first().map_or(self.offset, |entry| entry.offset);
        bytes[..8] == first.to_le_bytes()
    }

    /// Reads the rest of index and trailer; the index must list the chunks that were read.
    fn check_end(&mut self, first: &[u8]) -> Result<(), TraceError> {
        let mut rest = first.to_vec();
        let index_bytes = self.seen.len() * INDEX_ENTRY_BYTES;
        let wanted = index_bytes + TRAILER_BYTES;
        // One byte more than wanted tells that there is more, without reading all of a damaged file.
        self.source.by_ref().take((wanted + 1 - rest.len()) as u64).read_to_end(&mut rest)?;
        if rest.len() < wanted {
            let (wanted, found) = (wanted as u64, rest.len() as u64);
            return Err(TraceError::Truncated { what: "index", at: self.offset, wanted, found });
        }
        if rest.len() > wanted {
            let (found, expected) = (rest.len() as u64, wanted as u64);
            return Err(TraceError::Length { what: "length of index and trailer", at: self.offset, found, expected });
        }
        let (index, trailer) = rest.split_at(index_bytes);
        let trailer = Trailer::from_bytes(trailer, self.offset + index_bytes as u64)?;
        let entries = trailer.entries(index)?;
        if let Some(number) = (0..entries.len()).find(|&number| entries[number] != self.seen[number]) {
            let (found, expected) = (entries[number].offset, self.seen[number].offset);
            return Err(TraceError::Length { what: "index entry of the chunk", at: expected, found, expected });
        }
        self.ended = true;
        Ok(())
    }
}

/// Reads the index first and then from any chunk on.
#[derive(Debug)]
pub struct IndexedReader<R: Read + Seek> {
    source: R,
    header: Header,
    entries: Vec<IndexEntry>,
}

impl<R: Read + Seek> IndexedReader<R> {
    /// Reads header, trailer and index.
    pub fn new(mut source: R) -> Result<Self, TraceError> {
        let end = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let header = Reader::new(&mut source)?.header();
        let wanted = (HEADER_BYTES + TRAILER_BYTES) as u64;
        if end < wanted {
            return Err(TraceError::Truncated { what: "trace", at: 0, wanted, found: end });
        }
        let at = end - TRAILER_BYTES as u64;
        source.seek(SeekFrom::Start(at))?;
        let mut bytes = [0; TRAILER_BYTES];
        read_whole(&mut source, &mut bytes, "trailer", at)?;
        let trailer = Trailer::from_bytes(&bytes, at)?;
        let mut index = vec![0; trailer.chunks as usize * INDEX_ENTRY_BYTES];
        source.seek(SeekFrom::Start(trailer.index_offset))?;
        read_whole(&mut source, &mut index, "index", trailer.index_offset)?;
        let entries = trailer.entries(&index)?;
        Ok(Self { source, header, entries })
    }

    /// What is true for the whole trace.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The chunks.
    pub fn chunks(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Records in the trace.
    pub fn records(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.first_record + u64::from(entry.records))
    }

    /// Blocks that the trace writes.
    pub fn written_blocks(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.written_blocks)).sum()
    }

    /// A reader of all records from the first one at or after `time_ns` on.
    ///
    /// The chunk is found by the index; records of it that are earlier are skipped.
    pub fn read_from(mut self, time_ns: u64) -> Result<Reader<R>, TraceError> {
        let after = self.entries.partition_point(|entry| entry.first_time_ns < time_ns);
        let start = after.saturating_sub(1);
        let offset = self.entries.get(start).map_or(HEADER_BYTES as u64, |entry| entry.offset);
        self.source.seek(SeekFrom::Start(offset))?;
        let mut reader = Reader {
            source: self.source,
            header: self.header,
            offset,
            payload: Vec::new(),
            position: 0,
            chunk: IndexEntry { offset, first_record: 0, first_time_ns: 0, records: 0, written_blocks: 0 },
            next_record: self.entries.get(start).map_or(0, |entry| entry.first_record),
            seen: self.entries[..start.min(self.entries.len())].to_vec(),
            last_time_ns: 0,
            ended: false,
        };
        reader.skip_until(time_ns)?;
        Ok(reader)
    }
}

impl<R: Read> Reader<R> {
    /// Skips records of the next chunk that are earlier than `time_ns`.
    fn skip_until(&mut self, time_ns: u64) -> Result<(), TraceError> {
        let mut record = Record::default();
        while self.chunk.records > 0 || self.next_chunk()? {
            let mut peeked = Record::default();
            peeked.decode(&self.payload[self.position..], self.next_record)?;
            if peeked.time_ns >= time_ns {
                return Ok(());
            }
            self.read(&mut record)?;
        }
        Ok(())
    }
}
