//! What collectors and platforms wrap a server's log in, each by its makers' documentation: one entry of [`ENVELOPES`]
//! says its name, and how a line of it is unwrapped, by which it is also recognised.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::message::find;
use crate::time::{digits, iso, month_day_time};

/// So many of the first lines decide.
const LINES: usize = 200;
/// No log is from the year 5138: larger numbers are no times, and no counts of records.
const TIME_US_MAX: i64 = 100_000_000_000_000_000;
const DIGITS_MAX: usize = 12;

/// A piece of the log: what one line of an envelope holds.
#[derive(Debug, Default)]
pub struct Piece<'a> {
    /// Whose: the pieces of a record are of one stream.
    pub stream: Cow<'a, [u8]>,
    /// The server process that wrote it, in digits; empty where the envelope does not say.
    pub process: Cow<'a, [u8]>,
    /// In µs since 1970.
    pub time_us: Option<i64>,
    pub text: Cow<'a, [u8]>,
    /// Does its line go on in the next piece of the stream?
    pub goes_on: bool,
    /// Of syslog: the number of the record in its process, and of the piece in the record.
    pub numbers: Option<(u64, u64)>,
}

/// What a piece is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Lines of one pipe, in the order in which they were written.
    Lines,
    /// Pieces of records of many processes, mixed.
    Processes,
    /// A whole record each.
    Records,
}

/// A way to wrap a log.
#[derive(Debug)]
pub struct Envelope {
    /// As `--log-format` has it.
    pub name: &'static str,
    /// As it is called in a sentence.
    pub title: &'static str,
    pub holds: Holds,
    /// None for a line that is not wrapped so.
    pub unwrap: for<'a> fn(&'a [u8]) -> Option<Piece<'a>>,
}

/// All of them; no line is of two.
pub const ENVELOPES: [Envelope; 8] = [
    Envelope { name: "cnpg", title: "CloudNativePG's JSON", holds: Holds::Lines, unwrap: cnpg },
    Envelope { name: "cloudsql", title: "Google Cloud Logging's JSON", holds: Holds::Records, unwrap: cloudsql },
    Envelope { name: "azure", title: "Azure Monitor's JSON", holds: Holds::Records, unwrap: azure },
    Envelope { name: "docker", title: "Docker's json-file", holds: Holds::Lines, unwrap: docker },
    Envelope { name: "journald", title: "journald's JSON", holds: Holds::Processes, unwrap: journald },
    Envelope { name: "cri", title: "a Kubernetes container's log (CRI)", holds: Holds::Lines, unwrap: cri },
    Envelope { name: "heroku", title: "Heroku's log stream", holds: Holds::Processes, unwrap: heroku },
    Envelope { name: "syslog", title: "syslog's", holds: Holds::Processes, unwrap: syslog },
];

/// The one of which most of the first lines are.
pub fn detect(head: &[u8]) -> Option<&'static Envelope> {
    let lines: Vec<&[u8]> = lines(head).collect();
    ENVELOPES.iter().find(|each| {
        let count = lines.iter().filter(|line| (each.unwrap)(line).is_some()).count();
        count * 2 > lines.len()
    })
}

/// The first lines that are not empty.
pub fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    whole
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .take(LINES)
}

fn json<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    if line.first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(line).ok()
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The instance manager's lines; those of the logger `postgres` hold a record with csvlog's columns by their names.
fn cnpg(line: &[u8]) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        logger: Cow<'a, str>,
        #[serde(borrow)]
        record: &'a RawValue,
    }
    let found: Object<'_> = json(line)?;
    let record = found.record.get().as_bytes();
    (found.logger == "postgres" && record.starts_with(b"{"))
        .then(|| Piece { text: Cow::Borrowed(record), ..Piece::default() })
}

/// An entry of Cloud Logging (`gcloud logging read`, a sink's files); the time is the entry's where the text has none.
fn cloudsql(line: &[u8]) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow, rename = "logName")]
        log_name: Cow<'a, str>,
        #[serde(borrow, rename = "textPayload")]
        text: Cow<'a, str>,
        #[serde(borrow)]
        timestamp: Cow<'a, str>,
    }
    let found: Object<'_> = json(line)?;
    let time_us = iso(found.timestamp.as_bytes()).map(|(time_us, _)| time_us);
    found.log_name.contains("postgres").then(|| Piece { time_us, text: bytes(found.text), ..Piece::default() })
}

/// A resource log of the category PostgreSQLLogs, as a storage account or an event hub has it.
fn azure(line: &[u8]) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        category: Cow<'a, str>,
        #[serde(borrow)]
        properties: Properties<'a>,
    }
    #[derive(Deserialize)]
    struct Properties<'a> {
        #[serde(borrow)]
        message: Cow<'a, str>,
        #[serde(borrow, default)]
        detail: Cow<'a, str>,
    }
    let found: Object<'_> = json(line)?;
    let message = found.properties.message;
    let detail = found.properties.detail;
    let text = match message.split_once("LOG:  ").filter(|_| !detail.is_empty()) {
        None => message,
        Some((prefix, _)) => {
            let detail = detail.replace('\n', "\n\t");
            Cow::Owned(format!("{}\n{prefix}DETAIL:  {detail}", message.trim_end_matches('\n')))
        }
    };
    found.category.starts_with("PostgreSQL").then(|| Piece { text: bytes(text), ..Piece::default() })
}

