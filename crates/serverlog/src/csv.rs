//! csvlog: 23 to 26 columns by the version (manual, "Using CSV-Format Log Output"); the first 20 are the same in all.

use std::borrow::Cow;

use memchr::memchr;

use crate::reader::Line;
use crate::time::timestamp;

const COLUMNS: usize = 20;

/// A record's line; None for what is no csvlog.
pub fn line(record: &[u8]) -> Option<Line<'_>> {
    let fields = fields(record)?;
    let plain = |at: usize| match fields[at] {
        Field { bytes, is_quoted: true } => unquoted(bytes),
        Field { bytes, .. } => Cow::Borrowed(bytes),
    };
    let (time_us, _) = timestamp(fields[0].bytes)?;
    Some(Line {
        time_us,
        in_seconds: false,
        user: plain(1),
        database: plain(2),
        session: plain(5),
        began: b"",
        word: fields[11].bytes,
        message: plain(13),
        detail: plain(14),
        query: plain(19),
    })
}

#[derive(Clone, Copy, Default)]
struct Field<'a> {
    bytes: &'a [u8],
    is_quoted: bool,
}

fn fields(record: &[u8]) -> Option<[Field<'_>; COLUMNS]> {
    let mut found = [Field::default(); COLUMNS];
    let mut rest = record;
    for (at, field) in found.iter_mut().enumerate() {
        let (bytes, is_quoted, after) = match rest.strip_prefix(b"\"") {
            Some(inside) => {
                let end = closing(inside)?;
                (&inside[..end], true, &inside[end + 1..])
            }
            None => {
                let end = memchr(b',', rest).unwrap_or(rest.len());
                (&rest[..end], false, &rest[end..])
            }
        };
        *field = Field { bytes, is_quoted };
        rest = match after.strip_prefix(b",") {
            Some(more) => more,
            None if at + 1 == COLUMNS => after,
            None => return None,
        };
    }
    Some(found)
}

/// Where the quote that ends a field is; one that is doubled belongs to the text.
fn closing(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'"', &text[from..])?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

fn unquoted(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'"', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut whole = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'"', rest) {
        whole.extend_from_slice(&rest[..=at]);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    whole.extend_from_slice(rest);
    Cow::Owned(whole)
}
