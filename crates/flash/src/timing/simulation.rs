//! A drive with a clock: each request is given to the drive and then to the timed device, in the order of time.

use super::device::{Device, Request};
pub use super::dies::BusyTimes;
use super::flash_device::FlashDevice;
use super::latency::Latencies;
use super::operations::{Call, OperationLog};
use super::service::ServiceTimes;
use crate::drive::{Drive, Location};
use crate::error::FlashError;
use crate::geometry::Geometry;
use crate::trace::{Operation, Record, apply};

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

/// The state of one run.
struct Run<'a, D> {
    drive: &'a mut D,
    device: FlashDevice,
    dies: u32,
    handles: u8,
    now_ns: u64,
    started_ns: Option<u64>,
    calls: Vec<Call>,
    places: Vec<Location>,
    throttled_writes: u64,
    report: TimingReport,
}

impl<'a, D: Drive<Observer = OperationLog>> Run<'a, D> {
    /// At time 0, with idle dies and an empty buffer.
    fn new(drive: &'a mut D, geometry: Geometry, service: ServiceTimes, handles: u8) -> Result<Self, FlashError> {
        let throttled_writes = drive.counters().throttled_writes;
        Ok(Self {
            drive,
            device: FlashDevice::new(geometry, service)?,
            dies: geometry.channels * geometry.dies_per_channel,
            handles,
            now_ns: 0,
            started_ns: None,
            calls: Vec::new(),
            places: Vec::new(),
            throttled_writes,
            report: TimingReport::default(),
        })
    }

    /// Runs until there are no more requests and all are answered.
    fn all<E: From<FlashError>>(
        &mut self,
        next: &mut impl FnMut(&mut Record) -> Result<bool, E>,
        arrivals: Arrivals,
    ) -> Result<(), E> {
        let mut record = Record::default();
        let mut more = next(&mut record)?;
        loop {
            let arrival_ns = more.then(|| self.arrival_ns(&record, arrivals)).flatten();
            match (arrival_ns, self.device.next_ns()) {
                (Some(arrival), event) if event.is_none_or(|event| arrival <= event) => {
                    self.now_ns = self.now_ns.max(arrival);
                    self.arrive(&record)?;
                    more = next(&mut record)?;
                }
                (_, Some(event)) => {
                    self.now_ns = event;
                    self.device.advance(event);
                    self.answer();
                }
                (_, None) => {
                    self.report.drained_ns = self.now_ns - self.started_ns.unwrap_or(self.now_ns);
                    return Ok(());
                }
            }
        }
    }

    /// When the next request arrives, if it can before one under way is answered.
    fn arrival_ns(&self, record: &Record, arrivals: Arrivals) -> Option<u64> {
        match arrivals {
            Arrivals::Recorded => Some(record.time_ns),
            Arrivals::Closed { queue_depth } => (self.device.under_way() < queue_depth as usize).then_some(self.now_ns),
        }
    }

    /// Lets the drive do what a record says, and the device say how long that takes.
    fn arrive(&mut self, record: &Record) -> Result<(), FlashError> {
        self.started_ns.get_or_insert(self.now_ns);
        let end = u64::from(record.first_block) + u64::from(record.blocks);
        if end > u64::from(self.drive.logical_blocks()) {
            return Err(FlashError::PastEnd { lba: end - 1, logical_blocks: self.drive.logical_blocks() });
        }
        self.places.clear();
        if record.operation == Operation::Read {
            let drive = &*self.drive;
            self.places.extend((record.first_block..end as u32).filter_map(|lba| drive.locate(lba)));
        }
        apply(record, self.drive, self.handles)?;
        self.drive.observer_mut().swap(&mut self.calls);
        let throttled_writes = self.drive.counters().throttled_writes;
        let throttled_blocks = throttled_writes - std::mem::replace(&mut self.throttled_writes, throttled_writes);
        self.device.submit(&Request {
            places: &self.places,
            calls: &self.calls,
            throttled_blocks,
            ..Request::of(record.operation, self.now_ns, record.first_block, record.blocks)
        });
        Ok(())
    }

    fn answer(&mut self) {
        while let Some(answer) = self.device.answer() {
            let latency_ns = answer.due_ns - answer.arrived_ns;
            match answer.operation {
                Operation::Read => self.report.reads.record(latency_ns),
                Operation::Write | Operation::WriteZeroes => self.report.writes.record(latency_ns),
                Operation::Trim | Operation::Flush => {}
            }
            self.report.duration_ns = answer.due_ns - self.started_ns.unwrap_or(0);
        }
    }

    /// What has been seen.
    fn report(self) -> TimingReport {
        let (busy, stalled_writes) = (self.device.busy(), self.device.stalled_writes());
        TimingReport { busy, dies: self.dies, stalled_writes, ..self.report }
    }
}
