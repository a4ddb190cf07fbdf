//! A stage that bytes pass one after the other: the host link, the compressor.

/// First come, first served, at a rate. A rate of 0 takes no time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pipe {
    bytes_per_second: u64,
    free_at_ns: u64,
}

impl Pipe {
    pub(super) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, free_at_ns: 0 }
    }

    /// Nanoseconds that so many bytes take when nothing is queued before them.
    pub(super) fn takes_ns(&self, bytes: u64) -> u64 {
        if self.bytes_per_second == 0 { 0 } else { (bytes * 1_000_000_000).div_ceil(self.bytes_per_second) }
    }

    /// When bytes that are there from `from_ns` on have passed.
    pub(super) fn pass(&mut self, from_ns: u64, bytes: u64) -> u64 {
        let takes_ns = self.takes_ns(bytes);
        if takes_ns == 0 {
            return from_ns;
        }
        self.free_at_ns = self.free_at_ns.max(from_ns) + takes_ns;
        self.free_at_ns
    }
}
