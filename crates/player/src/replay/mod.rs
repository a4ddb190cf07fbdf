//! A server's log played again: the same sessions, order and pauses, in open loop.
//!
//! Each call is due when it began in the source, by one clock for all sessions. One that is sent late, since its
//! session still waits for an answer, has a latency from when it was due: a server that stalls cannot hide what it
//! held up (Tene, "How NOT to Measure Latency": coordinated omission). How late calls were sent is told beside.
//!
//! A slice plays a stretch of the log, and the next slice goes on behind it, so servers that take turns play the same
//! stretches. All calls of a stretch are played, however late, unless the order has an end to its patience. A
//! transaction that is open at its end goes on to its own end without pauses, as slices end with no transaction under
//! way. A session is connected a second before its first call, by a thread of its own (`connecting`).

mod collecting;
mod connecting;
mod cutting;
pub mod plan;
mod stretch;

use std::collections::{BinaryHeap, VecDeque};
use std::io::{BufRead, Write};
use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::epoll;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::connection::Connection;
use crate::control::{Play, Slice, order_of, tell};
use crate::error::PlayerError;
use crate::specification::Specification;
use crate::tally::Tally;

use connecting::{Connector, open};
use plan::{Call, GivenLog, Plan};
use stretch::Stretch;

const IDLE: u8 = b'I';
const NS: u64 = 1_000_000_000;
/// So long before its first call a session is connected.
const LEAD_NS: u64 = NS;
/// What the connector's news are called among the sessions' answers.
const NEWS: u64 = u64::MAX;

struct Session {
    calls: VecDeque<Call>,
    /// What it had set before its first call.
    settings: Vec<String>,
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
    /// Connections that are open or being opened, and the most of them.
    open: usize,
    most: usize,
    epoll: OwnedFd,
}

impl Session {
    /// How many of its calls are due before this time of the log.
    fn due_before(&self, until_us: i64) -> u64 {
        let due = |call: &&Call| call.at_us < until_us;
        self.calls.iter().take_while(due).count() as u64
    }
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
    tell(
        &mut output,
        &serde_json::json!({"ready": plan.facts(given.time_factor)}),
    )?;
    let mut replay = Replay::new(specification, plan, given)?;
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
        given: &GivenLog,
    ) -> Result<Self, PlayerError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| PlayerError::System("cannot watch connections", error.into()))?;
        let session = |planned: plan::Planned| Session {
            calls: planned.calls,
            settings: planned.settings,
            connection: None,
            under_way: None,
            within: false,
            ended: false,
        };
        Ok(Self {
            specification,
            sessions: plan.sessions.into_iter().map(session).collect(),
            statements: plan.statements.len(),
            factor: given.time_factor,
            position_us: plan.from_us,
            last_us: plan.last_us,
            open: 0,
            most: given.sessions.unwrap_or(usize::MAX),
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
        let closes_ns = order
            .duration_ms
            .map_or(u64::MAX, |length| opened_ns + length * 1_000_000);
        let mut stretch = Stretch {
            opened_ns,
            closes_ns,
            until_us,
            left: order.transactions.unwrap_or(u64::MAX),
            due: BinaryHeap::new(),
            coming: BinaryHeap::new(),
            opening: 0,
            busy: 0,
            gives_up_ns: order.patience_ms.map_or(u64::MAX, |patience| {
                closes_ns.saturating_add(patience * 1_000_000)
            }),
            waits: order.duration_ms.is_some() && until_us <= self.last_us,
            tally: Tally::new(&vec![1; self.statements]),
        };
        if self.position_us > self.last_us
            || order.transactions.is_some()
                && self.sessions.iter().all(|each| each.calls.is_empty())
        {
            stretch
                .tally
                .aborted
                .push("the log has ended: it is shorter than what is asked".into());
        }
        for place in 0..self.sessions.len() {
            self.expect(place, &mut stretch);
        }
        let specification = self.specification;
        thread::scope(|scope| {
            let connector = Connector::start(scope, specification, &self.epoll)?;
            self.until_drained(&mut stretch, &connector);
            for (place, opened) in connector.end() {
                self.connected(place, opened, &mut stretch);
            }
            Ok::<(), PlayerError>(())
        })?;
        let Stretch {
            mut tally, left, ..
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
            self.position_us = next.unwrap_or(self.last_us + 1);
        }
        for place in 0..self.sessions.len() {
            if self.sessions[place].calls.is_empty() {
                self.disconnect(place);
            }
        }
        Ok((opened_ns, closes_ns.min(tally.drained_ns), tally))
    }

    /// Every session whose first call of the stretch comes at once.
    fn connect(&mut self, until_us: i64) -> Result<(), PlayerError> {
        #[allow(clippy::cast_possible_truncation)]
        let lead_us = (LEAD_NS as f64 / 1e3 * self.factor) as i64;
        let soon_us = until_us.min(self.position_us.saturating_add(lead_us));
        for place in 0..self.sessions.len() {
            let session = &self.sessions[place];
            let is_needed = session
                .calls
                .front()
                .is_some_and(|call| call.at_us < soon_us);
            let can = !session.ended && session.connection.is_none() && self.open < self.most;
            if is_needed && can {
                let opened = open(self.specification, &session.settings)?;
                self.watch(place, &opened)?;
                self.open += 1;
                self.sessions[place].connection = Some(opened);
            }
        }
        Ok(())
    }

    fn watch(&self, place: usize, connection: &Connection) -> Result<(), PlayerError> {
        let data = epoll::EventData::new_u64(place as u64);
        epoll::add(&self.epoll, connection, data, epoll::EventFlags::IN)
            .map_err(|error| PlayerError::System("cannot watch a connection", error.into()))
    }

    /// The connector has opened a session's connection, or could not.
    fn connected(
        &mut self,
        place: usize,
        opened: Result<Connection, PlayerError>,
        stretch: &mut Stretch,
    ) {
        stretch.opening -= 1;
        match opened.and_then(|connection| self.watch(place, &connection).map(|()| connection)) {
            Ok(connection) => {
                self.sessions[place].connection = Some(connection);
                self.expect(place, stretch);
            }
            Err(error) => {
                self.open -= 1;
                self.give_up(place, &error.to_string(), stretch);
            }
        }
    }

    fn disconnect(&mut self, place: usize) {
        if let Some(connection) = self.sessions[place].connection.take() {
            let _ = epoll::delete(&self.epoll, &connection);
            self.open -= 1;
        }
    }
}
