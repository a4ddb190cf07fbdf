//! What logs come to: statements with samples of their values, transactions as sequences of them, arrivals by minute.
//!
//! Everything here has a bound (statements, transactions, sessions at once), so any log takes the same memory;
//! only minutes grow, by 16 bytes each.

use std::io;

use rustc_hash::FxHashMap;

use crate::constant::constant;
use crate::events::{Event, Kind};
use crate::parameters::parameters;
use crate::planned::Planned;
use crate::reader::{Reader, Tally};
use crate::seen::{SeenStatement, SeenTransaction, Summary, Values};
use crate::shared::shared;
use crate::statement::{Place, Statement, normalize};

pub(crate) const STATEMENTS_MAX: usize = 5_000;
const TRANSACTIONS_MAX: usize = 2_000;
const SESSIONS_MAX: usize = 50_000;
/// Longer transactions are counted, not kept.
const SEQUENCE_MAX: usize = 50;
/// A tuple with a longer value is not kept.
const VALUE_BYTES_MAX: usize = 4_096;
/// A pause that is longer is the end of a session's work, not a user's thinking.
const PAUSE_US_MAX: i64 = 600_000_000;
/// Times are cut to the millisecond (`%m`): a short pause comes out up to that too short or too long, even below 0, and
/// only all together are right. What is further below is a clock that was set back.
const PAUSE_US_MIN: i64 = -1_100_000;
/// Of the first transactions, all values are candidates for the sample, later of one in so many.
const ALL_SAMPLED: u64 = 10_000;
const SAMPLED_ONE_IN: u64 = 16;
/// Stands in each statement of a capture, which is no load of the server's.
const OURS: &[u8] = b"/* pgassay capture */";
const MINUTE_US: i64 = 60_000_000;

#[derive(Default)]
struct Session {
    last: Option<u32>,
    ended_us: Option<i64>,
    is_open: bool,
    is_long: bool,
    failed: bool,
    keeps_values: bool,
    sequence: Vec<u32>,
    values: Vec<Values>,
    pause_us: i64,
    /// Of parsing and binding since the last statement ended: the server's time, not the client's.
    prepared_us: i64,
    seen_us: i64,
}

struct Collector {
    found: Summary,
    keeps_values: bool,
    ids: FxHashMap<Vec<u8>, u32>,
    shapes: FxHashMap<Vec<u32>, usize>,
    /// Places in `slab`.
    sessions: FxHashMap<Vec<u8>, usize>,
    slab: Vec<Session>,
    free: Vec<usize>,
    begun: u64,
    /// Without `log_disconnections` a session that has ended looks like a silent one.
    ends_are_logged: bool,
    /// Sessions at once.
    most: u64,
    text: Vec<u8>,
    places: Vec<Place>,
    planned: Planned,
}

/// Reads all events of the sessions in `database` (of all where it is empty); values are kept only where asked for.
pub fn summarize(reader: &mut Reader, database: &[u8], keeps_values: bool) -> io::Result<Summary> {
    summarize_beside(reader, database, keeps_values, |_| Ok(()))
}

/// The same, with each of these events given to `beside`, too: a log that comes through a pipe can be read only once.
pub fn summarize_beside(
    reader: &mut Reader,
    database: &[u8],
    keeps_values: bool,
    mut beside: impl FnMut(&Event) -> io::Result<()>,
) -> io::Result<Summary> {
    let mut collector = Collector {
        found: Summary::default(),
        keeps_values,
        ids: FxHashMap::default(),
        shapes: FxHashMap::default(),
        sessions: FxHashMap::default(),
        slab: Vec::new(),
        free: Vec::new(),
        begun: 0,
        ends_are_logged: false,
        most: 0,
        text: Vec::new(),
        places: Vec::new(),
        planned: Planned::default(),
    };
    let ours = memchr::memmem::Finder::new(OURS);
    while let Some(event) = reader.next_event()? {
        let is_ours = ours.find(&event.text).is_some();
        let is_there = database.is_empty() || event.database.is_empty() || event.database == database;
        if is_there && !is_ours {
            beside(event)?;
            collector.take(event);
        }
    }
    Ok(collector.finish(reader.tally()))
}

