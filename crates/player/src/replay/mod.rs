//! A server's log played again: the same sessions, order and pauses, in open loop.
//!
//! Each call is due when it began in the source, by one clock for all sessions. One that is sent late, since its
//! session still waits for an answer, has a latency from when it was due: a server that stalls cannot hide what it
//! held up (Tene, "How NOT to Measure Latency": coordinated omission). How late calls were sent is told beside.
//!
//! A slice plays a stretch of the log, and the next slice goes on behind it, so servers that take turns play the same
//! stretches. All calls of a stretch are played, however late. A transaction that is open at its end goes on to its own
//! end without pauses, as slices end with no transaction under way. Sessions are connected before their slice opens.

mod collecting;
pub mod plan;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::connection::Connection;
use crate::control::{Play, Slice, order_of, tell};
use crate::error::PlayerError;
use crate::specification::Specification;
use crate::tally::{PARTS, Tally};
use crate::worker::until;

use plan::{Call, GivenLog, Plan};

const EVENTS: usize = 64;
const IDLE: u8 = b'I';

struct Session {
    calls: VecDeque<Call>,
    connection: Option<Connection>,
    /// What was sent and has no answer yet, with when it was due and when it was sent.
    under_way: Option<(Call, u64, u64)>,
    /// Is a transaction open?
    within: bool,
    /// It cannot go on: its connection broke.
    ended: bool,
}

/// A log at some place of it.
pub struct Replay<'a> {
    specification: &'a Specification,
    sessions: Vec<Session>,
    statements: usize,
    factor: f64,
    position_us: i64,
    last_us: i64,
    epoll: OwnedFd,
}

/// A slice under way.
struct Stretch {
    opened_ns: u64,
    closes_ns: u64,
    until_us: i64,
    left: u64,
    /// Sessions that wait for their next call, by when it is due.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    busy: usize,
    tally: Tally,
}

/// Read the log, then serve the orders of `input` until it ends.
///
/// # Errors
/// What keeps the log from being played; an order that cannot be read.
pub fn serve(
    specification: &Specification,
    given: &GivenLog,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), PlayerError> {
    let plan = Plan::read(given)?;
    let calls: usize = plan.sessions.iter().map(VecDeque::len).sum();
    tell(
        &mut output,
        &serde_json::json!({"ready": {
            "sessions": plan.sessions.len(), "calls": calls, "left_out": plan.left_out, "statements": plan.statements,
            "length_ms": (plan.last_us - plan.first_us) as f64 / 1e3 / given.time_factor,
        }}),
    )?;
    let mut replay = Replay::new(specification, plan, given.time_factor)?;
    for line in input.lines() {
        let line = line.map_err(|error| PlayerError::System("cannot read an order", error))?;
        if line.trim().is_empty() {
            continue;
        }
        let (opened_ns, closed_ns, tally) = replay.play(&order_of(&line)?)?;
        tell(
            &mut output,
            &Slice {
                opened_ns,
                closed_ns,
                tally: &tally,
            },
        )?;
    }
    Ok(())
}

