//! What happens when physical space runs out on a thin-provisioned drive: first slow, then no.
//!
//! The host sees more logical space than there is flash, because its data are expected to compress. If they do not,
//! the drive has to stop it. ScaleFlux's drives throttle to a few MB/s, then reject writes; so does this model. The
//! rate is applied by the timing layer: the drive itself knows no time.

use crate::error::FlashError;

/// Shares of the usable flash that hold live data at which the drive slows its host down, and at which it refuses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttling {
    /// Above this share, writes are throttled.
    pub throttle_from: f64,
    /// Above this share, writes that need more space than they free are rejected.
    pub reject_from: f64,
    /// The host's write rate while throttled.
    pub bytes_per_second: u64,
}

impl Default for Throttling {
    /// 10 MB/s above 97 %, nothing above 99 %.
    fn default() -> Self {
        Self { throttle_from: 0.97, reject_from: 0.99, bytes_per_second: 10_000_000 }
    }
}

/// How a drive stands with physical space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceState {
    /// Enough.
    Normal,
    /// Short: writes are accepted slowly.
    Throttled,
    /// None: writes that need more are rejected.
    WriteReject,
}

impl Throttling {
    /// Refuses shares out of order.
    pub fn check(&self) -> Result<(), FlashError> {
        if !(self.throttle_from > 0.0 && self.throttle_from <= 1.0) {
            return Err(FlashError::invalid(
                "throttle-from",
                self.throttle_from,
                "must be a share above 0 and at most 1",
            ));
        }
        if !(self.reject_from >= self.throttle_from && self.reject_from <= 1.0) {
            let reason = "must be a share of at least throttle-from and at most 1";
            return Err(FlashError::invalid("reject-from", self.reject_from, reason));
        }
        if self.bytes_per_second == 0 {
            return Err(FlashError::invalid("throttled bytes per second", 0, "must be at least 1"));
        }
        Ok(())
    }
}

/// The shares turned into bytes, and the memory that even garbage collection has found no space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    throttle_bytes: u64,
    reject_bytes: u64,
    /// Live bytes below which garbage collection is worth another try after it has failed.
    retry_below: u64,
}

impl Limits {
    pub(super) fn new(throttling: Throttling, usable_bytes: u64) -> Self {
        let share = |share: f64| (usable_bytes as f64 * share) as u64;
        Self {
            throttle_bytes: share(throttling.throttle_from),
            reject_bytes: share(throttling.reject_from),
            retry_below: u64::MAX,
        }
    }

    #[inline(always)]
    pub(super) fn state(&self, live_bytes: u64) -> SpaceState {
        if live_bytes <= self.throttle_bytes && live_bytes < self.retry_below {
            SpaceState::Normal
        } else if live_bytes >= self.reject_bytes || live_bytes >= self.retry_below {
            SpaceState::WriteReject
        } else {
            SpaceState::Throttled
        }
    }

    /// Whether a write may change the live bytes so. Once garbage collection has failed, no write can be placed, not
    /// even one that frees more than it takes, until something has been trimmed.
    #[inline(always)]
    pub(super) fn admit(&self, live_before: u64, live_after: u64) -> bool {
        (live_after <= self.reject_bytes || live_after <= live_before) && live_before < self.retry_below
    }

    /// Whether all writes are admitted at full speed up to these live bytes.
    #[inline(always)]
    pub(super) fn is_far(&self, live_bytes: u64) -> bool {
        self.state(live_bytes) == SpaceState::Normal && live_bytes < self.reject_bytes && self.retry_below == u64::MAX
    }

    /// Garbage collection found no space although `live_bytes` seemed to leave some.
    pub(super) fn stall(&mut self, live_bytes: u64, block_bytes: u32) {
        self.retry_below = live_bytes.saturating_sub(u64::from(block_bytes)).max(1);
    }

    /// Space has been made by a trim.
    pub(super) fn trimmed(&mut self, live_bytes: u64) {
        if live_bytes < self.retry_below {
            self.retry_below = u64::MAX;
        }
    }
}
