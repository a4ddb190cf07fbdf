//! A disk against the clock.

use std::collections::VecDeque;

use super::ahead::Ahead;
use super::mechanics::Mechanics;
use super::queue::{Job, Queue};
use super::times::DiskTimes;
use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::timing::device::{Answer, Device, Request};
use crate::timing::flights::{Flight, Flights};
use crate::timing::flushes::Flushes;
use crate::timing::pipe::Pipe;
use crate::trace::Operation;

/// See [`Device`]. The arm does one thing at a time.
#[derive(Debug)]
pub struct RotatingDisk {
    times: DiskTimes,
    mechanics: Mechanics,
    blocks: u64,
    now_ns: u64,
    link: Pipe,
    track: u64,
    /// What the arm does, and when that is done.
    busy: Option<(Job, u64)>,
    queue: Queue,
    ahead: Option<Ahead>,
    buffered_bytes: u64,
    /// Writes that found the buffer full.
    waiting: VecDeque<u32>,
    ranges: Vec<(u64, u64)>,
    flushes: Flushes,
    flights: Flights,
    stalled_writes: u64,
}

impl RotatingDisk {
    /// At time 0, idle, with the head over the first track.
    pub fn new(times: DiskTimes, blocks: u32) -> Result<Self, FlashError> {
        times.check()?;
        Ok(Self {
            times,
            mechanics: Mechanics::new(times, blocks),
            blocks: blocks.into(),
            now_ns: 0,
            link: Pipe::new(times.link_bytes_per_second),
            track: 0,
            busy: None,
            queue: Queue::default(),
            ahead: None,
            buffered_bytes: 0,
            waiting: VecDeque::new(),
            ranges: Vec::new(),
            flushes: Flushes::new(),
            flights: Flights::default(),
            stalled_writes: 0,
        })
    }

    fn read(&mut self, number: u32) {
        let (first, end) = self.ranges[number as usize];
        if self.queue.covers(first, end) {
            return self.moved(number, self.now_ns);
        }
        let held_ns = self.ahead.and_then(|ahead| ahead.holds_at_ns(first, end, &self.mechanics));
        match held_ns {
            Some(held_ns) if held_ns <= self.now_ns && self.busy.is_none() => {
                let job = Job { request: None, first, end, is_write: false, since_ns: self.now_ns, epoch: 0 };
                self.read_on(&job, self.now_ns);
                self.moved(number, self.now_ns);
            }
            Some(held_ns) if held_ns <= self.now_ns => self.moved(number, self.now_ns),
            _ => self.wants_arm(Some(number), first, end, false),
        }
    }

    fn write(&mut self, number: u32) {
        let (first, end) = self.ranges[number as usize];
        if self.ahead.is_some_and(|ahead| ahead.touches(first, end)) {
            // The buffer would hold what was there before.
            self.find_head();
            self.ahead = None;
        }
        if !self.times.write_cache {
            return self.wants_arm(Some(number), first, end, true);
        }
        if self.waiting.is_empty() && self.fits(end - first) {
            return self.buffer(number);
        }
        self.stalled_writes += 1;
        self.waiting.push_back(number);
        self.start();
    }

    /// A write larger than the whole buffer goes in when that is empty.
    fn fits(&self, blocks: u64) -> bool {
        let bytes = blocks * u64::from(BLOCK_BYTES);
        self.buffered_bytes == 0 || self.buffered_bytes + bytes <= self.times.write_buffer_bytes
    }

    /// Answers a write out of the buffer.
    fn buffer(&mut self, number: u32) {
        let (first, end) = self.ranges[number as usize];
        self.moved(number, self.now_ns);
        // What waits to be written and is written again goes to the platter once.
        if !self.queue.covers(first, end) {
            self.buffered_bytes += (end - first) * u64::from(BLOCK_BYTES);
            self.wants_arm(None, first, end, true);
        }
    }

    fn wants_arm(&mut self, request: Option<u32>, first: u64, end: u64, is_write: bool) {
        let mut epoch = 0;
        if request.is_none() {
            if self.queue.extend(first, end, self.flushes.present()) {
                return;
            }
            epoch = self.flushes.given();
        }
        self.queue.push(Job { request, first, end, is_write, since_ns: self.now_ns, epoch });
        self.start();
    }

