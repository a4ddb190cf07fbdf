//! A slice under way: what is due, what is sent, what has been answered, until all of it has ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use crate::clock::monotonic_ns;
use crate::replay::connecting::Connector;
use crate::replay::{IDLE, LEAD_NS, NEWS, NS, Replay};
use crate::tally::{PARTS, Tally};
use crate::worker::until;

const EVENTS: usize = 64;

/// A slice under way.
pub struct Stretch {
    pub opened_ns: u64,
    pub closes_ns: u64,
    pub until_us: i64,
    pub left: u64,
    /// Sessions that wait for their next call, by when it is due.
    pub due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sessions that are not connected yet, by when their first call is due.
    pub coming: BinaryHeap<Reverse<(u64, usize)>>,
    pub opening: usize,
    pub busy: usize,
    pub gives_up_ns: u64,
    /// Does it last to its close, though nothing may be due any more?
    pub waits: bool,
    pub tally: Tally,
}

impl Replay<'_> {
    pub(super) fn until_drained(&mut self, stretch: &mut Stretch, connector: &Connector) {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            self.connect_ahead(stretch, connector);
            self.send_due(stretch);
            let now = monotonic_ns();
            let idle = stretch.busy == 0 && stretch.opening == 0 && stretch.due.is_empty();
            let ends = idle && stretch.coming.is_empty();
            if ends && !(stretch.waits && now < stretch.closes_ns) {
                return;
            }
            if now >= stretch.gives_up_ns {
                return self.abandon(stretch);
            }
            let next_ns = self.next_ns(stretch, ends);
            events.clear();
            match epoll::wait(
                &self.epoll,
                spare_capacity(&mut events),
                (next_ns < u64::MAX).then(|| until(next_ns)).as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return stretch.tally.aborted.push(error.to_string()),
            }
            for event in &events {
                match event.data.u64() {
                    NEWS => {
                        for (place, opened) in connector.news() {
                            self.connected(place, opened, stretch);
                        }
                    }
                    place => self.receive(usize::try_from(place).unwrap_or(usize::MAX), stretch),
                }
            }
        }
    }

    /// When there is something to do next, whatever the server answers.
    fn next_ns(&self, stretch: &Stretch, ends: bool) -> u64 {
        let first = |heap: &BinaryHeap<Reverse<(u64, usize)>>| heap.peek().map(|each| each.0.0);
        let mut next_ns = first(&stretch.due)
            .unwrap_or(u64::MAX)
            .min(stretch.gives_up_ns);
        if let Some(due_ns) = first(&stretch.coming).filter(|_| self.open < self.most) {
            next_ns = next_ns.min(due_ns.saturating_sub(LEAD_NS));
        }
        if ends {
            next_ns.min(stretch.closes_ns)
        } else {
            next_ns
        }
    }

    /// Have sessions connected that begin soon, as long as no more are connected than may be.
    fn connect_ahead(&mut self, stretch: &mut Stretch, connector: &Connector) {
        if stretch.left == 0 {
            stretch.coming.clear();
        }
        while let Some(Reverse((due_ns, place))) = stretch.coming.peek().copied() {
            // Sessions that stand still until a later stretch must not keep the others from beginning.
            let stuck = stretch.busy == 0 && stretch.opening == 0 && stretch.due.is_empty();
            let full = self.open >= self.most && !stuck;
            if full || due_ns > monotonic_ns() + LEAD_NS {
                return;
            }
            stretch.coming.pop();
            stretch.opening += 1;
            self.open += 1;
            connector.ask(place, self.sessions[place].settings.clone());
        }
    }

    fn send_due(&mut self, stretch: &mut Stretch) {
        while let Some(Reverse((due_ns, place))) = stretch.due.peek().copied() {
            if due_ns > monotonic_ns() {
                return;
            }
            stretch.due.pop();
            if stretch.left > 0 || self.sessions[place].within {
                self.send(place, due_ns, stretch);
            }
        }
    }

    /// The patience is over: what was due is counted, and nothing stays under way.
    fn abandon(&mut self, stretch: &mut Stretch) {
        for place in 0..self.sessions.len() {
            let session = &mut self.sessions[place];
            let waits = session.under_way.take().is_some();
            stretch.tally.unsent += u64::from(waits) + session.due_before(stretch.until_us);
            if waits || session.within {
                (session.ended, session.within) = (true, false);
                session.calls.clear();
                self.disconnect(place);
            }
        }
        stretch.busy = 0;
    }

    /// Put the session's next call where it will be sent: when it is due, or at once to end its transaction.
    pub(super) fn expect(&mut self, place: usize, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        let Some(call) = session.calls.front() else {
            // Nothing is left; where the log has no end of a transaction, what it locks would hold up the others.
            session.within = false;
            return self.disconnect(place);
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
        if session.connection.is_some() {
            stretch.due.push(Reverse((due_ns, place)));
        } else if !session.ended {
            stretch.coming.push(Reverse((due_ns, place)));
        }
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
        let lateness_ns = sent_ns.saturating_sub(due_ns);
        tally.lateness.record(lateness_ns);
        let second = tally.second(sent_ns.saturating_sub(stretch.opened_ns) / NS);
        second.sent += 1;
        second.lateness_sum_ns += lateness_ns;
        match connection.answer.refusal.take() {
            Some(refusal) if !call.failed => {
                tally.fail(call.statement, refusal.code, refusal.message);
            }
            Some(_) => tally.failed_alike += 1,
            None => {
                let second = tally.second(now.saturating_sub(stretch.opened_ns) / NS);
                second.answered += 1;
                second.latency_sum_ns += now.saturating_sub(due_ns);
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
        self.disconnect(place);
        let was_under_way = self.sessions[place].under_way.take().is_some();
        stretch.busy -= usize::from(was_under_way);
        stretch.tally.unsent += u64::from(was_under_way);
        self.give_up(place, &error.to_string(), stretch);
    }

    /// The session cannot go on.
    pub(super) fn give_up(&mut self, place: usize, why: &str, stretch: &mut Stretch) {
        let session = &mut self.sessions[place];
        stretch.tally.unsent += session.due_before(stretch.until_us);
        (session.ended, session.within) = (true, false);
        session.calls.clear();
        stretch
            .tally
            .aborted
            .push(format!("session {place}: {why}"));
    }
}
