//! What an entry of auto_explain says of its statement: the text and the parameters, in each of its four formats.
//!
//! The plan itself is not read. Text is the one format in which a statement's own lines could be taken for the plan's
//! (`ExplainPrintPlan` in `src/backend/commands/explain.c`), so an entry in which that is possible is not used: a value
//! that is missing costs less than a wrong one.

use std::borrow::Cow;

use memchr::{memchr, memmem, memrchr};
use serde::Deserialize;

use crate::message::find;
use crate::parameters::are_whole;

const TEXT: &[u8] = b"Query Text: ";
const PARAMETERS: &[u8] = b"Query Parameters: ";
/// Stands in the first line of each node of a plan: auto_explain always shows costs.
const COST: &[u8] = b"  (cost=";

/// A statement as auto_explain shows it; `parameters` are empty where it has none, and before PostgreSQL 16.
#[derive(Debug, PartialEq, Eq)]
pub struct Explained<'a> {
    pub text: Cow<'a, [u8]>,
    pub parameters: Cow<'a, [u8]>,
}

/// Of what follows `plan:`; None where it cannot be told for sure.
pub fn explained(entry: &[u8]) -> Option<Explained<'_>> {
    let entry = entry.trim_ascii_start();
    let found = match entry.first()? {
        b'{' => of_json(entry),
        b'<' => of_xml(entry),
        _ => {
            let rest = entry.strip_prefix(TEXT)?;
            // No statement of SQL begins with a quote.
            if rest.starts_with(b"\"") { of_yaml(rest) } else { of_text(rest) }
        }
    }?;
    let is_whole = found.parameters.is_empty() || are_whole(&found.parameters);
    (is_whole && !found.text.is_empty()).then_some(found)
}

/// `SELECT …`, perhaps a line with the parameters, the plan. A line of a statement or a value may look like either.
fn of_text(rest: &[u8]) -> Option<Explained<'_>> {
    let said = &rest[..plan_begin(rest)?];
    let at = memmem::find_iter(said, PARAMETERS).find(|at| begins_line(said, *at));
    let (text, parameters) = match at {
        // Values may have lines of their own; that all behind the first such line is one list is checked by the caller.
        Some(at) => (said[..at].strip_suffix(b"\n")?, said[at + PARAMETERS.len()..].trim_ascii_end()),
        None => (said, &b""[..]),
    };
    if at.is_some() && parameters.is_empty() {
        return None;
    }
    Some(Explained { text: Cow::Borrowed(text.trim_ascii_end()), parameters: Cow::Borrowed(parameters) })
}

/// Where the only line is that may be a plan's first: the top node has no indentation, and no other line has its costs.
fn plan_begin(rest: &[u8]) -> Option<usize> {
    let tops = memmem::find_iter(rest, COST).filter_map(|at| {
        let begin = memrchr(b'\n', &rest[..at]).map_or(0, |newline| newline + 1);
        (rest[begin].is_ascii_uppercase() && is_cost(&rest[at + COST.len()..])).then_some(begin)
    });
    let mut tops = tops.fuse();
    match (tops.next(), tops.next()) {
        (Some(begin), None) => Some(begin),
        _ => None,
    }
}

/// `0.00..`: a number with two decimals, and the dots before the next.
fn is_cost(text: &[u8]) -> bool {
    let digits = crate::time::digits(text);
    match text[digits..] {
        [b'.', one, two, b'.', b'.', ..] => digits > 0 && one.is_ascii_digit() && two.is_ascii_digit(),
        _ => false,
    }
}

fn begins_line(text: &[u8], at: usize) -> bool {
    at > 0 && text[at - 1] == b'\n'
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow, rename = "Query Text")]
    text: Cow<'a, str>,
    #[serde(borrow, rename = "Query Parameters", default)]
    parameters: Cow<'a, str>,
}

fn of_json(entry: &[u8]) -> Option<Explained<'_>> {
    let found: Object<'_> = serde_json::from_slice(entry).ok()?;
    Some(Explained { text: bytes(found.text), parameters: bytes(found.parameters) })
}

/// Strings are JSON's, on a line each.
fn of_yaml(rest: &[u8]) -> Option<Explained<'_>> {
    let (text, rest) = yaml_string(rest)?;
    let (parameters, rest) = match rest.strip_prefix(PARAMETERS) {
        Some(more) => yaml_string(more)?,
        None => (Cow::Borrowed(&b""[..]), rest),
    };
    rest.starts_with(b"Plan:").then_some(Explained { text, parameters })
}

fn yaml_string(rest: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let end = memchr(b'\n', rest)?;
    let value: Quoted<'_> = serde_json::from_slice(&rest[..end]).ok()?;
    Some((bytes(value.0), &rest[end + 1..]))
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Quoted<'a>(#[serde(borrow)] Cow<'a, str>);

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn of_xml(entry: &[u8]) -> Option<Explained<'_>> {
    let rest = entry.strip_prefix(b"<explain ")?;
    let (text, rest) = element(&rest[find(rest, b"<Query-Text>")?..], b"Query-Text")?;
    let (parameters, rest) = element(rest, b"Query-Parameters").unwrap_or((Cow::Borrowed(b""), rest));
    rest.starts_with(b"<Plan>").then_some(Explained { text, parameters })
}

/// The contents of the element that `rest` begins with, and what follows it; `<` within a text is escaped.
fn element<'a>(rest: &'a [u8], name: &[u8]) -> Option<(Cow<'a, [u8]>, &'a [u8])> {
    let inside = rest.strip_prefix(b"<")?.strip_prefix(name)?.strip_prefix(b">")?;
    let end = memchr(b'<', inside)?;
    let after = inside[end..].strip_prefix(b"</")?.strip_prefix(name)?.strip_prefix(b">")?;
    Some((without_entities(&inside[..end])?, after.trim_ascii_start()))
}

/// Those that `escape_xml` writes; None for any other.
fn without_entities(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    const ENTITIES: [(&[u8], u8); 4] = [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&#x0d;", b'\r')];
    if memchr(b'&', text).is_none() {
        return Some(Cow::Borrowed(text));
    }
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = memchr(b'&', rest) {
        whole.extend_from_slice(&rest[..at]);
        let (name, byte) = ENTITIES.iter().find(|(name, _)| rest[at..].starts_with(name))?;
        whole.push(*byte);
        rest = &rest[at + name.len()..];
    }
    whole.extend_from_slice(rest);
    Some(Cow::Owned(whole))
}
