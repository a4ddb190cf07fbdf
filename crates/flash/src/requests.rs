//! What both kinds of drive do with a request before they look at flash: refuse what cannot be, and take a batch in
//! runs, so that what one write waits for (its map entry, from memory far away), the others wait for too.

use std::ops::Range;

use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::streams::Streams;

/// Writes that are done side by side.
pub(crate) const RUN: usize = 16;

/// Writes that a batch looks ahead: far enough for main memory, near enough for the first-level cache.
const LOOK_AHEAD: usize = 2 * RUN;

/// The sizes of a run for which none is given.
const INCOMPRESSIBLE: [u16; RUN] = [BLOCK_BYTES as u16; RUN];

/// A drive that takes a batch in runs.
pub(crate) trait Runs {
    /// Starts to load what a write to this address, which may not exist, needs first.
    fn prefetch(&self, lba: u32);

    /// Writes some of at most `RUN` blocks with handle 0, at least the first, or says why that cannot be. As many sizes
    /// are given, or more.
    fn write_run(&mut self, lbas: &[u32], compressed_bytes: &[u16]) -> Result<usize, FlashError>;
}

/// Writes blocks in order. `compressed_bytes` is empty or has one for each.
#[inline(always)]
pub(crate) fn write_batch(drive: &mut impl Runs, lbas: &[u32], compressed_bytes: &[u16]) -> Result<(), FlashError> {
    if !compressed_bytes.is_empty() && compressed_bytes.len() != lbas.len() {
        return Err(FlashError::BatchLength { lbas: lbas.len(), sizes: compressed_bytes.len() });
    }
    lbas.iter().take(LOOK_AHEAD).for_each(|&lba| drive.prefetch(lba));
    let mut next = 0;
    while next < lbas.len() {
        let end = lbas.len().min(next + RUN);
        let sizes = compressed_bytes.get(next..end).unwrap_or(&INCOMPRESSIBLE);
        let written = drive.write_run(&lbas[next..end], sizes)?;
        lbas.iter().skip(next + LOOK_AHEAD).take(written).for_each(|&lba| drive.prefetch(lba));
        next += written;
    }
    Ok(())
}

/// How many of a run of writes come before a `special` one.
#[inline(always)]
pub(crate) fn before(lbas: &[u32], compressed_bytes: &[u16], special: impl Fn(u32, u16) -> bool) -> usize {
    let writes = || lbas.iter().zip(compressed_bytes);
    // Rare as they are, all are asked at once first.
    if writes().fold(false, |any, (&lba, &bytes)| any | special(lba, bytes)) {
        return writes().take_while(|&(&lba, &bytes)| !special(lba, bytes)).count();
    }
    lbas.len()
}

/// Refuses a write to a block that does not exist, or of a size that no block has.
#[inline(always)]
pub(crate) fn check_write(lba: u32, compressed_bytes: u32, logical_blocks: u32) -> Result<(), FlashError> {
    if lba >= logical_blocks {
        return Err(FlashError::PastEnd { lba: lba.into(), logical_blocks });
    }
    if compressed_bytes > BLOCK_BYTES {
        return Err(FlashError::CompressedSize { lba, bytes: compressed_bytes });
    }
    Ok(())
}

/// Refuses a placement handle that the drive does not have.
#[inline(always)]
pub(crate) fn check_handle(handle: u8, streams: Streams) -> Result<(), FlashError> {
    let handles = streams.handles();
    if handle < handles { Ok(()) } else { Err(FlashError::Placement { handle, handles }) }
}

/// The blocks of a TRIM, if all exist.
pub(crate) fn check_trim(lba: u32, count: u32, logical_blocks: u32) -> Result<Range<u32>, FlashError> {
    let end = u64::from(lba) + u64::from(count);
    if end > u64::from(logical_blocks) {
        return Err(FlashError::PastEnd { lba: lba.max(logical_blocks).into(), logical_blocks });
    }
    Ok(lba..lba + count)
}
