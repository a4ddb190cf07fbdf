//! A flash drive against the clock: the host link, the compressor, the write buffer, and the dies behind it.

mod forecast;

use std::collections::VecDeque;

use crate::BLOCK_BYTES;
use crate::drive::Location;
use crate::error::FlashError;
use crate::geometry::Geometry;
use crate::observer::Cause;
use crate::timing::device::{Answer, Device, Request};
use crate::timing::dies::{BusyTimes, Dies, Task, Work};
use crate::timing::flights::{Flight, Flights};
use crate::timing::flushes::Flushes;
use crate::timing::operations::Call;
use crate::timing::pacing::Backlog;
use crate::timing::pipe::Pipe;
use crate::timing::service::ServiceTimes;
use crate::timing::units::{Tasks, Units, die_of_page, pages};
use crate::trace::Operation;

/// A write that the buffer has no room for yet.
#[derive(Debug)]
struct Waiting {
    number: u32,
    calls: Vec<Call>,
    stored_bytes: u64,
    throttled_blocks: u64,
    /// When link and compressor are done with it.
    passed_ns: u64,
}

/// See [`Device`]. What the drive decided on comes with each request.
#[derive(Debug)]
pub struct FlashDevice {
    geometry: Geometry,
    service: ServiceTimes,
    now_ns: u64,
    link: Pipe,
    compressor: Pipe,
    decompressor: Pipe,
    units: Units,
    dies: Dies,
    backlog: Backlog,
    tasks: Tasks,
    buffered_bytes: u64,
    waiting: VecDeque<Waiting>,
    flushes: Flushes,
    flights: Flights,
    throttled_until_ns: u64,
    stalled_writes: u64,
}

impl FlashDevice {
    /// At time 0, with idle dies and an empty buffer.
    pub fn new(geometry: Geometry, service: ServiceTimes) -> Result<Self, FlashError> {
        service.check(&geometry)?;
        Ok(Self {
            geometry,
            service,
            now_ns: 0,
            link: Pipe::new(service.link_bytes_per_second),
            compressor: Pipe::new(service.compression_bytes_per_second),
            decompressor: Pipe::new(service.decompression_bytes_per_second),
            units: Units::new(geometry, &service),
            dies: Dies::new(&geometry, service),
            backlog: Backlog::new(service.gc_pacing),
            tasks: Tasks::default(),
            buffered_bytes: 0,
            waiting: VecDeque::new(),
            flushes: Flushes::new(),
            flights: Flights::default(),
            throttled_until_ns: 0,
            stalled_writes: 0,
        })
    }

    /// Time that dies were busy so far, summed over them.
    pub fn busy(&self) -> BusyTimes {
        self.dies.busy
    }

