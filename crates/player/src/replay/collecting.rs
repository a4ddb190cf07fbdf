//! From the events of a log to calls: which are played, when each began, and which failed in the source.
//!
//! A log has a line at the end of a statement; it began its duration earlier. Left out, and counted: COPY, whose rows
//! no log has; commands that change more than rows (roles, settings of the server, databases); prepared statements
//! whose parameters were not logged; our own reads. An entry of auto_explain is no call of its own.

use std::collections::{HashMap, VecDeque};

use serverlog::{Event, Kind, normalize, parameters};

use crate::error::PlayerError;
use crate::replay::cutting;
use crate::replay::plan::{Call, LeftOut, Plan, Planned, STATEMENTS_MAX};
use crate::script::value::Value;

/// Stands in each statement of a capture.
const OURS: &[u8] = b"/* pgassay capture */";
const PLAYED: [&str; 24] = [
    "select",
    "insert",
    "update",
    "delete",
    "merge",
    "with",
    "values",
    "table",
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "set",
    "reset",
    "show",
    "declare",
    "fetch",
    "move",
    "close",
    "lock",
];

/// What was read so far.
#[derive(Default)]
pub struct Collected {
    sessions: HashMap<Vec<u8>, Session>,
    left_out: LeftOut,
}

#[derive(Default)]
struct Session {
    calls: VecDeque<Call>,
    normal: Vec<Vec<u8>>,
    /// Is the duration of the last call still to come?
    untimed: bool,
    /// Does the log have its beginning?
    whole: bool,
}

/// Why a call is not played.
enum Missing {
    Command,
    Parameters,
}

impl Collected {
    /// Take the next event of the log, of sessions in `database` (all where it is empty).
    pub fn take(&mut self, event: &Event, database: &[u8]) {
        let elsewhere =
            !database.is_empty() && !event.database.is_empty() && event.database != database;
        let beside = matches!(
            event.kind,
            Kind::Parse | Kind::Bind | Kind::Plan | Kind::Disconnect
        );
        if elsewhere || beside {
            return;
        }
        if event.session.is_empty() || event.time_us == 0 || contains(&event.text, OURS) {
            let is_call = !matches!(event.kind, Kind::Duration | Kind::Connect);
            self.left_out.commands += u64::from(is_call && !contains(&event.text, OURS));
            return;
        }
        let known = self.sessions.contains_key(&event.session);
        if !known && matches!(event.kind, Kind::Error | Kind::Duration) {
            return; // a background process, or the end of what began before the log
        }
        let session = self.sessions.entry(event.session.clone()).or_default();
        let added = match event.kind {
            Kind::Connect => {
                session.whole |= session.calls.is_empty();
                Ok(())
            }
            Kind::Duration => {
                session.untimed = false;
                Ok(())
            }
            Kind::Error => {
                let same = session
                    .calls
                    .back()
                    .is_some_and(|last| last.text.as_bytes() == event.text);
                if session.untimed && same {
                    if let Some(last) = session.calls.back_mut() {
                        last.failed = true;
                    }
                    session.untimed = false;
                    Ok(())
                } else if event.text.is_empty() {
                    Ok(())
                } else {
                    session.add(event, true)
                }
            }
            _ => session.add(event, false),
        };
        match added {
            Ok(()) => {}
            Err(Missing::Command) => self.left_out.commands += 1,
            Err(Missing::Parameters) => self.left_out.without_parameters += 1,
        }
    }

