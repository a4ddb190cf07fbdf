//! A thread of the player with its clients: it takes an order, plays until the gate closes, drains, sends its tally.
//!
//! Between two slices it sleeps on its channel and costs nothing.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::client::{Client, Ended, Next, State};
use crate::clock::{monotonic_ns, thread_cpu_ns, wall_ns};
use crate::error::PlayerError;
use crate::script::Script;
use crate::specification::Specification;
use crate::tally::{PARTS, Tally};

const NS: u64 = 1_000_000_000;
const EVENTS: usize = 64;

/// One slice: open now, closed at a moment or after so many transactions of each client.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The gate's opening, by the monotonic clock.
    pub opened_ns: u64,
    /// The gate's closing, by the monotonic clock.
    pub closes_ns: u64,
    /// Transactions of each client.
    pub transactions: u64,
}

/// A thread's clients and what it plays.
pub struct Worker {
    clients: Vec<Client>,
    scripts: Arc<Vec<Script>>,
    weights: Vec<u32>,
    epoll: rustix::fd::OwnedFd,
    /// Of each client: is its socket watched for room, too?
    for_room: Vec<bool>,
    /// Mean time between two transactions that are due in this thread, in nanoseconds; None for a closed loop.
    interval_ns: Option<f64>,
    next_due_ns: f64,
    limit_ns: Option<u64>,
    log: Option<BufWriter<File>>,
    /// The CPU that it shares with its clients' backends.
    cpu: Option<usize>,
}