impl Collector {
    fn take(&mut self, event: &Event) {
        let time_us = event.time_us;
        match event.kind {
            Kind::Parse | Kind::Bind => return self.prepared(event),
            Kind::Plan => return self.explained(event),
            Kind::Connect => return,
            Kind::Disconnect => {
                self.ends_are_logged = true;
                if let Some(place) = self.sessions.remove(&event.session) {
                    self.free.push(place);
                }
                return;
            }
            _ => {}
        }
        self.found.first_us = Some(self.found.first_us.map_or(time_us, |first| first.min(time_us)));
        self.found.last_us = Some(self.found.last_us.map_or(time_us, |last| last.max(time_us)));
        if self.is_alone(event) {
            return self.with(&mut Session::default(), event);
        }
        let place = self.session(&event.session);
        let mut session = std::mem::take(&mut self.slab[place]);
        session.seen_us = time_us;
        self.with(&mut session, event);
        self.slab[place] = session;
    }

    /// Belongs to no session that is known: the prefix names none, or a background process failed.
    fn is_alone(&self, event: &Event) -> bool {
        event.session.is_empty() || (event.kind == Kind::Error && !self.sessions.contains_key(&event.session))
    }

    fn with(&mut self, session: &mut Session, event: &Event) {
        match event.kind {
            Kind::Duration => self.lasted(session, event),
            Kind::Error => self.failed(session, event),
            _ => self.called(session, event),
        }
    }

    /// Its place; a new session may drop those that were silent for longest.
    fn session(&mut self, name: &[u8]) -> usize {
        if let Some(known) = self.sessions.get(name) {
            return *known;
        }
        if self.sessions.len() >= SESSIONS_MAX {
            let mut seen: Vec<i64> = self.sessions.values().map(|at| self.slab[*at].seen_us).collect();
            let middle = seen.len() / 2;
            let oldest = *seen.select_nth_unstable(middle).1;
            let (slab, free) = (&self.slab, &mut self.free);
            self.sessions.retain(|_, at| {
                let is_kept = slab[*at].seen_us > oldest;
                if !is_kept {
                    free.push(*at);
                }
                is_kept
            });
        }
        let place = self.free.pop().unwrap_or(self.slab.len());
        if place == self.slab.len() {
            self.slab.push(Session::default());
        }
        self.slab[place] = Session::default();
        self.sessions.insert(name.to_vec(), place);
        self.found.sessions += 1;
        self.most = self.most.max(self.sessions.len() as u64);
        place
    }

    fn prepared(&mut self, event: &Event) {
        if let Some(place) = self.sessions.get(&event.session) {
            self.slab[*place].prepared_us += microseconds(event.duration_ms);
        }
    }

    /// Only the values of such an entry count: its call may be in the log by itself, or be none of a client's.
    fn explained(&mut self, event: &Event) {
        if normalize(&event.text, &mut self.text, &mut self.places) == Statement::Query {
            self.planned.take(&self.text, &self.places, event, self.keeps_values, &mut self.found);
        }
    }

    /// The duration of a statement whose text came before it.
    fn lasted(&mut self, session: &mut Session, event: &Event) {
        session.ended_us = Some(event.time_us);
        if let (Some(id), Some(ms)) = (session.last.take(), event.duration_ms) {
            let statement = &mut self.found.statements[id as usize];
            statement.timed += 1;
            statement.exec_ms += ms;
        }
    }

    fn failed(&mut self, session: &mut Session, event: &Event) {
        session.failed = true;
        session.last = None;
        normalize(&event.text, &mut self.text, &mut self.places);
        if let Some(id) = self.ids.get(&self.text) {
            self.found.statements[*id as usize].failed += 1;
        }
    }

    fn called(&mut self, session: &mut Session, event: &Event) {
        let kind = normalize(&event.text, &mut self.text, &mut self.places);
        let lasted_us = microseconds(event.duration_ms).saturating_add(std::mem::take(&mut session.prepared_us));
        let began_us = event.time_us.saturating_sub(lasted_us);
        let pause_us = session.ended_us.map(|ended| began_us.saturating_sub(ended));
        let mut pause_us = pause_us.filter(|pause| (PAUSE_US_MIN..PAUSE_US_MAX).contains(pause));
        if pause_us.is_some() && event.in_seconds {
            // Most pauses are shorter than what was cut off.
            self.found.pauses_unknown += 1;
            pause_us = None;
        }
        // Without a duration the line was written when the statement began; a line with its duration alone may follow.
        session.ended_us = event.duration_ms.is_some().then_some(event.time_us);
        match (session.is_open, pause_us) {
            (true, Some(pause)) => session.pause_us += pause,
            (false, Some(pause)) => {
                self.found.pauses += 1;
                self.found.pause_ms += pause as f64 / 1e3;
            }
            _ => {}
        }
        match kind {
            Statement::Begin => self.begin(session),
            Statement::Commit | Statement::Rollback => self.end(session, kind == Statement::Rollback),
            Statement::Query | Statement::Utility => self.counted(session, event, kind),
        }
    }