    /// All that was taken.
    ///
    /// # Errors
    /// There is nothing to play.
    pub fn plan(self) -> Result<Plan, PlayerError> {
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        let mut sessions: Vec<Session> = self
            .sessions
            .into_values()
            .filter(|each| !each.calls.is_empty())
            .collect();
        for normal in sessions.iter().flat_map(|each| &each.normal) {
            *counts.entry(normal.clone()).or_default() += 1;
        }
        let mut ordered: Vec<(Vec<u8>, u64)> = counts.into_iter().collect();
        ordered.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let number: HashMap<&[u8], usize> = ordered
            .iter()
            .enumerate()
            .map(|(place, (text, _))| (text.as_slice(), place.min(STATEMENTS_MAX - 1)))
            .collect();
        for session in &mut sessions {
            for (call, normal) in session.calls.iter_mut().zip(&session.normal) {
                call.statement = number[normal.as_slice()];
            }
        }
        let mut statements: Vec<String> = ordered
            .iter()
            .take(STATEMENTS_MAX)
            .map(|(text, _)| String::from_utf8_lossy(text).into_owned())
            .collect();
        if ordered.len() > STATEMENTS_MAX {
            statements[STATEMENTS_MAX - 1] = "all others".to_owned();
        }
        let mut left_out = self.left_out;
        let mut calls: Vec<Planned> = Vec::new();
        let all: Vec<(VecDeque<Call>, bool)> = sessions
            .into_iter()
            .map(|each| (each.calls, each.whole))
            .collect();
        let times = || {
            all.iter()
                .flat_map(|(calls, _)| calls)
                .map(|call| call.at_us)
        };
        let (Some(first_us), Some(last_us)) = (times().min(), times().max()) else {
            let what = "the log holds no statement with a time and a session (%m with %c or %p) that can be played";
            return Err(PlayerError::Specification(what.into()));
        };
        for (each, whole) in all {
            let (left, cut) = if whole {
                (each, 0)
            } else {
                cutting::without_half(each)
            };
            left_out.half_sessions += u64::from(cut > 0);
            left_out.half_calls += cut;
            calls.push(Planned {
                calls: left,
                settings: Vec::new(),
            });
        }
        Ok(Plan {
            statements,
            log_calls: 0,
            left_out,
            first_us,
            last_us,
            from_us: first_us,
            sessions: calls,
        })
    }
}

impl Session {
    /// Keep a call, or say why it is left out.
    fn add(&mut self, event: &Event, failed: bool) -> Result<(), Missing> {
        let (mut normal, mut places) = (Vec::new(), Vec::new());
        normalize(&event.text, &mut normal, &mut places);
        let text = String::from_utf8_lossy(&event.text).into_owned();
        let bound = parameters(&event.parameters);
        let wanted = places
            .iter()
            .map(|place| match place {
                serverlog::Place::Parameter(number) => *number,
                serverlog::Place::Null | serverlog::Place::Constant(_) => 0,
            })
            .max()
            .unwrap_or(0);
        if !is_played(&text) {
            return Err(Missing::Command);
        }
        if bound.len() < wanted {
            return Err(Missing::Parameters);
        }
        let value = |each: Option<Vec<u8>>| {
            each.map(|it| Value::Text(String::from_utf8_lossy(&it).into_owned()))
        };
        let extended = event.kind == Kind::Execute || !bound.is_empty();
        #[allow(clippy::cast_possible_truncation)]
        let lasted_us = (event.duration_ms.unwrap_or(0.0) * 1e3) as i64;
        let latest_us = self.calls.back().map_or(i64::MIN, |last| last.at_us);
        self.untimed = event.duration_ms.is_none() && !failed;
        self.normal.push(normal);
        self.calls.push_back(Call {
            at_us: event.time_us.saturating_sub(lasted_us).max(latest_us),
            text,
            values: extended.then(|| bound.into_iter().map(value).collect()),
            statement: 0,
            failed,
        });
        Ok(())
    }
}

/// Does it change rows and no more, and has it no rows to come from the client?
fn is_played(text: &str) -> bool {
    let lower = text
        .trim_start_matches(|each: char| each.is_whitespace() || each == '(')
        .to_ascii_lowercase();
    let word: &str = lower
        .split(|each: char| !each.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    let several = lower.trim_end().trim_end_matches(';').contains(';');
    PLAYED.contains(&word) && !(several && lower.contains("copy"))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
