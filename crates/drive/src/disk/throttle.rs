//! A drive short of physical space slows its host down before it refuses: a shared clock of when the next write is due.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::store::BLOCK_BYTES;

/// When throttled writes may be answered.
pub struct Throttle {
    bytes_per_second: u64,
    started: Instant,
    /// Nanoseconds since the start.
    until_ns: AtomicU64,
}

impl Throttle {
    /// At a rate in bytes a second.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, started: Instant::now(), until_ns: AtomicU64::new(0) }
    }

    /// So many blocks were written while the drive was short of space. The model's lock is held.
    pub fn slow(&self, blocks: u64) {
        if blocks > 0 {
            let bytes = u128::from(blocks) * BLOCK_BYTES as u128;
            let takes_ns = (bytes * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
            let from_ns = self.until_ns.load(Ordering::Relaxed).max(self.now_ns());
            self.until_ns.store(from_ns + takes_ns, Ordering::Relaxed);
        }
    }

    /// How long it is until then.
    pub fn wait(&self) -> Duration {
        match self.until_ns.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            until_ns => Duration::from_nanos(until_ns.saturating_sub(self.now_ns())),
        }
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Throttle;

    #[test]
    fn blocks_take_their_time_one_after_the_other() {
        let throttle = Throttle::new(4096);
        assert_eq!(throttle.wait(), Duration::ZERO);
        throttle.slow(0);
        assert_eq!(throttle.wait(), Duration::ZERO);
        throttle.slow(6000);
        throttle.slow(6000);
        assert!(throttle.wait() > Duration::from_secs(10_000) && throttle.wait() <= Duration::from_secs(12_000));
    }
}