/// A line longer than 16 KiB is cut into several; the last one has the newline.
fn docker(line: &[u8]) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        log: Cow<'a, str>,
        #[serde(borrow)]
        stream: Cow<'a, str>,
    }
    let found: Object<'_> = json(line)?;
    Some(lined(bytes(found.stream), bytes(found.log)))
}

fn lined<'a>(stream: Cow<'a, [u8]>, text: Cow<'a, [u8]>) -> Piece<'a> {
    let goes_on = text.last() != Some(&b'\n');
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix(b"\n").unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(text.len() - usize::from(!goes_on));
            Cow::Owned(text)
        }
    };
    Piece { stream, text, goes_on, ..Piece::default() }
}

/// `2016-10-06T00:17:09.669794202Z stderr F line`, or `P` for a part of one.
fn cri(line: &[u8]) -> Option<Piece<'_>> {
    let (_, used) = iso(line)?;
    let rest = line[used..].strip_prefix(b" ")?;
    let stream = [&b"stderr"[..], b"stdout"].into_iter().find(|each| rest.starts_with(each))?;
    let rest = rest[stream.len()..].strip_prefix(b" ")?;
    let tag = *rest.first().filter(|tag| b"FP".contains(tag))?;
    let text = match rest.get(1) {
        None => &b""[..],
        Some(b' ') => &rest[2..],
        Some(b':') => rest.splitn(2, |byte| *byte == b' ').nth(1)?,
        Some(_) => return None,
    };
    Some(Piece { stream: Cow::Borrowed(stream), text: Cow::Borrowed(text), goes_on: tag == b'P', ..Piece::default() })
}

/// `journalctl -o json`; a message that is no UTF-8 is a list of its bytes.
fn journald(line: &[u8]) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Message<'a> {
        Text(#[serde(borrow)] Cow<'a, str>),
        Bytes(Vec<u8>),
    }
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow, rename = "MESSAGE")]
        message: Message<'a>,
        #[serde(borrow, rename = "__REALTIME_TIMESTAMP")]
        time: Cow<'a, str>,
        #[serde(borrow, rename = "_PID", default)]
        process: Cow<'a, str>,
        #[serde(borrow, rename = "SYSLOG_IDENTIFIER", default)]
        identifier: Cow<'a, str>,
        #[serde(borrow, rename = "_LINE_BREAK", default)]
        line_break: Cow<'a, str>,
    }
    let found: Object<'_> = json(line)?;
    let text = match found.message {
        Message::Text(text) => bytes(text),
        Message::Bytes(text) => Cow::Owned(text),
    };
    let piece = Piece {
        stream: bytes(found.process.clone()),
        process: bytes(if digits(found.process.as_bytes()) == found.process.len() { found.process } else { "".into() }),
        time_us: found.time.parse().ok().filter(|time_us| (0..TIME_US_MAX).contains(time_us)),
        text,
        goes_on: found.line_break == "line-max",
        ..Piece::default()
    };
    Some(numbered(piece, found.identifier.as_bytes(), |text| text))
}

/// `2026-03-14T00:23:00+00:00 app[postgres.4821]: [GREEN] [20-1]  sql_error_code = 00000 LOG:  …`.
fn heroku(line: &[u8]) -> Option<Piece<'_>> {
    let (time_us, used) = iso(line)?;
    let rest = line[used..].strip_prefix(b" ")?;
    let rest = rest.strip_prefix(b"app[").or_else(|| rest.strip_prefix(b"heroku["))?;
    let end = find(rest, b"]: ")?;
    let (source, text) = (&rest[..end], &rest[end + 3..]);
    dyno(source, text, Some(time_us))
}

fn dyno<'a>(source: &'a [u8], text: &'a [u8], time_us: Option<i64>) -> Option<Piece<'a>> {
    let colour = text.strip_prefix(b"[").filter(|_| source.starts_with(b"postgres"));
    let coloured = colour.and_then(|rest| {
        let end = memchr::memchr(b']', rest)?;
        rest[..end].iter().all(|byte| byte.is_ascii_uppercase() || b"_-".contains(byte)).then(|| &rest[end + 1..])
    });
    let text = coloured.map_or(text, |rest| rest.strip_prefix(b" ").unwrap_or(rest));
    let process = source.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let process = if digits(process) == process.len() { process } else { b"" };
    let piece = Piece {
        stream: Cow::Borrowed(source),
        process: Cow::Borrowed(process),
        time_us,
        text: Cow::Borrowed(text),
        ..Piece::default()
    };
    Some(numbered(piece, source, |text| text))
}

