//! Spreading garbage collection over the host writes that it makes room for.
//!
//! The drive empties a whole superblock between two host writes. Done at once on the dies, that would stop the host for
//! as long as it takes to move gigabytes; firmware starts earlier and does a little with each host write. Emptying a
//! block with m live of s bytes gives the host s − m bytes, so the work is released evenly over that many.

use std::collections::VecDeque;

use super::dies::Task;
use super::service::GcPacing;
use super::units::Tasks;

/// Background tasks not yet given to the dies.
#[derive(Debug)]
pub(super) struct Backlog {
    pacing: GcPacing,
    tasks: VecDeque<Task>,
    /// Host bytes over which the tasks are spread.
    window_bytes: u64,
}

impl Backlog {
    pub(super) fn new(pacing: GcPacing) -> Self {
        Self { pacing, tasks: VecDeque::new(), window_bytes: 0 }
    }

    /// Takes background tasks and lets those go that are due after the host wrote `tasks.host_bytes`.
    pub(super) fn release(&mut self, tasks: &mut Tasks, mut issue: impl FnMut(Task)) {
        self.tasks.extend(tasks.background.drain(..));
        self.window_bytes += tasks.erased_bytes.saturating_sub(tasks.moved_bytes);
        let due = match self.pacing {
            GcPacing::Burst => self.tasks.len() as u64,
            GcPacing::Paced if tasks.host_bytes >= self.window_bytes => self.tasks.len() as u64,
            GcPacing::Paced => (self.tasks.len() as u64 * tasks.host_bytes).div_ceil(self.window_bytes),
        };
        self.window_bytes = self.window_bytes.saturating_sub(tasks.host_bytes);
        self.tasks.drain(..due as usize).for_each(&mut issue);
    }

    /// Lets everything go.
    pub(super) fn release_all(&mut self, issue: impl FnMut(Task)) {
        self.window_bytes = 0;
        self.tasks.drain(..).for_each(issue);
    }
}
