//! One run against the clock: arrivals, the write buffer, and the dies behind it, in the order of time.

use std::collections::VecDeque;

use super::dies::{Dies, Task, Work};
use super::flights::Flights;
use super::operations::{Call, OperationLog};
use super::pacing::Backlog;
use super::service::ServiceTimes;
use super::simulation::{Arrivals, TimingReport};
use super::units::{Tasks, Units, die_of_page, pages};
use crate::BLOCK_BYTES;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::geometry::Geometry;
use crate::trace::{Operation, Record, apply};

/// The state of one run.
pub(super) struct Run<'a, D> {
    drive: &'a mut D,
    geometry: Geometry,
    service: ServiceTimes,
    handles: u8,
    now_ns: u64,
    started_ns: Option<u64>,
    units: Units,
    dies: Dies,
    backlog: Backlog,
    calls: Vec<Call>,
    tasks: Tasks,
    buffered_bytes: u64,
    waiting: VecDeque<(u64, Record)>,
    flights: Flights,
    throttled_until_ns: u64,
    throttled_writes: u64,
    report: TimingReport,
}

impl<'a, D: Drive<Observer = OperationLog>> Run<'a, D> {
    /// At time 0, with idle dies and an empty buffer.
    pub(super) fn new(drive: &'a mut D, geometry: Geometry, service: ServiceTimes, handles: u8) -> Self {
        let throttled_writes = drive.counters().throttled_writes;
        Self {
            drive,
            geometry,
            service,
            handles,
            now_ns: 0,
            started_ns: None,
            units: Units::new(geometry, service.pages_per_program),
            dies: Dies::new(&geometry, service),
            backlog: Backlog::new(service.gc_pacing),
            calls: Vec::new(),
            tasks: Tasks::default(),
            buffered_bytes: 0,
            waiting: VecDeque::new(),
            flights: Flights::default(),
            throttled_until_ns: 0,
            throttled_writes,
            report: TimingReport::default(),
        }
    }

