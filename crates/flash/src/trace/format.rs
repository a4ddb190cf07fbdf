//! The numbers of the format, and reading them from bytes.

use std::io::{ErrorKind, Read};

use super::error::TraceError;

pub(super) const MAGIC: [u8; 8] = *b"PGATRACE";
pub(super) const END_MAGIC: [u8; 8] = *b"PGATREND";
pub(super) const CHUNK_MAGIC: [u8; 4] = *b"CHNK";
pub(super) const VERSION: u16 = 1;
/// Reads as 0x0201 in a file that was written with the other byte order.
pub(super) const BYTE_ORDER: u16 = 0x0102;
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const CHUNK_HEADER_BYTES: usize = 32;
pub(super) const RECORD_BYTES: usize = 20;
pub(super) const INDEX_ENTRY_BYTES: usize = 32;
pub(super) const TRAILER_BYTES: usize = 32;

/// A chunk is closed when it has grown to this. Large enough for checksums at full speed, small enough to lose little.
pub(super) const CHUNK_TARGET_BYTES: usize = 256 * 1024;
/// Most bytes of a chunk: the target and one largest record. A damaged length must not make the reader take all memory.
pub(super) const CHUNK_MAX_BYTES: usize = CHUNK_TARGET_BYTES + RECORD_BYTES + 2 * MAX_BLOCKS_PER_WRITE as usize;
/// Most blocks of one write: 256 MiB, far above what any drive accepts in one command.
pub(super) const MAX_BLOCKS_PER_WRITE: u32 = 1 << 16;

/// The first `N` bytes at `offset`.
pub(super) fn bytes_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[offset..offset + N]);
    out
}

pub(super) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, offset))
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, offset))
}

pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, offset))
}

/// Fails with the checksum that was stored at `offset` if it is not that of `covered`.
pub(super) fn check_crc(what: &'static str, at: u64, stored: u32, covered: &[u8]) -> Result<(), TraceError> {
    let computed = crc32fast::hash(covered);
    if stored == computed { Ok(()) } else { Err(TraceError::Checksum { what, at, stored, computed }) }
}

/// Fills `buffer` or says how much of it there was.
pub(super) fn read_whole(
    source: &mut impl Read,
    buffer: &mut [u8],
    what: &'static str,
    at: u64,
) -> Result<(), TraceError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => {
                return Err(TraceError::Truncated { what, at, wanted: buffer.len() as u64, found: filled as u64 });
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
