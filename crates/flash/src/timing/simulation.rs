//! A drive with a clock: what is asked of it when, and what a run has shown.

pub use super::dies::BusyTimes;
use super::latency::Latencies;
use super::operations::OperationLog;
use super::run::Run;
use super::service::ServiceTimes;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::geometry::Geometry;
use crate::trace::Record;

/// When requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At their own times.
    Recorded,
    /// The next as soon as fewer than this many are under way.
    Closed {
        /// Requests under way.
        queue_depth: u32,
    },
}

/// What a run has shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimingReport {
    /// Latencies of reads.
    pub reads: Latencies,
    /// Latencies of writes, zeros included.
    pub writes: Latencies,
    /// Virtual time from the first arrival to the last answer.
    pub duration_ns: u64,
    /// The same to the moment when all dies have finished what was buffered.
    pub drained_ns: u64,
    /// Time that dies were busy, summed over them.
    pub busy: BusyTimes,
    /// Number of dies.
    pub dies: u32,
    /// Writes that found the buffer full.
    pub stalled_writes: u64,
}

/// A drive with a clock. The drive keeps its state from run to run; the clock and the queues start anew.
#[derive(Debug)]
pub struct Simulation<'a, D: Drive<Observer = OperationLog>> {
    drive: &'a mut D,
    geometry: Geometry,
    service: ServiceTimes,
    handles: u8,
}

impl<'a, D: Drive<Observer = OperationLog>> Simulation<'a, D> {
    /// A clock for a drive of this geometry, with `handles` placement handles.
    pub fn new(drive: &'a mut D, geometry: Geometry, service: ServiceTimes, handles: u8) -> Result<Self, FlashError> {
        service.check(&geometry)?;
        Ok(Self { drive, geometry, service, handles })
    }

    /// Runs requests until `next` gives no more and all are answered. `next` fills the record it is given.
    pub fn run<E: From<FlashError>>(
        &mut self,
        mut next: impl FnMut(&mut Record) -> Result<bool, E>,
        arrivals: Arrivals,
    ) -> Result<TimingReport, E> {
        if arrivals == (Arrivals::Closed { queue_depth: 0 }) {
            return Err(FlashError::invalid("queue depth", 0, "must be at least 1").into());
        }
        self.drive.observer_mut().watch(true);
        let mut run = Run::new(self.drive, self.geometry, self.service, self.handles)?;
        let outcome = run.all(&mut next, arrivals);
        let report = run.report();
        self.drive.observer_mut().watch(false);
        outcome.map(|()| report)
    }
}