impl Worker {
    /// Connect the clients of one thread.
    ///
    /// # Errors
    /// The first connection that is refused, or the operating system's.
    pub fn new(
        numbers: std::ops::Range<u32>,
        thread: u32,
        specification: &Specification,
        scripts: &Arc<Vec<Script>>,
    ) -> Result<Self, PlayerError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| PlayerError::System("cannot watch connections", error.into()))?;
        let mut clients = Vec::with_capacity(numbers.len());
        for number in numbers {
            let client = Client::connect(number, specification, scripts)?;
            let place = epoll::EventData::new_u64(clients.len() as u64);
            epoll::add(&epoll, &client.connection, place, epoll::EventFlags::IN)
                .map_err(|error| PlayerError::System("cannot watch a connection", error.into()))?;
            clients.push(client);
        }
        if let [only] = &clients[..] {
            only.connection
                .wait_in_reads()
                .map_err(|error| PlayerError::System("cannot watch a connection", error))?;
        }
        let log = match &specification.log_prefix {
            None => None,
            Some(prefix) => {
                let mut path = prefix.clone().into_os_string();
                path.push(format!(".{thread}"));
                let file = File::create(&path)
                    .map_err(|error| PlayerError::System("cannot write the log", error))?;
                Some(BufWriter::with_capacity(1 << 16, file))
            }
        };
        let share = clients.len() as f64 / f64::from(specification.clients);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let limit_ns = specification
            .latency_limit_ms
            .map(|limit| (limit * 1e6) as u64);
        Ok(Self {
            weights: scripts.iter().map(|script| script.weight).collect(),
            scripts: Arc::clone(scripts),
            for_room: vec![false; clients.len()],
            clients,
            epoll,
            interval_ns: specification
                .rate_tps
                .map(|rate| NS as f64 / (rate * share)),
            next_due_ns: 0.0,
            limit_ns,
            log,
            cpu: match specification.pair_on.len() {
                0 => None,
                count => Some(specification.pair_on[thread as usize % count]),
            },
        })
    }

    /// Share one CPU with the backends of its clients: no answer then wakes another CPU. Called in its own thread.
    ///
    /// # Errors
    /// The operating system's: the backends are another account's, or there is no such CPU.
    fn pair(&self, cpu: usize) -> std::io::Result<()> {
        let mut only = CpuSet::new();
        only.set(cpu);
        for client in &self.clients {
            let backend = Pid::from_raw(client.connection.backend);
            sched_setaffinity(backend, &only)?;
        }
        Ok(sched_setaffinity(None, &only)?)
    }

    /// Take its place, say so, and serve orders until there are no more.
    pub fn serve(
        mut self,
        ready: &Sender<std::io::Result<()>>,
        orders: &Receiver<Order>,
        results: &Sender<Tally>,
    ) {
        let _ = ready.send(self.cpu.map_or(Ok(()), |cpu| self.pair(cpu)));
        while let Ok(order) = orders.recv() {
            if results.send(self.play(order)).is_err() {
                return;
            }
        }
    }

    fn play(&mut self, order: Order) -> Tally {
        let statements: Vec<usize> = self
            .scripts
            .iter()
            .map(|script| script.statements().count())
            .collect();
        let mut tally = Tally::new(&statements);
        let cpu_ns = thread_cpu_ns();
        let opened_ns = monotonic_ns();
        self.next_due_ns = opened_ns as f64;
        let quotas: Vec<u64> = self
            .clients
            .iter()
            .map(|client| client.done.saturating_add(order.transactions))
            .collect();
        for place in 0..self.clients.len() {
            self.next_transaction(place, order.closes_ns, quotas[place]);
            self.advance(place, order, &quotas, &mut tally);
        }
        let mut events = Vec::with_capacity(EVENTS);
        while self
            .clients
            .iter()
            .any(|client| !matches!(client.state, State::Idle | State::Ended))
        {
            // Of an only client the answer is waited for by reading it: one system call less for each.
            if self.clients.len() == 1 && self.clients[0].state == State::Answer {
                self.receive(0, &mut tally, order, &quotas);
                continue;
            }
            events.clear();
            let timeout = self.next_moment().map(until);
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tally.aborted.push(error.to_string());
                    break;
                }
            }
            for event in &events {
                let place = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                self.receive(place, &mut tally, order, &quotas);
            }
            if timeout.is_some() {
                self.wake(order, &quotas, &mut tally);
            }
        }
        tally.drained_ns = monotonic_ns();
        if let Some(log) = &mut self.log {
            let _ = log.flush();
        }
        tally.cpu_ns = thread_cpu_ns() - cpu_ns;
        tally
    }

    /// The earliest moment that a client waits for.
    fn next_moment(&self) -> Option<u64> {
        self.clients
            .iter()
            .filter_map(|client| {
                if let State::Until(moment) = client.state {
                    Some(moment)
                } else {
                    None
                }
            })
            .min()
    }

    fn wake(&mut self, order: Order, quotas: &[u64], tally: &mut Tally) {
        let now = monotonic_ns();
        for place in 0..self.clients.len() {
            if matches!(self.clients[place].state, State::Until(moment) if moment <= now) {
                self.advance(place, order, quotas, tally);
            }
        }
    }

    fn receive(&mut self, place: usize, tally: &mut Tally, order: Order, quotas: &[u64]) {
        let client = &mut self.clients[place];
        let ended = match client.receive() {
            Ok(false) if client.state == State::Room => {
                return self.advance(place, order, quotas, tally);
            }
            Ok(false) => return,
            Ok(true) => client.answered(tally),
            Err(error) => Err(error.to_string()),
        };
        match ended {
            Err(reason) => self.end(place, &reason, tally),
            Ok(Next::Transaction(ended)) => {
                self.count(place, &ended, order, tally);
                self.next_transaction(place, order.closes_ns, quotas[place]);
                self.advance(place, order, quotas, tally);
            }
            Ok(Next::Rollback) => {}
            Ok(Next::Command) => self.advance(place, order, quotas, tally),
        }
    }

    /// Let a client go on until it waits; where its transaction ends, count it and begin the next.
    fn advance(&mut self, place: usize, order: Order, quotas: &[u64], tally: &mut Tally) {
        loop {
            match self.clients[place].state {
                State::Idle | State::Ended => return,
                State::Until(moment) if moment > monotonic_ns() => return,
                _ => {}
            }
            match self.clients[place].go_on() {
                Err(reason) => return self.end(place, &reason, tally),
                Ok(None) => return self.watch(place, tally),
                Ok(Some(ended)) => {
                    self.count(place, &ended, order, tally);
                    self.next_transaction(place, order.closes_ns, quotas[place]);
                }
            }
        }
    }

    /// Be woken when there is room in a client's socket, as long as it waits for that.
    fn watch(&mut self, place: usize, tally: &mut Tally) {
        let waits = self.clients[place].state == State::Room;
        if waits == self.for_room[place] {
            return;
        }
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, waits);
        let data = epoll::EventData::new_u64(place as u64);
        match epoll::modify(&self.epoll, &self.clients[place].connection, data, flags) {
            Ok(()) => self.for_room[place] = waits,
            Err(error) => self.end(place, &error.to_string(), tally),
        }
    }

    /// Begin one, unless the gate is closed by the time that it would begin.
    fn next_transaction(&mut self, place: usize, closes_ns: u64, quota: u64) {
        let client = &mut self.clients[place];
        if client.state == State::Ended {
            return;
        }
        let now = monotonic_ns();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let due_ns = match self.interval_ns {
            None => now,
            Some(interval_ns) => {
                self.next_due_ns += client.draw_exponential() * interval_ns;
                self.next_due_ns as u64
            }
        };
        if client.done >= quota || now.max(due_ns) >= closes_ns {
            client.state = State::Idle;
            return;
        }
        client.begin(&self.weights, due_ns);
        client.state = State::Until(due_ns);
    }

    fn count(&mut self, place: usize, ended: &Ended, order: Order, tally: &mut Tally) {
        let client = &mut self.clients[place];
        client.done += 1;
        match ended {
            Ended::Failed(_, code) => *tally.failed.entry(code.clone()).or_default() += 1,
            Ended::Well(now) => {
                let latency_ns = now.saturating_sub(client.due_ns);
                tally.scripts[client.script].latencies.record(latency_ns);
                if order.closes_ns != u64::MAX && *now < order.closes_ns {
                    let length_ns = (order.closes_ns - order.opened_ns).max(1);
                    let part = now.saturating_sub(order.opened_ns) * PARTS as u64 / length_ns;
                    tally.parts[usize::try_from(part).unwrap_or(0)] += 1;
                }
                tally.late += u64::from(self.limit_ns.is_some_and(|limit| latency_ns > limit));
                if let Some(log) = &mut self.log {
                    let wall = wall_ns();
                    let _ = writeln!(
                        log,
                        "{} {} {} {} {} {}",
                        client.number,
                        client.done,
                        latency_ns / 1000,
                        client.script,
                        wall / NS,
                        wall % NS / 1000
                    );
                }
            }
        }
    }

    fn end(&mut self, place: usize, reason: &str, tally: &mut Tally) {
        let client = &mut self.clients[place];
        client.count_pipeline(tally);
        client.state = State::Ended;
        let _ = epoll::delete(&self.epoll, &client.connection);
        tally
            .aborted
            .push(format!("client {}: {reason}", client.number));
    }
}

/// How long it is until that moment.
#[must_use]
pub fn until(moment_ns: u64) -> Timespec {
    let left = moment_ns.saturating_sub(monotonic_ns());
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: whole(left / NS),
        tv_nsec: whole(left % NS),
    }
}