impl<'a> Replay<'a> {
    /// At the begin of the log.
    ///
    /// # Errors
    /// The operating system's.
    pub fn new(
        specification: &'a Specification,
        plan: Plan,
        factor: f64,
    ) -> Result<Self, PlayerError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| PlayerError::System("cannot watch connections", error.into()))?;
        let session = |calls| Session {
            calls,
            connection: None,
            under_way: None,
            within: false,
            ended: false,
        };
        Ok(Self {
            specification,
            sessions: plan.sessions.into_iter().map(session).collect(),
            statements: plan.statements.len(),
            factor,
            position_us: plan.first_us,
            last_us: plan.last_us,
            epoll,
        })
    }

    /// One slice: a stretch of the log that lasts so long, or so many calls; then drained.
    ///
    /// # Errors
    /// The first connection that is refused.
    pub fn play(&mut self, order: &Play) -> Result<(u64, u64, Tally), PlayerError> {
        #[allow(clippy::cast_possible_truncation)]
        let until_us = order.duration_ms.map_or(i64::MAX, |length| {
            self.position_us
                .saturating_add((length as f64 * 1e3 * self.factor) as i64)
        });
        self.connect(until_us)?;
        let cpu_ns = thread_cpu_ns();
        let opened_ns = monotonic_ns();
        let mut stretch = Stretch {
            opened_ns,
            closes_ns: order
                .duration_ms
                .map_or(u64::MAX, |length| opened_ns + length * 1_000_000),
            until_us,
            left: order.transactions.unwrap_or(u64::MAX),
            due: BinaryHeap::new(),
            busy: 0,
            tally: Tally::new(&vec![1; self.statements]),
        };
        if self.sessions.iter().all(|each| each.calls.is_empty()) {
            stretch
                .tally
                .aborted
                .push("the log has ended: it is shorter than what is asked".into());
        }
        for place in 0..self.sessions.len() {
            self.expect(place, &mut stretch);
        }
        self.until_drained(&mut stretch);
        let Stretch {
            mut tally,
            closes_ns,
            left,
            ..
        } = stretch;
        tally.drained_ns = monotonic_ns();
        tally.cpu_ns = thread_cpu_ns() - cpu_ns;
        if until_us < i64::MAX && left > 0 {
            self.position_us = until_us;
        } else {
            let next = self
                .sessions
                .iter()
                .filter_map(|each| each.calls.front())
                .map(|call| call.at_us)
                .min();
            self.position_us = next.unwrap_or(self.last_us);
        }
        self.disconnect();
        Ok((opened_ns, closes_ns.min(tally.drained_ns), tally))
    }

    /// Every session with a call in the stretch; where calls are counted, every one that is left.
    fn connect(&mut self, until_us: i64) -> Result<(), PlayerError> {
        for (place, session) in self.sessions.iter_mut().enumerate() {
            let is_needed = session
                .calls
                .front()
                .is_some_and(|call| call.at_us < until_us);
            if !is_needed || session.ended || session.connection.is_some() {
                continue;
            }
            let connection = Connection::open(self.specification)?;
            let data = epoll::EventData::new_u64(place as u64);
            epoll::add(&self.epoll, &connection, data, epoll::EventFlags::IN)
                .map_err(|error| PlayerError::System("cannot watch a connection", error.into()))?;
            session.connection = Some(connection);
        }
        Ok(())
    }

    /// Sessions that have ended, and those whose transaction the log leaves open.
    fn disconnect(&mut self) {
        for session in self
            .sessions
            .iter_mut()
            .filter(|each| each.calls.is_empty())
        {
            if let Some(connection) = session.connection.take() {
                let _ = epoll::delete(&self.epoll, &connection);
            }
        }
    }

    fn until_drained(&mut self, stretch: &mut Stretch) {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            while let Some(Reverse((due_ns, place))) = stretch.due.peek().copied() {
                if due_ns > monotonic_ns() {
                    break;
                }
                stretch.due.pop();
                if stretch.left == 0 && !self.sessions[place].within {
                    continue;
                }
                self.send(place, due_ns, stretch);
            }
            let next = stretch.due.peek().map(|Reverse((due_ns, _))| *due_ns);
            if stretch.busy == 0 && next.is_none() {
                return;
            }
            events.clear();
            match epoll::wait(
                &self.epoll,
                spare_capacity(&mut events),
                next.map(until).as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return stretch.tally.aborted.push(error.to_string()),
            }
            for event in &events {
                self.receive(
                    usize::try_from(event.data.u64()).unwrap_or(usize::MAX),
                    stretch,
                );
            }
        }
    }

    /// Put the session's next call where it will be sent: when it is due, or at once to end its transaction.
    fn expect(&mut self, place: usize, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        let Some(call) = session
            .calls
            .front()
            .filter(|_| session.connection.is_some())
        else {
            if session.within {
                // The log has no end of this transaction: what it locks would hold up the others for good.
                if let Some(connection) = session.connection.take() {
                    let _ = epoll::delete(&self.epoll, &connection);
                }
                session.within = false;
            }
            return;
        };
        let drains = call.at_us >= stretch.until_us || stretch.left == 0;
        if drains && !session.within {
            return;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let after_ns = ((call.at_us - self.position_us).max(0) as f64 * 1e3 / self.factor) as u64;
        let due_ns = if drains {
            monotonic_ns()
        } else {
            stretch.opened_ns + after_ns
        };
        stretch.due.push(Reverse((due_ns, place)));
    }

    fn send(&mut self, place: usize, due_ns: u64, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        let (Some(connection), Some(call)) =
            (session.connection.as_mut(), session.calls.pop_front())
        else {
            return;
        };
        let sent_ns = monotonic_ns();
        let outcome = match &call.values {
            None => connection.query(&call.text),
            Some(values) => connection.execute("", Some(&call.text), values.iter()),
        };
        stretch.left = stretch.left.saturating_sub(1);
        session.under_way = Some((call, due_ns, sent_ns));
        stretch.busy += 1;
        if let Err(error) = outcome {
            self.end(place, &error, stretch);
        }
    }

    fn receive(&mut self, place: usize, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        let Some(connection) = session.connection.as_mut() else {
            return;
        };
        match connection.receive(false) {
            Ok(false) => {}
            Ok(true) => self.answered(place, stretch),
            Err(error) => self.end(place, &error, stretch),
        }
    }

    fn answered(&mut self, place: usize, stretch: &mut Stretch) {
        let now = monotonic_ns();
        let session = &mut self.sessions[place];
        let (Some(connection), Some((call, due_ns, sent_ns))) =
            (session.connection.as_mut(), session.under_way.take())
        else {
            return;
        };
        stretch.busy -= 1;
        session.within = connection.answer.status != IDLE;
        let tally = &mut stretch.tally;
        tally.lateness.record(sent_ns.saturating_sub(due_ns));
        match connection.answer.refusal.take() {
            Some(refusal) if !call.failed => *tally.failed.entry(refusal.code).or_default() += 1,
            Some(_) => tally.failed_alike += 1,
            None => {
                let script = &mut tally.scripts[call.statement];
                script.latencies.record(now.saturating_sub(due_ns));
                script.statements[0].record(now - sent_ns, connection.answer.counted);
                if stretch.closes_ns != u64::MAX && now < stretch.closes_ns {
                    let length_ns = (stretch.closes_ns - stretch.opened_ns).max(1);
                    let part = now.saturating_sub(stretch.opened_ns) * PARTS as u64 / length_ns;
                    tally.parts[usize::try_from(part).unwrap_or(0)] += 1;
                }
            }
        }
        self.expect(place, stretch);
    }

    fn end(&mut self, place: usize, error: &io::Error, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        if let Some(connection) = session.connection.take() {
            let _ = epoll::delete(&self.epoll, &connection);
        }
        stretch.busy -= usize::from(session.under_way.take().is_some());
        (session.ended, session.within) = (true, false);
        session.calls.clear();
        stretch
            .tally
            .aborted
            .push(format!("session {place}: {error}"));
    }
}