    /// Bytes of the host that are answered for and not programmed.
    pub fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    fn read(&mut self, number: u32, places: &[Location]) {
        let mut senses: Vec<(u32, u64, u64)> = Vec::with_capacity(1);
        for location in places {
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
        if senses.is_empty() {
            return self.sensed(number);
        }
        self.flights.expect(number, senses.len() as u32);
        for (_, page, bytes) in senses {
            let work = Work::Read { bytes, request: Some(number) };
            self.dies.push(Task { die: die_of_page(&self.geometry, page), work }, self.now_ns);
        }
    }

    fn flash_pages_of_superblock(&self) -> u64 {
        self.geometry.superblock_bytes() / u64::from(self.geometry.flash_page_bytes)
    }

    /// All of a read is out of the flash.
    fn sensed(&mut self, number: u32) {
        let bytes = self.flights.get(number).bytes;
        let decompressed_ns = self.decompressor.pass(self.now_ns, bytes);
        let moved_ns = self.link.pass(decompressed_ns, bytes);
        self.flights.answer_at(number, moved_ns + self.service.controller_ns);
    }

    /// Puts a write into the buffer, or behind those that wait for room.
    fn write(&mut self, number: u32, request: &Request) {
        let bytes = self.flights.get(number).bytes;
        let moved_ns = self.link.pass(request.arrived_ns, bytes);
        let passed_ns = self.compressor.pass(moved_ns, bytes);
        let (stored_bytes, throttled_blocks) = (host_bytes(request.calls), request.throttled_blocks);
        if self.waiting.is_empty() && self.fits(stored_bytes) {
            self.give(request.calls);
            return self.admitted(number, passed_ns, throttled_blocks);
        }
        self.stalled_writes += 1;
        let calls = request.calls.to_vec();
        self.waiting.push_back(Waiting { number, calls, stored_bytes, throttled_blocks, passed_ns });
        self.unblock();
    }

    /// Whether the buffer has room. A write larger than the whole buffer goes in when that is empty.
    fn fits(&self, bytes: u64) -> bool {
        self.buffered_bytes == 0 || self.buffered_bytes + bytes <= self.service.write_buffer_bytes
    }

    fn admit_waiting(&mut self) {
        while self.waiting.front().is_some_and(|waiting| self.fits(waiting.stored_bytes)) {
            self.admit_first();
        }
        self.unblock();
    }

    fn admit_first(&mut self) {
        if let Some(waiting) = self.waiting.pop_front() {
            self.give(&waiting.calls);
            self.admitted(waiting.number, waiting.passed_ns.max(self.now_ns), waiting.throttled_blocks);
        }
    }

    /// A full buffer and idle dies: what the buffer waits for lies in the backlog, or in units that need more bytes to
    /// be complete.
    fn unblock(&mut self) {
        while !self.waiting.is_empty() && self.dies.next_ns().is_none() {
            self.release_all();
            if self.dies.next_ns().is_none() {
                self.admit_first();
            }
        }
    }

    fn release_all(&mut self) {
        let (dies, now_ns) = (&mut self.dies, self.now_ns);
        self.backlog.release_all(|task| dies.push(task, now_ns));
    }

    /// A write is in the buffer since `ready_ns`.
    fn admitted(&mut self, number: u32, mut ready_ns: u64, throttled_blocks: u64) {
        if throttled_blocks > 0 {
            let bytes = throttled_blocks * u64::from(BLOCK_BYTES);
            let slow_ns = (bytes * 1_000_000_000).div_ceil(self.service.throttled_bytes_per_second);
            self.throttled_until_ns = self.throttled_until_ns.max(ready_ns) + slow_ns;
            ready_ns = self.throttled_until_ns;
        }
        self.flights.answer_at(number, ready_ns + self.service.controller_ns);
    }

    /// Gives what the drive decided on to the dies.
    fn give(&mut self, calls: &[Call]) {
        let mut tasks = std::mem::take(&mut self.tasks);
        self.units.gather(calls, &mut tasks);
        self.buffered_bytes += tasks.host_bytes;
        let flushes = &mut self.flushes;
        tasks.host.iter_mut().chain(&mut tasks.background).for_each(|task| mark(task, flushes));
        let (dies, now_ns) = (&mut self.dies, self.now_ns);
        self.backlog.release(&mut tasks, |task| dies.push(task, now_ns));
        tasks.host.drain(..).for_each(|task| dies.push(task, now_ns));
        (tasks.host_bytes, tasks.erased_bytes, tasks.moved_bytes) = (0, 0, 0);
        self.tasks = tasks;
    }

    fn flush(&mut self, number: u32) {
        if !self.service.power_loss_protection {
            let mut tasks = std::mem::take(&mut self.tasks.host);
            self.units.close(&mut tasks);
            for mut task in tasks.drain(..) {
                mark(&mut task, &mut self.flushes);
                self.dies.push(task, self.now_ns);
            }
            self.tasks.host = tasks;
            if !self.flushes.is_clean() {
                self.release_all();
                return self.flushes.wait(number);
            }
        }
        self.flights.answer_at(number, self.now_ns + self.service.controller_ns);
    }

    fn happen(&mut self) {
        match self.dies.step() {
            Some(Work::Read { request: Some(number), .. }) if self.flights.part_done(number) => self.sensed(number),
            Some(Work::Program { host_bytes, epoch, .. }) if host_bytes > 0 => {
                self.buffered_bytes -= host_bytes;
                let (flights, due_ns) = (&mut self.flights, self.now_ns + self.service.controller_ns);
                self.flushes.done(epoch, |number| flights.answer_at(number, due_ns));
                self.admit_waiting();
            }
            _ => self.unblock(),
        }
    }
}

impl Device for FlashDevice {
    fn submit(&mut self, request: &Request) -> u32 {
        self.advance(request.arrived_ns);
        let number = self.flights.take_off(Flight::of(request));
        match request.operation {
            Operation::Read => self.read(number, request.places),
            Operation::Write | Operation::WriteZeroes => self.write(number, request),
            Operation::Trim => {
                self.give(request.calls);
                self.flights.answer_at(number, self.now_ns + self.service.controller_ns);
            }
            Operation::Flush => self.flush(number),
        }
        number
    }

    fn advance(&mut self, until_ns: u64) {
        while let Some(next_ns) = self.dies.next_ns().filter(|&next_ns| next_ns <= until_ns) {
            self.now_ns = self.now_ns.max(next_ns);
            self.happen();
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn next_ns(&self) -> Option<u64> {
        [self.flights.next_ns(), self.dies.next_ns()].into_iter().flatten().min()
    }

    fn answers_from_ns(&self) -> Option<u64> {
        self.forecast_ns()
    }

    fn answer(&mut self) -> Option<Answer> {
        self.flights.land(self.now_ns)
    }

    fn under_way(&self) -> usize {
        self.flights.under_way()
    }

    fn stalled_writes(&self) -> u64 {
        self.stalled_writes
    }
}

/// What a write puts into the buffer.
fn host_bytes(calls: &[Call]) -> u64 {
    let of_host = calls.iter().map(|call| match call {
        Call::Program { bytes, cause: Cause::Host, .. } => u64::from(*bytes),
        _ => 0,
    });
    of_host.sum()
}

/// Programs that hold bytes of the host are what flushes wait for.
fn mark(task: &mut Task, flushes: &mut Flushes) {
    if let Work::Program { host_bytes: 1.., epoch, .. } = &mut task.work {
        *epoch = flushes.given();
    }
}
