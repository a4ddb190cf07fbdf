//! What waits for the arm, and which of it comes next: of the oldest `queue_depth`, what the head reaches first
//! (shortest positioning time), but nothing waits for ever. Writes that are answered already wait until the arm has
//! nothing better to do, unless somebody needs the room or waits for them.

use super::mechanics::Mechanics;

/// The oldest is next once it has waited this long.
const PATIENCE_NS: u64 = 500_000_000;

/// Buffered writes that follow each other are written together up to this.
const JOINED_BLOCKS: u64 = 256;

/// Something for the arm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    /// The request that waits; none for a write that is answered already.
    pub request: Option<u32>,
    pub first: u64,
    pub end: u64,
    pub is_write: bool,
    pub since_ns: u64,
    pub epoch: u64,
}

/// What waits, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    requests: Vec<Job>,
    buffered: Vec<Job>,
}

impl Queue {
    pub(super) fn push(&mut self, job: Job) {
        if job.request.is_some() { self.requests.push(job) } else { self.buffered.push(job) }
    }

    /// Whether a buffered write that has not begun covers these blocks.
    pub(super) fn covers(&self, first: u64, end: u64) -> bool {
        self.buffered.iter().any(|job| job.first <= first && end <= job.end)
    }

    /// Makes the last buffered write longer if these blocks go on where it ends; whether it did.
    pub(super) fn extend(&mut self, first: u64, end: u64, epoch: u64) -> bool {
        match self.buffered.last_mut() {
            Some(job) if job.end == first && job.epoch == epoch && end - job.first <= JOINED_BLOCKS => {
                job.end = end;
                true
            }
            _ => false,
        }
    }

    /// Takes out what comes next.
    pub(super) fn next(
        &mut self,
        depth: u32,
        buffered_too: bool,
        track: u64,
        mechanics: &Mechanics,
        now_ns: u64,
    ) -> Option<Job> {
        let nothing_better = self.requests.is_empty();
        let found_request = nearest(&self.requests, depth, track, mechanics, now_ns);
        let found_buffered = (buffered_too || nothing_better)
            .then(|| nearest(&self.buffered, depth, track, mechanics, now_ns))
            .flatten();
        match (found_request, found_buffered) {
            (Some((request_ns, _)), Some((buffered_ns, position))) if buffered_ns < request_ns => {
                Some(self.buffered.remove(position))
            }
            (Some((_, position)), _) => Some(self.requests.remove(position)),
            (None, Some((_, position))) => Some(self.buffered.remove(position)),
            (None, None) => None,
        }
    }
}

/// The one that the head reaches first, and after how long; 0 for one that has waited long enough.
fn nearest(jobs: &[Job], depth: u32, track: u64, mechanics: &Mechanics, now_ns: u64) -> Option<(u64, usize)> {
    let oldest = jobs.first()?;
    if now_ns.saturating_sub(oldest.since_ns) > PATIENCE_NS {
        return Some((0, 0));
    }
    let reached = jobs.iter().take(depth as usize).enumerate();
    reached.map(|(position, job)| (mechanics.positioning_ns(track, job.first, job.is_write, now_ns), position)).min()
}
