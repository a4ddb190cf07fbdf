//! The modelled device against the clock of the machine: requests go in as they come, answers are held until they are
//! due.
//!
//! The device's time may pass more slowly than the machine's, by a whole number: a machine that is too slow for the
//! device then keeps its times (Gupta et al., *To Infinity and Beyond: Time-Warped Network Emulation*, NSDI '06).
//! Nanoseconds here are the device's unless a name says otherwise.
//!
//! Locks: the flash model's first, then this one's. Answers are sent with neither held.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use description::Timing;
use flash::timing::operations::Call;
use flash::timing::{Answer, Device, Request};
use flash::trace::Operation;
use flash::{BLOCK_BYTES, Location};
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::{Value, json};

use super::held::{Done, Reply, Requests, Ticket};
use super::lateness::Lateness;
use super::waiting::{Spinning, sharpen};
use crate::disk::Disk;
use crate::error::DriveError;
use crate::model::Model;

struct State {
    device: Box<dyn Device>,
    requests: Requests,
    calls: Vec<Call>,
    places: Vec<Location>,
    throttled_writes: u64,
    lateness: Lateness,
    spinning: Spinning,
}

/// See the module.
pub struct Clock {
    timing: Timing,
    /// So many nanoseconds of the machine are one of the device.
    dilation: u32,
    started: Instant,
    state: Mutex<State>,
    changed: Condvar,
    /// When the waiting thread will look next; lowered by a request that is due earlier.
    looks_at_ns: AtomicU64,
}

impl Clock {
    /// A clock for a drive, whose model tells from now on what it does to its flash; it is `dilation` times as slow as
    /// the machine's.
    pub fn new(timing: &Timing, dilation: u32, disk: &Disk) -> Result<Self, DriveError> {
        let state = State {
            device: idle(timing, disk)?,
            requests: Requests::default(),
            calls: Vec::new(),
            places: Vec::new(),
            throttled_writes: disk.with_model(watch),
            lateness: Lateness::default(),
            spinning: Spinning::default(),
        };
        Ok(Self {
            timing: timing.clone(),
            dilation: dilation.max(1),
            started: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            looks_at_ns: AtomicU64::new(u64::MAX),
        })
    }

