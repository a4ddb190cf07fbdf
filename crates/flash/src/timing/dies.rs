//! Dies and channels: each does one thing at a time, and keeps a queue.
//!
//! A read senses on its die, then waits for the channel and moves its bytes, the die's register being held until it is
//! done. A program moves its bytes first. An erase needs no channel. A die takes host reads first (if asked to), then
//! everything else in the order it came.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::service::ServiceTimes;
use crate::geometry::Geometry;

/// What a die is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Read bytes of one flash page, for a host request or (`None`) to move them.
    Read { bytes: u64, request: Option<u32> },
    /// Program gathered bytes, of which some are the host's; the epoch is [`super::flushes`]'s.
    Program { bytes: u64, host_bytes: u64, epoch: u64 },
    /// Erase.
    Erase,
}

impl Work {
    pub(super) fn extend_read(&mut self, more: u64) {
        if let Self::Read { bytes, .. } = self {
            *bytes += more;
        }
    }
}

/// Work and the die that does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    pub die: u32,
    pub work: Work,
}

/// Time that dies have spent, summed over them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// Reads for the host.
    pub host_reads_ns: u64,
    /// Reads of data to be moved.
    pub gc_reads_ns: u64,
    /// Programs, whatever their cause.
    pub programs_ns: u64,
    /// Erases.
    pub erases_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Sensed,
    Done,
}

#[derive(Debug, Default)]
struct Die {
    reads: VecDeque<Work>,
    others: VecDeque<Work>,
    current: Option<(Work, u64)>,
}

/// All dies and channels. Events at the same time are taken in the order in which they were made.
#[derive(Debug)]
pub(super) struct Dies {
    service: ServiceTimes,
    dies_per_channel: u32,
    dies: Vec<Die>,
    channels_free_at_ns: Vec<u64>,
    events: BinaryHeap<Reverse<(u64, u64, u32, Event)>>,
    made: u64,
    pub(super) busy: BusyTimes,
}

impl Dies {
    pub(super) fn new(geometry: &Geometry, service: ServiceTimes) -> Self {
        let count = geometry.channels * geometry.dies_per_channel;
        Self {
            service,
            dies_per_channel: geometry.dies_per_channel,
            dies: (0..count).map(|_| Die::default()).collect(),
            channels_free_at_ns: vec![0; geometry.channels as usize],
            events: BinaryHeap::new(),
            made: 0,
            busy: BusyTimes::default(),
        }
    }

    /// Queues a task and starts it if its die is idle.
    pub(super) fn push(&mut self, task: Task, now_ns: u64) {
        let die = &mut self.dies[task.die as usize];
        match task.work {
            Work::Read { request: Some(_), .. } if self.service.reads_first => die.reads.push_back(task.work),
            _ => die.others.push_back(task.work),
        }
        if die.current.is_none() {
            self.start(task.die, now_ns);
        }
    }

    /// What the dies are busy with, and when that has been sensed or is done; and whether host reads wait behind it.
    pub(super) fn busy_until(&self) -> impl Iterator<Item = (u64, Work, bool, bool)> + '_ {
        self.events.iter().filter_map(|Reverse((time_ns, _, number, event))| {
            let die = &self.dies[*number as usize];
            let (work, _) = die.current?;
            let reads_wait = !die.reads.is_empty() || !self.service.reads_first && !die.others.is_empty();
            Some((*time_ns, work, *event == Event::Sensed, reads_wait))
        })
    }

    /// When something happens next; `None` if all dies are idle.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((time_ns, ..))| *time_ns)
    }

    /// Lets the next thing happen; gives the work that it completed.
    pub(super) fn step(&mut self) -> Option<Work> {
        let Reverse((now_ns, _, die, event)) = self.events.pop()?;
        let (work, started_ns) = self.dies[die as usize].current?;
        if event == Event::Sensed {
            if let Work::Read { bytes, .. } = work {
                let end_ns = self.transfer(die, bytes, now_ns);
                self.schedule(end_ns, die, Event::Done);
            }
            return None;
        }
        let took_ns = now_ns - started_ns;
        match work {
            Work::Read { request: Some(_), .. } => self.busy.host_reads_ns += took_ns,
            Work::Read { request: None, .. } => self.busy.gc_reads_ns += took_ns,
            Work::Program { .. } => self.busy.programs_ns += took_ns,
            Work::Erase => self.busy.erases_ns += took_ns,
        }
        self.dies[die as usize].current = None;
        self.start(die, now_ns);
        Some(work)
    }

    fn start(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let Some(work) = die.reads.pop_front().or_else(|| die.others.pop_front()) else {
            return;
        };
        die.current = Some((work, now_ns));
        match work {
            Work::Read { .. } => self.schedule(now_ns + self.service.read_ns, number, Event::Sensed),
            Work::Program { bytes, .. } => {
                let moved_ns = self.transfer(number, bytes, now_ns);
                self.schedule(moved_ns + self.service.program_ns, number, Event::Done);
            }
            Work::Erase => self.schedule(now_ns + self.service.erase_ns, number, Event::Done),
        }
    }

    /// Takes the die's channel as soon as it is free; returns when the bytes have been moved.
    fn transfer(&mut self, die: u32, bytes: u64, now_ns: u64) -> u64 {
        let free_at_ns = &mut self.channels_free_at_ns[(die / self.dies_per_channel) as usize];
        *free_at_ns = now_ns.max(*free_at_ns) + self.service.transfer_ns(bytes);
        *free_at_ns
    }

    fn schedule(&mut self, time_ns: u64, die: u32, event: Event) {
        self.made += 1;
        self.events.push(Reverse((time_ns, self.made, die, event)));
    }
}
