//! A token bucket: what caps a rate and lets it burst (Turner, *New directions in communications*, IEEE Communications
//! Magazine 24(10), 1986).

/// Parts of a token, so that a rate per second is a whole number of them per nanosecond.
const PARTS: u128 = 1_000_000_000;

/// Tokens flow in at a rate until the bucket is full. Who comes takes tokens in the order of coming, and waits while
/// there are too few: no longer than it must, and in any window no more pass than flow in and the bucket holds.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    per_second: u64,
    full: u128,
    level: u128,
    at_ns: u64,
}

impl TokenBucket {
    /// A full bucket of `size` tokens at time 0, refilled by `per_second`, which must not be 0.
    pub fn new(per_second: u64, size: u64) -> Self {
        let full = u128::from(size) * PARTS;
        Self { per_second, full, level: full, at_ns: 0 }
    }

    /// Whole tokens at a time not before the last one asked about.
    pub fn tokens(&self, at_ns: u64) -> u64 {
        (self.level_at(at_ns) / PARTS) as u64
    }

    /// When `tokens` have passed that come at `from_ns`, or at the last time that others passed if that is later. More
    /// than the bucket holds pass as they flow in.
    pub fn pass(&mut self, from_ns: u64, tokens: u64) -> u64 {
        self.level = self.level_at(from_ns);
        self.at_ns = self.at_ns.max(from_ns);
        let needed = u128::from(tokens) * PARTS;
        let rate = u128::from(self.per_second);
        let wait_ns = needed.saturating_sub(self.level).div_ceil(rate);
        self.level = self.level + wait_ns * rate - needed;
        self.at_ns = self.at_ns.saturating_add(wait_ns as u64);
        self.at_ns
    }

    /// When `tokens` are there, if nobody takes any before.
    pub fn holds_ns(&self, tokens: u64) -> u64 {
        let missing = (u128::from(tokens) * PARTS).min(self.full).saturating_sub(self.level);
        self.at_ns.saturating_add(missing.div_ceil(u128::from(self.per_second)) as u64)
    }

    fn level_at(&self, at_ns: u64) -> u128 {
        let passed_ns = u128::from(at_ns.saturating_sub(self.at_ns));
        (self.level + passed_ns * u128::from(self.per_second)).min(self.full.max(self.level))
    }
}