    fn begin(&mut self, session: &mut Session) {
        self.begun += 1;
        let is_sampled = self.begun < ALL_SAMPLED || self.begun % SAMPLED_ONE_IN == 0;
        let (ended_us, seen_us) = (session.ended_us, session.seen_us);
        *session = Session { is_open: true, keeps_values: is_sampled, ended_us, seen_us, ..Session::default() };
    }

    fn counted(&mut self, session: &mut Session, event: &Event, kind: Statement) {
        *self.found.minutes.entry(event.time_us.div_euclid(MINUTE_US)).or_insert(0) += 1;
        let Some(id) = self.id() else {
            self.found.other_calls += 1;
            session.is_long = true;
            session.last = None;
            return;
        };
        let keeps = self.keeps_values && kind == Statement::Query;
        let statement = &mut self.found.statements[id as usize];
        statement.calls += 1;
        if let Some(ms) = event.duration_ms {
            statement.timed += 1;
            statement.exec_ms += ms;
        }
        session.last = event.duration_ms.is_none().then_some(id);
        if keeps && !self.places.is_empty() {
            let places = &self.places;
            statement.sample.offer(|| values(places, event));
        }
        if session.is_open && session.sequence.len() < SEQUENCE_MAX {
            session.sequence.push(id);
            if session.keeps_values {
                session.values.extend(values(&self.places, event));
            }
        } else {
            session.is_long |= session.is_open;
        }
    }

    fn id(&mut self) -> Option<u32> {
        if let Some(known) = self.ids.get(&self.text) {
            return Some(*known);
        }
        if self.ids.len() >= STATEMENTS_MAX {
            return None;
        }
        let id = self.ids.len() as u32;
        self.ids.insert(self.text.clone(), id);
        self.found
            .statements
            .push(SeenStatement { text: String::from_utf8_lossy(&self.text).into_owned(), ..SeenStatement::default() });
        Some(id)
    }

    fn end(&mut self, session: &mut Session, is_rollback: bool) {
        let known = (session.ended_us, session.seen_us);
        let ended = std::mem::take(session);
        (session.ended_us, session.seen_us) = known;
        if !ended.is_open || ended.sequence.is_empty() {
            return;
        }
        let index = match self.shapes.get(&ended.sequence) {
            Some(index) => Some(*index),
            None if self.shapes.len() < TRANSACTIONS_MAX && !ended.is_long => {
                self.shapes.insert(ended.sequence.clone(), self.found.transactions.len());
                self.found
                    .transactions
                    .push(SeenTransaction { statements: ended.sequence.clone(), ..SeenTransaction::default() });
                Some(self.found.transactions.len() - 1)
            }
            None => None,
        };
        let Some(index) = index.filter(|_| !ended.is_long) else {
            self.found.other_transactions += 1;
            return;
        };
        let shape = &mut self.found.transactions[index];
        if is_rollback || ended.failed {
            shape.rollbacks += 1;
        } else {
            shape.commits += 1;
        }
        shape.pause_ms += ended.pause_us as f64 / 1e3;
        if ended.keeps_values && ended.values.len() == ended.sequence.len() {
            shape.sample.offer(|| ended.values);
        }
    }

    fn finish(self, tally: &Tally) -> Summary {
        let mut found = self.found;
        found.sessions_most = self.ends_are_logged.then_some(self.most);
        found.pause_ms = found.pause_ms.max(0.0);
        for each in &mut found.statements {
            each.parameters = each.sample.kept().iter().flatten().cloned().collect();
        }
        self.planned.finish(&self.ids, &mut found.statements);
        for each in &mut found.transactions {
            each.shared = shared(each.sample.kept());
            if self.keeps_values {
                each.parameters = each.sample.kept().to_vec();
            }
            each.pause_ms = each.pause_ms.max(0.0);
        }
        found.tally = tally.clone();
        found
    }
}

fn microseconds(duration_ms: Option<f64>) -> i64 {
    (duration_ms.unwrap_or(0.0) * 1e3) as i64
}

/// What stood at each place of a call; None where a parameter was not logged or a value is too long.
pub(crate) fn values(places: &[Place], event: &Event) -> Option<Values> {
    let bound = parameters(&event.parameters);
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let found: Option<Values> = places
        .iter()
        .map(|place| match place {
            Place::Parameter(number) => Some(bound.get(number.checked_sub(1)?)?.as_deref().map(text)),
            Place::Null => Some(None),
            Place::Constant(range) => Some(Some(text(&constant(&event.text[range.clone()])))),
        })
        .collect();
    found.filter(|values| values.iter().flatten().all(|value| value.len() <= VALUE_BYTES_MAX))
}
