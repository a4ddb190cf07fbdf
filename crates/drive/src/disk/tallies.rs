//! Counts of what the host asked for and what it took the daemon.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that many threads add to.
#[derive(Debug, Default)]
pub struct Tally(AtomicU64);

impl Tally {
    /// Adds.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Takes away; the caller knows that as much was added before.
    pub fn take(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }

    /// Sets the count.
    pub fn set(&self, amount: u64) {
        self.0.store(amount, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All counts since the drive was made. None is part of a snapshot: they tell what this program did.
#[derive(Debug, Default)]
pub struct Tallies {
    /// Read requests.
    pub reads: Tally,
    /// Write requests.
    pub writes: Tally,
    /// Flush requests.
    pub flushes: Tally,
    /// Discard requests.
    pub discards: Tally,
    /// Write-zeroes requests.
    pub zeroes: Tally,
    /// Bytes read.
    pub read_bytes: Tally,
    /// Bytes written, zeroes apart.
    pub written_bytes: Tally,
    /// Bytes discarded.
    pub discarded_bytes: Tally,
    /// Bytes zeroed.
    pub zeroed_bytes: Tally,
    /// Requests answered with an error.
    pub errors: Tally,
    /// Those of them for which the store had no room.
    pub store_full: Tally,
    /// Requests that did not lie on block borders.
    pub unaligned: Tally,
    /// Processor time in the codec, in nanoseconds.
    pub codec_ns: Tally,
    /// Bytes that the store's cleaner moved (work of this program, not of the modelled flash).
    pub cleaned_bytes: Tally,
    /// Blocks of the present state with bytes in the store.
    pub stored_blocks: Tally,
    /// Those bytes, headers apart.
    pub stored_bytes: Tally,
    /// Blocks of the present state that hold zeros the host wrote.
    pub zero_blocks: Tally,
}