    /// Gives the arm something to do if it has nothing.
    fn start(&mut self) {
        if self.busy.is_some() {
            return;
        }
        self.find_head();
        let buffered_too = !self.waiting.is_empty() || self.flushes.is_waiting();
        let (depth, now_ns) = (self.times.queue_depth, self.now_ns);
        let Some(job) = self.queue.next(depth, buffered_too, self.track, &self.mechanics, now_ns) else { return };
        let reading = self.ahead.filter(|_| !job.is_write);
        if let Some(held_ns) = reading.and_then(|ahead| ahead.holds_at_ns(job.first, job.end, &self.mechanics)) {
            self.busy = Some((job, held_ns.max(now_ns)));
            return;
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.leave(now_ns);
        }
        let positioning_ns = self.mechanics.positioning_ns(self.track, job.first, job.is_write, now_ns);
        let done_ns = now_ns + positioning_ns + self.mechanics.transfer_ns(job.first, job.end - job.first);
        self.track = self.mechanics.track_of(job.end - 1);
        self.busy = Some((job, done_ns));
    }

    fn happen(&mut self) {
        let Some((job, done_ns)) = self.busy.take() else { return };
        if job.is_write {
            self.wrote(&job);
        } else {
            self.read_on(&job, done_ns);
        }
        if let Some(number) = job.request {
            self.moved(number, done_ns);
        }
        self.start();
    }

    fn read_on(&mut self, job: &Job, done_ns: u64) {
        let ahead_blocks = self.times.read_ahead_bytes / u64::from(BLOCK_BYTES);
        let limit = (job.end + ahead_blocks).min(self.blocks).max(job.end);
        match &mut self.ahead {
            Some(ahead) if ahead.holds_at_ns(job.first, job.end, &self.mechanics).is_some() => {
                ahead.go_on(limit, 2 * ahead_blocks, done_ns, &self.mechanics);
            }
            _ => self.ahead = Some(Ahead::after(job.first, job.end, done_ns, limit)),
        }
    }

    /// Where the head is by now, if it has read on.
    fn find_head(&mut self) {
        if let Some(ahead) = self.ahead.filter(Ahead::is_there) {
            self.track = ahead.track_at(self.now_ns, &self.mechanics);
        }
    }

    fn wrote(&mut self, job: &Job) {
        if job.request.is_some() {
            return;
        }
        self.buffered_bytes -= (job.end - job.first) * u64::from(BLOCK_BYTES);
        let (flights, due_ns) = (&mut self.flights, self.now_ns + self.times.controller_ns);
        self.flushes.done(job.epoch, |number| flights.answer_at(number, due_ns));
        while let Some(&number) = self.waiting.front() {
            let (first, end) = self.ranges[number as usize];
            if !self.fits(end - first) {
                return;
            }
            self.waiting.pop_front();
            self.buffer(number);
        }
    }

    /// Moves a request's bytes over the link and answers it.
    fn moved(&mut self, number: u32, from_ns: u64) {
        let moved_ns = self.link.pass(from_ns, self.flights.get(number).bytes);
        self.flights.answer_at(number, moved_ns + self.times.controller_ns);
    }
}

impl Device for RotatingDisk {
    fn submit(&mut self, request: &Request) -> u32 {
        self.advance(request.arrived_ns);
        let number = self.flights.take_off(Flight::of(request));
        if self.ranges.len() <= number as usize {
            self.ranges.resize(number as usize + 1, (0, 0));
        }
        let first = u64::from(request.first_block);
        self.ranges[number as usize] = (first, first + u64::from(request.blocks));
        let is_empty = request.blocks == 0;
        match request.operation {
            Operation::Read if !is_empty => self.read(number),
            Operation::Write | Operation::WriteZeroes if !is_empty => self.write(number),
            Operation::Flush if !self.flushes.is_clean() => {
                self.flushes.wait(number);
                self.start();
            }
            _ => self.flights.answer_at(number, self.now_ns + self.times.controller_ns),
        }
        number
    }

    fn advance(&mut self, until_ns: u64) {
        while let Some((_, done_ns)) = self.busy.filter(|busy| busy.1 <= until_ns) {
            self.now_ns = self.now_ns.max(done_ns);
            self.happen();
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn next_ns(&self) -> Option<u64> {
        self.busy.map(|busy| busy.1).into_iter().chain(self.flights.next_ns()).min()
    }

    fn answers_from_ns(&self) -> Option<u64> {
        if self.flights.under_way() == 0 {
            return None;
        }
        let done_ns = self.busy.map(|(_, done_ns)| done_ns + self.times.controller_ns);
        done_ns.into_iter().chain(self.flights.next_ns()).min()
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
