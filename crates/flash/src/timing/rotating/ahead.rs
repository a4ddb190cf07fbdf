//! Reading on: after a read the disk goes on into its buffer until the arm is needed elsewhere, so a sequential
//! reader does not lose a turn each time. One stretch is kept.

use super::mechanics::Mechanics;

/// What the buffer holds, or will hold if the arm stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    first: u64,
    /// The head began to read on here, then.
    from: u64,
    from_ns: u64,
    /// Where it stops.
    limit: u64,
    /// When the arm went away before that.
    left_ns: Option<u64>,
}

impl Ahead {
    /// The head has just read blocks `first` to `from`, and reads on to `limit`.
    pub(super) fn after(first: u64, from: u64, now_ns: u64, limit: u64) -> Self {
        Self { first, from, from_ns: now_ns, limit, left_ns: None }
    }

    /// A sequential reader has come nearer to the limit: the head goes on to a further one if it has not stopped.
    /// The buffer keeps at most `kept` blocks.
    pub(super) fn go_on(&mut self, limit: u64, kept: u64, now_ns: u64, mechanics: &Mechanics) {
        if self.is_there() && self.reaches_ns(self.limit, mechanics) >= now_ns {
            self.limit = self.limit.max(limit);
            self.first = self.first.max(self.limit.saturating_sub(kept));
        }
    }

    /// Whether the arm is still where it read.
    pub(super) fn is_there(&self) -> bool {
        self.left_ns.is_none()
    }

    /// The arm goes away, if it has not.
    pub(super) fn leave(&mut self, now_ns: u64) {
        self.left_ns.get_or_insert(now_ns);
    }

    /// When blocks are in the buffer; `None` if they never will be.
    pub(super) fn holds_at_ns(&self, first: u64, end: u64, mechanics: &Mechanics) -> Option<u64> {
        if first < self.first || end > self.limit {
            return None;
        }
        let read_ns = self.reaches_ns(end, mechanics);
        self.left_ns.is_none_or(|left_ns| read_ns <= left_ns).then_some(read_ns)
    }

    fn reaches_ns(&self, end: u64, mechanics: &Mechanics) -> u64 {
        self.from_ns + mechanics.transfer_ns(self.from, end.saturating_sub(self.from))
    }

    /// Whether any of these blocks is, or may come, into the buffer.
    pub(super) fn touches(&self, first: u64, end: u64) -> bool {
        first < self.limit && end > self.first
    }

    /// The track that the head is over at a time, if it reads on.
    pub(super) fn track_at(&self, now_ns: u64, mechanics: &Mechanics) -> u64 {
        let whole_ns = mechanics.transfer_ns(self.from, self.limit - self.from).max(1);
        let gone_ns = now_ns.saturating_sub(self.from_ns).min(whole_ns);
        let blocks = (u128::from(self.limit - self.from) * u128::from(gone_ns) / u128::from(whole_ns)) as u64;
        mechanics.track_of((self.from + blocks).min(self.limit - 1))
    }
}
