//! What each thread keeps for itself: a codec context and room for a request's compressed blocks.

use std::cell::RefCell;

use codec::{Codec, Compressor, Decompressor};

use crate::error::DriveError;
use crate::store::BLOCK_BYTES;

/// Blocks of the largest request.
pub const MAX_BLOCKS: usize = 256;

/// A thread's own things.
pub struct Scratch {
    codec: Codec,
    /// For writes.
    pub compressor: Compressor,
    /// For reads.
    pub decompressor: Decompressor,
    /// One after the other, 4096 bytes each.
    pub compressed: Box<[u8]>,
    /// Addresses of a request.
    pub lbas: Vec<u32>,
    /// Sizes of a request's blocks; 0 is zeros.
    pub sizes: Vec<u16>,
}

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// Runs `work` with this thread's scratch, which is made at the first call. Not to be nested.
pub fn with_scratch<T>(
    codec: Codec,
    work: impl FnOnce(&mut Scratch) -> Result<T, DriveError>,
) -> Result<T, DriveError> {
    SCRATCH.with_borrow_mut(|slot| {
        if let Some(scratch) = slot.as_mut().filter(|scratch| scratch.codec == codec) {
            return work(scratch);
        }
        let made = Scratch {
            codec,
            compressor: Compressor::new(codec),
            decompressor: Decompressor::new(codec),
            compressed: vec![0; MAX_BLOCKS * BLOCK_BYTES].into(),
            lbas: Vec::with_capacity(MAX_BLOCKS),
            sizes: Vec::with_capacity(MAX_BLOCKS),
        };
        work(slot.insert(made))
    })
}

/// Processor time of this thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
