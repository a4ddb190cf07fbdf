//! What a message says, by its words in English (`src/backend/tcop/postgres.c`); others are only told.

use crate::events::Kind;
use crate::plan::{Explained, explained};

/// What became of a message.
pub enum Meaning<'a> {
    /// It is an event.
    Event { kind: Kind, text: &'a [u8], duration_ms: Option<f64> },
    /// It is auto_explain's entry of a statement that is logged elsewhere, or not at all.
    Plan { explained: Explained<'a>, duration_ms: Option<f64> },
    /// The same, but where the statement ends cannot be told.
    UnreadPlan,
    /// It is about something else.
    Other,
    /// It looks like an event in another language.
    Foreign,
}

/// More rows of a portal that was counted when it began.
const FETCH: &[u8] = b"execute fetch from ";
/// What may follow a duration and is no statement of its own.
const UNCOUNTED: [&[u8]; 2] = [FETCH, b"fastpath function call: "];
/// What follows the duration in an entry of auto_explain.
const PLAN: &[u8] = b"plan:";

/// The meaning of a message of severity LOG.
pub fn meaning(message: &[u8]) -> Meaning<'_> {
    if let Some(rest) = message.strip_prefix(b"duration: ") {
        return timed(rest);
    }
    if let Some((kind, text)) = statement(message) {
        return Meaning::Event { kind, text, duration_ms: None };
    }
    let known = |kind| Meaning::Event { kind, text: b"", duration_ms: None };
    match message {
        _ if message.starts_with(b"connection authorized: ") => known(Kind::Connect),
        _ if message.starts_with(b"disconnection: ") => known(Kind::Disconnect),
        _ if !message.starts_with(FETCH) && is_foreign(message) => Meaning::Foreign,
        _ => Meaning::Other,
    }
}

/// `0.123 ms`, and what may follow: `  statement: SELECT 1`.
fn timed(rest: &[u8]) -> Meaning<'_> {
    let Some(end) = find(rest, b" ms") else {
        return Meaning::Other;
    };
    let Some(duration_ms) = milliseconds(&rest[..end]) else {
        return Meaning::Other;
    };
    let tail = rest[end + 3..].trim_ascii_start();
    let duration_ms = Some(duration_ms);
    if tail.is_empty() {
        return Meaning::Event { kind: Kind::Duration, text: b"", duration_ms };
    }
    if let Some((kind, text)) = statement(tail) {
        return Meaning::Event { kind, text, duration_ms };
    }
    match tail.strip_prefix(PLAN) {
        Some(entry) => {
            explained(entry).map_or(Meaning::UnreadPlan, |explained| Meaning::Plan { explained, duration_ms })
        }
        None if UNCOUNTED.iter().any(|known| tail.starts_with(known)) => Meaning::Other,
        None => Meaning::Foreign,
    }
}

/// `statement: TEXT`, `execute NAME: TEXT` and so on.
fn statement(message: &[u8]) -> Option<(Kind, &[u8])> {
    if let Some(text) = message.strip_prefix(b"statement: ") {
        return Some((Kind::Statement, text));
    }
    if message.starts_with(FETCH) {
        return None;
    }
    let named = [(&b"execute "[..], Kind::Execute), (b"parse ", Kind::Parse), (b"bind ", Kind::Bind)];
    named.into_iter().find_map(|(word, kind)| {
        let rest = message.strip_prefix(word)?;
        find(rest, b": ").map(|at| (kind, &rest[at + 2..]))
    })
}

/// Where `wanted` begins first; for a few bytes this is faster than a searcher that is made for each.
pub fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    memchr::memchr_iter(first, text).find(|at| text[*at..].starts_with(wanted))
}

fn milliseconds(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

/// The first words of statements that a log has most of.
const VERBS: [&[u8]; 6] = [b"select ", b"insert ", b"update ", b"delete ", b"with ", b"begin"];

/// A word, perhaps of many bytes, a colon, and a number with three decimals and `ms` or a statement: a duration or a
/// statement in any language.
fn is_foreign(message: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b':', &message[..message.len().min(64)]) else {
        return false;
    };
    let rest = message[at + 1..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let is_duration = digits > 4 && rest[digits - 4] == b'.' && rest[digits..].starts_with(b" ");
    let begins = |verb: &&[u8]| rest.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    is_duration || (at <= 24 && VERBS.iter().any(begins))
}

/// The severities and parts of a report, as the server writes them in English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Log,
    Failure,
    Detail,
    Statement,
    /// HINT, CONTEXT, QUERY, NOTICE and others that say nothing of a statement.
    Aside,
    /// No word of English.
    Foreign,
}

/// Which part a word begins.
pub fn part(word: &[u8]) -> Part {
    match word {
        b"LOG" => Part::Log,
        b"ERROR" | b"FATAL" | b"PANIC" => Part::Failure,
        b"DETAIL" => Part::Detail,
        b"STATEMENT" => Part::Statement,
        b"HINT" | b"CONTEXT" | b"QUERY" | b"NOTICE" | b"WARNING" | b"INFO" | b"LOCATION" | b"BACKTRACE" => Part::Aside,
        _ if word.starts_with(b"DEBUG") => Part::Aside,
        _ => Part::Foreign,
    }
}
