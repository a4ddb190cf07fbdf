//! One request of the host.

use super::error::TraceError;
use super::format::{MAX_BLOCKS_PER_WRITE, RECORD_BYTES, u16_at, u32_at, u64_at};
use crate::BLOCK_BYTES;

/// What the host asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Write; the only one with sizes.
    Write,
    /// The blocks hold nothing any more (discard, deallocate).
    Trim,
    /// Make earlier writes durable; has no blocks.
    Flush,
    /// Read.
    Read,
    /// The blocks hold zeros from now on.
    WriteZeroes,
}

impl Operation {
    const ALL: [Self; 5] = [Self::Write, Self::Trim, Self::Flush, Self::Read, Self::WriteZeroes];
}

/// One request. A reader reuses one of them, so that reading a trace allocates nothing a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the start of the trace.
    pub time_ns: u64,
    /// What was asked for.
    pub operation: Operation,
    /// Placement handle.
    pub stream: u8,
    /// First logical block of 4096 bytes.
    pub first_block: u32,
    /// Number of blocks; 0 for a flush.
    pub blocks: u32,
    /// Of a write, the bytes of each block after compression; else empty.
    pub compressed_bytes: Vec<u16>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            time_ns: 0,
            operation: Operation::Flush,
            stream: 0,
            first_block: 0,
            blocks: 0,
            compressed_bytes: Vec::new(),
        }
    }
}

impl Record {
    /// A write of one block a size.
    pub fn write(time_ns: u64, first_block: u32, compressed_bytes: Vec<u16>) -> Self {
        let blocks = compressed_bytes.len() as u32;
        Self { time_ns, operation: Operation::Write, stream: 0, first_block, blocks, compressed_bytes }
    }

    /// Refuses what no drive can have seen. `number` is the record's, `since_ns` the time of the one before it.
    pub(super) fn check(&self, number: u64, since_ns: u64, drive_blocks: u64) -> Result<(), TraceError> {
        if self.time_ns < since_ns {
            let reason = format!("is before the record before it, at {since_ns} ns");
            return Err(TraceError::record(number, "time", self.time_ns, reason));
        }
        let is_flush = self.operation == Operation::Flush;
        if is_flush != (self.blocks == 0) {
            let reason = if is_flush { "a flush has no blocks" } else { "must be at least 1" };
            return Err(TraceError::record(number, "blocks", self.blocks, reason));
        }
        if u64::from(self.first_block) + u64::from(self.blocks) > drive_blocks {
            return Err(TraceError::past_end(number, (self.first_block, self.blocks), drive_blocks));
        }
        let sized = if self.operation == Operation::Write { self.blocks as usize } else { 0 };
        if self.operation == Operation::Write && self.blocks > MAX_BLOCKS_PER_WRITE {
            let reason = format!("a write has at most {MAX_BLOCKS_PER_WRITE}");
            return Err(TraceError::record(number, "blocks", self.blocks, reason));
        }
        if self.compressed_bytes.len() != sized {
            let reason = format!("must be {sized}, one for each block of a write");
            return Err(TraceError::record(number, "number of sizes", self.compressed_bytes.len() as u64, reason));
        }
        match self.compressed_bytes.iter().find(|&&bytes| u32::from(bytes) > BLOCK_BYTES) {
            Some(&bytes) => {
                Err(TraceError::record(number, "compressed size", bytes, "exceeds the 4096 bytes of a block"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.time_ns.to_le_bytes());
        out.extend(self.first_block.to_le_bytes());
        out.extend(self.blocks.to_le_bytes());
        out.extend([self.operation as u8, self.stream, 0, 0]);
        self.compressed_bytes.iter().for_each(|bytes| out.extend(bytes.to_le_bytes()));
    }

    /// Reads the record at the front of `bytes` into `self`; returns its length. A checksum has been verified before,
    /// so what is wrong here was written wrongly.
    pub(super) fn decode(&mut self, bytes: &[u8], number: u64) -> Result<usize, TraceError> {
        let short =
            |wanted: usize| TraceError::record(number, "bytes", bytes.len() as u64, format!("{wanted} are needed"));
        if bytes.len() < RECORD_BYTES {
            return Err(short(RECORD_BYTES));
        }
        let Some(&operation) = Operation::ALL.get(usize::from(bytes[16])) else {
            return Err(TraceError::record(number, "operation", bytes[16], "is not known to this version"));
        };
        self.time_ns = u64_at(bytes, 0);
        self.first_block = u32_at(bytes, 8);
        self.blocks = u32_at(bytes, 12);
        self.operation = operation;
        self.stream = bytes[17];
        self.compressed_bytes.clear();
        if operation != Operation::Write {
            return Ok(RECORD_BYTES);
        }
        let end = RECORD_BYTES as u64 + 2 * u64::from(self.blocks);
        if end > bytes.len() as u64 {
            return Err(short(end as usize));
        }
        let sizes = &bytes[RECORD_BYTES..end as usize];
        self.compressed_bytes.extend(sizes.chunks_exact(2).map(|size| u16_at(size, 0)));
        Ok(end as usize)
    }
}