    /// The device's nanoseconds since this clock was made.
    pub fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64 / u64::from(self.dilation)
    }

    /// So long as the machine counts it.
    fn machine_ns(&self, ns: u64) -> u64 {
        ns.saturating_mul(self.dilation.into())
    }

    /// A read of bytes inside the drive has come; its answer is to be handed over by [`Self::done`].
    pub fn read(&self, disk: &Disk, offset: u64, length: u64, arrived_ns: u64) -> Ticket {
        let (first, blocks) = span(offset, length);
        disk.with_model(|model| {
            let mut state = self.state.lock();
            let mut places = std::mem::take(&mut state.places);
            places.clear();
            places.extend((first..first + blocks).filter_map(|lba| model.drive().locate(lba)));
            let request = Request { places: &places, ..Request::of(Operation::Read, arrived_ns, first, blocks) };
            let ticket = state.submit(&request);
            state.places = places;
            self.wake(&state);
            ticket
        })
    }

    /// A write, clearing or flush that came at `arrived_ns` has been done; `reply` goes when it is due.
    pub fn wrote(
        &self,
        disk: &Disk,
        operation: Operation,
        (offset, length): (u64, u64),
        arrived_ns: u64,
        reply: Reply,
    ) {
        let (first, blocks) = span(offset, length);
        let ticket = disk.with_model(|model| {
            let mut state = self.state.lock();
            let mut calls = std::mem::take(&mut state.calls);
            model.drive_mut().observer_mut().swap(&mut calls);
            let throttled_writes = model.drive().counters().throttled_writes;
            let throttled_blocks = throttled_writes.saturating_sub(state.throttled_writes);
            state.throttled_writes = throttled_writes;
            let request =
                Request { calls: &calls, throttled_blocks, ..Request::of(operation, arrived_ns, first, blocks) };
            let ticket = state.submit(&request);
            state.calls = calls;
            ticket
        });
        self.done(ticket, reply);
    }

    /// The answer to a request; it goes when it is due, now if that is past.
    pub fn done(&self, ticket: Ticket, reply: Reply) {
        let mut state = self.state.lock();
        let mut due = state.collect(self.now_ns());
        match state.requests.done(ticket, reply) {
            Done::Held => {}
            Done::Due(answer, reply) => due.push((answer, reply)),
            // The device was set back meanwhile, and knows nothing of it.
            Done::Unknown(reply) => MutexGuard::unlocked(&mut state, reply),
        }
        self.wake(&state);
        self.send(&mut state, due);
    }

    /// A request failed and has been answered.
    pub fn failed(&self, ticket: Ticket) {
        self.state.lock().requests.failed(ticket);
    }

    /// The drive has gone back to another state, in which the device idles. What is under way is answered at once.
    pub fn restart(&self, disk: &Disk) -> Result<(), DriveError> {
        let device = idle(&self.timing, disk)?;
        let replies = disk.with_model(|model| {
            let mut state = self.state.lock();
            state.device = device;
            state.throttled_writes = watch(model);
            state.requests.forget()
        });
        replies.into_iter().for_each(|reply| reply());
        Ok(())
    }

    /// Lets the model be changed without the device noticing.
    pub fn unwatched<T>(&self, disk: &Disk, work: impl FnOnce() -> T) -> T {
        disk.with_model(|model| model.drive_mut().observer_mut().watch(false));
        let outcome = work();
        disk.with_model(|model| self.state.lock().throttled_writes = watch(model));
        outcome
    }

    /// Sends answers when they are due, for as long as the process lives.
    pub fn run(&self) {
        sharpen();
        let mut state = self.state.lock();
        loop {
            let now_ns = self.now_ns();
            let due = state.collect(now_ns);
            if !due.is_empty() {
                self.send(&mut state, due);
                continue;
            }
            let Some(wake_ns) = state.device.answers_from_ns() else {
                self.looks_at_ns.store(u64::MAX, Ordering::Relaxed);
                self.changed.wait(&mut state);
                continue;
            };
            let margin_ns = state.spinning.margin_ns(self.machine_ns(now_ns)) / u64::from(self.dilation);
            if wake_ns > now_ns + margin_ns {
                self.sleep(&mut state, wake_ns - margin_ns);
            } else {
                self.spin(&mut state, wake_ns);
            }
        }
    }

    fn sleep(&self, state: &mut MutexGuard<'_, State>, until_ns: u64) {
        self.looks_at_ns.store(until_ns, Ordering::Relaxed);
        let until = self.started + Duration::from_nanos(self.machine_ns(until_ns));
        if self.changed.wait_until(state, until).timed_out() {
            state.spinning.overslept(self.machine_ns(self.now_ns().saturating_sub(until_ns)));
        }
    }

    fn spin(&self, state: &mut MutexGuard<'_, State>, until_ns: u64) {
        self.looks_at_ns.store(until_ns, Ordering::Relaxed);
        let from_ns = self.now_ns();
        let now_ns = MutexGuard::unlocked(state, || {
            loop {
                let now_ns = self.now_ns();
                if now_ns >= self.looks_at_ns.load(Ordering::Relaxed) {
                    return now_ns;
                }
                std::hint::spin_loop();
            }
        });
        state.spinning.spun(self.machine_ns(now_ns - from_ns));
    }

    /// Wakes the waiting thread if it would look too late.
    fn wake(&self, state: &State) {
        if let Some(wake_ns) = state.device.answers_from_ns() {
            if self.looks_at_ns.fetch_min(wake_ns, Ordering::Relaxed) > wake_ns {
                self.changed.notify_one();
            }
        }
    }

    /// Notes how late each answer is, and sends it without the lock. It is noted first: whoever has an answer finds it
    /// counted.
    fn send(&self, state: &mut MutexGuard<'_, State>, due: Vec<(Answer, Reply)>) {
        for (due, reply) in due {
            let (asked_ns, late_ns) = (due.due_ns - due.arrived_ns, self.now_ns() - due.due_ns);
            state.lateness.note(due.operation, asked_ns, late_ns);
            MutexGuard::unlocked(state, reply);
        }
    }

    /// What is asked of the device, and how near it the answers came.
    pub fn report(&self) -> (Value, Value) {
        let mut state = self.state.lock();
        state.device.advance(self.now_ns());
        let mut report = state.lateness.report();
        report["profile"] = json!(self.timing.profile);
        report["dilation"] = json!(self.dilation);
        report["stalled_writes"] = json!(state.device.stalled_writes());
        report["spun_ns"] = json!(state.spinning.spun_ns);
        let mut sums = state.lateness.sums();
        if let Some(limits) = state.device.limits() {
            sums["volume_ns"] = json!(limits.elapsed_ns);
            sums["ios_limited_ns"] = json!(limits.ios_limited_ns);
            sums["bytes_limited_ns"] = json!(limits.bytes_limited_ns);
            sums["without_credits_ns"] = json!(limits.without_credits_ns);
            sums["credits_left"] = json!(limits.credits_left);
        }
        (sums, report)
    }
}

impl State {
    fn submit(&mut self, request: &Request) -> Ticket {
        let number = self.device.submit(request);
        self.requests.begin(number)
    }

    /// Answers that are due and done.
    fn collect(&mut self, now_ns: u64) -> Vec<(Answer, Reply)> {
        self.device.advance(now_ns);
        let mut found = Vec::new();
        while let Some(answer) = self.device.answer() {
            found.extend(self.requests.due(answer));
        }
        found
    }
}

/// A device for a drive, at its time 0.
fn idle(timing: &Timing, disk: &Disk) -> Result<Box<dyn Device>, DriveError> {
    Ok(timing.device((disk.capacity_bytes() / u64::from(BLOCK_BYTES)) as u32)?)
}

/// Makes a model tell what it does from now on. Returns the writes that it has throttled before, which are no longer
/// anybody's.
fn watch(model: &mut Model) -> u64 {
    model.drive_mut().observer_mut().watch(true);
    model.drive().counters().throttled_writes
}

/// First block and number of blocks that bytes touch.
fn span(offset: u64, length: u64) -> (u32, u32) {
    let block = u64::from(BLOCK_BYTES);
    if length == 0 {
        return (0, 0);
    }
    let first = offset / block;
    (first as u32, ((offset + length).div_ceil(block) - first) as u32)
}
