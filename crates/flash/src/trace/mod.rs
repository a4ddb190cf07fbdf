//! Recorded loads: what a host asked of a drive, when, and how well each block compressed.
//!
//! A trace is a file of little-endian numbers: a header, chunks of records, an index of the chunks, a trailer. It is
//! written in one pass and read in one pass; a reader that can seek may jump by time or record through the index. A
//! recorder that was killed leaves whole chunks, which can still be read (see [`TraceError::NoTrailer`]).
//!
//! ```text
//! file     header  chunk*  index  trailer
//!
//! header   64 bytes
//!   0  magic "PGATRACE"          8  version u16 = 1        10  byte order u16 = 0x0102
//!  12  block bytes u32 = 4096   16  clock unit in ns u32 = 1
//!  20  codec u8                 21  codec level i8         22  0 u16
//!  24  drive blocks u64: the logical size of the drive that was recorded
//!  32  start u64: ns since 1970-01-01 UTC at time 0, or 0 if unknown
//!  40  zeros                    60  CRC-32 u32 of bytes 0 … 59
//!
//! chunk    32 bytes, then the records
//!   0  magic "CHNK"              4  payload bytes u32       8  records u32
//!  12  CRC-32 u32 of the payload
//!  16  first time u64           24  written blocks u32     28  CRC-32 u32 of bytes 0 … 27
//!
//! record   20 bytes, then the sizes
//!   0  time u64: ns since the start, never falling
//!   8  first block u32          12  blocks u32
//!  16  operation u8 (0 write, 1 trim, 2 flush, 3 read, 4 write zeroes)
//!  17  stream u8                18  0 u16
//!  20  one u16 a block, of writes only: bytes after compression, 0 … 4096; 0 is a block of zeros
//!
//! index    one entry of 32 bytes a chunk
//!   0  offset of the chunk u64   8  first record u64       16  first time u64
//!  24  records u32              28  written blocks u32
//!
//! trailer  32 bytes
//!   0  index offset u64          8  chunks u32             12  CRC-32 u32 of the index
//!  16  zeros u32                20  CRC-32 u32 of bytes 0 … 19        24  magic "PGATREND"
//! ```
//!
//! CRC-32 is zlib's, so that `zlib.crc32` in any language checks a file.

mod chunk;
mod error;
mod format;
mod header;
mod index;
mod reader;
mod record;
mod replay;
mod writer;

pub use error::TraceError;
pub use header::{Codec, Header};
pub use index::IndexEntry;
pub use reader::{IndexedReader, Reader};
pub use record::{Operation, Record};
pub use replay::{Replay, ReplayError, apply, replay};
pub use writer::Writer;

#[cfg(test)]
mod tests;