/// RFC 3164, also with a time by ISO 8601 (rsyslog, `journalctl -o short-iso`), and RFC 5424, also with the length of
/// each message before it (RFC 6587).
fn syslog(line: &[u8]) -> Option<Piece<'_>> {
    let counted = digits(line);
    let line = match line[counted..].strip_prefix(b" <") {
        Some(_) if counted > 0 => &line[counted + 1..],
        _ => line,
    };
    let line = match line.strip_prefix(b"<") {
        Some(rest) => rest[digits(rest)..].strip_prefix(b">")?,
        None => line,
    };
    if let Some(rest) = line.strip_prefix(b"1 ") {
        return structured(rest);
    }
    let (time_us, used) = month_day_time(line).or_else(|| iso(line))?;
    let rest = line[used..].strip_prefix(b" ")?;
    let host = memchr::memchr(b' ', rest)?;
    let rest = &rest[host + 1..];
    let end = find(rest, b"]: ").or_else(|| rest.strip_suffix(b"]:").map(<[u8]>::len))?;
    let open = memchr::memchr(b'[', &rest[..end])?;
    let (identifier, process) = (&rest[..open], &rest[open + 1..end]);
    let is_tag = !identifier.is_empty() && identifier.iter().all(|byte| byte.is_ascii_graphic());
    if !is_tag || process.is_empty() || digits(process) < process.len() {
        return None;
    }
    let text = rest.get(end + 3..).unwrap_or_default();
    Some(sent(&rest[..end], identifier, process, time_us, text))
}

/// `TIME HOST APP PROCID MSGID STRUCTURED-DATA MSG`, behind the version.
fn structured(rest: &[u8]) -> Option<Piece<'_>> {
    let (time_us, used) = iso(rest)?;
    let mut rest = rest[used..].strip_prefix(b" ")?;
    let mut word = || {
        let end = memchr::memchr(b' ', rest)?;
        let word = &rest[..end];
        rest = &rest[end + 1..];
        Some(word)
    };
    let (_host, app, process, _id) = (word()?, word()?, word()?, word()?);
    if let Some(source) = process.strip_prefix(b"postgres.") {
        // logplex, Heroku's drain, writes no data: not even the sign for none.
        let text = rest.strip_prefix(b"- ").unwrap_or(rest);
        return dyno(process, text, Some(time_us)).filter(|_| digits(source) > 0);
    }
    while let Some(inside) = rest.strip_prefix(b"[") {
        let mut from = 0;
        let end = loop {
            let at = from + memchr::memchr2(b'\\', b']', &inside[from..])?;
            if inside[at] == b']' {
                break at;
            }
            from = (at + 2).min(inside.len());
        };
        rest = &inside[end + 1..];
    }
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    Some(sent(process, app, process, time_us, text))
}

fn sent<'a>(stream: &'a [u8], identifier: &[u8], process: &'a [u8], time_us: i64, text: &'a [u8]) -> Piece<'a> {
    let piece = Piece {
        stream: Cow::Borrowed(stream),
        process: Cow::Borrowed(if digits(process) == process.len() { process } else { b"" }),
        time_us: Some(time_us),
        text: Cow::Borrowed(text),
        ..Piece::default()
    };
    numbered(piece, identifier, unescaped)
}

/// With the numbers `[12-1] ` that PostgreSQL writes for syslog taken off; another program's process is none of the
/// server's (Patroni passes on what all of them write).
fn numbered<'a>(mut piece: Piece<'a>, identifier: &[u8], decode: fn(Cow<'a, [u8]>) -> Cow<'a, [u8]>) -> Piece<'a> {
    if let Some((numbers, used)) = numbers(&piece.text) {
        piece.numbers = Some(numbers);
        piece.text = match piece.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[used..]),
            Cow::Owned(text) => Cow::Owned(text[used..].to_vec()),
        };
    } else if !identifier.starts_with(b"postgres") {
        piece.process = Cow::Borrowed(b"");
    }
    piece.text = decode(piece.text);
    piece
}

fn numbers(text: &[u8]) -> Option<((u64, u64), usize)> {
    let number = |digits: &[u8]| {
        let value = || digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        (1..=DIGITS_MAX).contains(&digits.len()).then(value)
    };
    let inside = text.strip_prefix(b"[")?;
    let first = digits(inside);
    let rest = &inside[first..];
    let record = number(&inside[..first])?;
    let after = rest.strip_prefix(b"-")?;
    let second = digits(after);
    let piece = number(&after[..second])?;
    let used = 1 + first + 1 + second;
    text[used..].starts_with(b"] ").then_some(((record, piece), used + 2))
}

/// rsyslog writes control characters as `#` and three octal digits.
fn unescaped(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    const KNOWN: [(&[u8], u8); 3] = [(b"#011", b'\t'), (b"#012", b'\n'), (b"#015", b'\r')];
    if find(&text, b"#01").is_none() {
        return text;
    }
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), &text[..]);
    while let Some(at) = memchr::memchr(b'#', rest) {
        whole.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (byte, used) =
            KNOWN.iter().find(|(code, _)| rest.starts_with(code)).map_or((b'#', 1), |(_, byte)| (*byte, 4));
        whole.push(byte);
        rest = &rest[used..];
    }
    whole.extend_from_slice(rest);
    Cow::Owned(whole)
}