    /// Runs until there are no more requests and all are answered.
    pub(super) fn all<E: From<FlashError>>(
        &mut self,
        next: &mut impl FnMut(&mut Record) -> Result<bool, E>,
        arrivals: Arrivals,
    ) -> Result<(), E> {
        let mut record = Record::default();
        let mut more = next(&mut record)?;
        loop {
            let arrival_ns = more.then(|| self.arrival_ns(&record, arrivals)).flatten();
            let event_ns = self.next_event_ns();
            match (arrival_ns, event_ns) {
                // A full buffer and idle dies: what the buffer waits for lies in the backlog, or in units that need
                // more bytes to be complete.
                (_, None) if !self.waiting.is_empty() => self.force()?,
                (Some(arrival), event) if event.is_none_or(|event| arrival <= event) => {
                    self.now_ns = self.now_ns.max(arrival);
                    self.arrive(&record)?;
                    more = next(&mut record)?;
                }
                (_, Some(event)) => self.happen(event)?,
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
            Arrivals::Closed { queue_depth } => {
                let under_way = self.flights.under_way() + self.waiting.len();
                (under_way < queue_depth as usize).then_some(self.now_ns)
            }
        }
    }

    fn next_event_ns(&self) -> Option<u64> {
        [self.flights.next_ns(), self.dies.next_ns()].into_iter().flatten().min()
    }

    fn happen(&mut self, event_ns: u64) -> Result<(), FlashError> {
        self.now_ns = event_ns;
        if self.flights.next_ns() == Some(event_ns) {
            self.answer();
            return Ok(());
        }
        match self.dies.step() {
            Some(Work::Read { request: Some(flight), .. }) => self.part_read(flight),
            Some(Work::Program { host_bytes, .. }) => {
                self.buffered_bytes -= host_bytes;
                return self.admit_waiting();
            }
            _ => {}
        }
        Ok(())
    }

    fn arrive(&mut self, record: &Record) -> Result<(), FlashError> {
        self.started_ns.get_or_insert(self.now_ns);
        let end = u64::from(record.first_block) + u64::from(record.blocks);
        if end > u64::from(self.drive.logical_blocks()) {
            return Err(FlashError::PastEnd { lba: end - 1, logical_blocks: self.drive.logical_blocks() });
        }
        match record.operation {
            Operation::Read => self.read(record),
            Operation::Trim => {
                self.write(record)?;
                self.answer_later(record.operation, self.now_ns, self.now_ns);
            }
            Operation::Flush => self.answer_later(record.operation, self.now_ns, self.now_ns),
            Operation::Write | Operation::WriteZeroes => {
                if self.waiting.is_empty() && self.fits(record) {
                    self.admit(record, self.now_ns)?;
                } else {
                    self.report.stalled_writes += 1;
                    self.waiting.push_back((self.now_ns, record.clone()));
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, record: &Record) {
        let mut senses: Vec<(u32, u64, u64)> = Vec::with_capacity(1);
        for lba in (record.first_block..).take(record.blocks as usize) {
            let Some(location) = self.drive.locate(lba) else { continue };
            for (page, bytes) in pages(&self.geometry, location.offset, location.bytes) {
                // What runs over the block's end lies at the front of another one; its die is as good as any.
                let page = page % self.flash_pages_of_superblock();
                match senses.last_mut() {
                    // Neighbours in one flash page are sensed together.
                    Some(last) if (last.0, last.1) == (location.block, page) => last.2 += bytes,
                    _ => senses.push((location.block, page, bytes)),
                }
            }
        }
        let parts = senses.len() as u32;
        let flight = self.flights.take_off(record.operation, self.now_ns, parts);
        if parts == 0 {
            self.flights.answer_at(flight, self.now_ns + self.service.controller_ns);
        }
        for (_, page, bytes) in senses {
            let work = Work::Read { bytes, request: Some(flight) };
            self.dies.push(Task { die: die_of_page(&self.geometry, page), work }, self.now_ns);
        }
    }

    fn flash_pages_of_superblock(&self) -> u64 {
        self.geometry.superblock_bytes() / u64::from(self.geometry.flash_page_bytes)
    }

    fn part_read(&mut self, flight: u32) {
        if self.flights.part_done(flight) {
            self.flights.answer_at(flight, self.now_ns + self.service.controller_ns);
        }
    }

    /// Whether the buffer has room. A write larger than the whole buffer goes in when that is empty.
    fn fits(&self, record: &Record) -> bool {
        let bytes: u64 = record.compressed_bytes.iter().map(|&bytes| u64::from(bytes)).sum();
        self.buffered_bytes == 0 || self.buffered_bytes + bytes <= self.service.write_buffer_bytes
    }

    fn admit_waiting(&mut self) -> Result<(), FlashError> {
        while let Some((arrived_ns, record)) = self.waiting.pop_front() {
            if !self.fits(&record) {
                self.waiting.push_front((arrived_ns, record));
                return Ok(());
            }
            self.admit(&record, arrived_ns)?;
        }
        Ok(())
    }

    fn force(&mut self) -> Result<(), FlashError> {
        let (dies, now_ns) = (&mut self.dies, self.now_ns);
        self.backlog.release_all(|task| dies.push(task, now_ns));
        if self.dies.next_ns().is_none() {
            if let Some((arrived_ns, record)) = self.waiting.pop_front() {
                self.admit(&record, arrived_ns)?;
            }
        }
        Ok(())
    }

    /// Puts a write into the buffer and answers it.
    fn admit(&mut self, record: &Record, arrived_ns: u64) -> Result<(), FlashError> {
        self.write(record)?;
        let throttled_writes = self.drive.counters().throttled_writes;
        let slowed = throttled_writes - std::mem::replace(&mut self.throttled_writes, throttled_writes);
        let mut ready_ns = self.now_ns;
        if slowed > 0 {
            let bytes = slowed * u64::from(BLOCK_BYTES);
            let slow_ns = (bytes * 1_000_000_000).div_ceil(self.service.throttled_bytes_per_second);
            self.throttled_until_ns = self.throttled_until_ns.max(self.now_ns) + slow_ns;
            ready_ns = self.throttled_until_ns;
        }
        self.answer_later(record.operation, arrived_ns, ready_ns);
        Ok(())
    }

    /// Lets the drive do what a record says, and gives the operations to the dies.
    fn write(&mut self, record: &Record) -> Result<(), FlashError> {
        apply(record, self.drive, self.handles)?;
        self.drive.observer_mut().swap(&mut self.calls);
        let mut tasks = std::mem::take(&mut self.tasks);
        self.units.gather(&self.calls, &mut tasks);
        self.buffered_bytes += tasks.host_bytes;
        let (dies, now_ns) = (&mut self.dies, self.now_ns);
        self.backlog.release(&mut tasks, |task| dies.push(task, now_ns));
        tasks.host.drain(..).for_each(|task| dies.push(task, now_ns));
        (tasks.host_bytes, tasks.erased_bytes, tasks.moved_bytes) = (0, 0, 0);
        self.tasks = tasks;
        Ok(())
    }

    fn answer_later(&mut self, operation: Operation, arrived_ns: u64, ready_ns: u64) {
        let flight = self.flights.take_off(operation, arrived_ns, 0);
        self.flights.answer_at(flight, ready_ns + self.service.controller_ns);
    }

    fn answer(&mut self) {
        let Some(flight) = self.flights.land() else { return };
        let latency_ns = self.now_ns - flight.arrived_ns;
        match flight.operation {
            Operation::Read => self.report.reads.record(latency_ns),
            Operation::Write | Operation::WriteZeroes => self.report.writes.record(latency_ns),
            Operation::Trim | Operation::Flush => {}
        }
        self.report.duration_ns = self.now_ns - self.started_ns.unwrap_or(0);
    }

    /// What has been seen.
    pub(super) fn report(self) -> TimingReport {
        let dies = self.geometry.channels * self.geometry.dies_per_channel;
        TimingReport { busy: self.dies.busy, dies, ..self.report }
    }
}
