//! A wrapped log as the server wrote it: lines are put together from their pieces, records from the lines of their
//! process. What lacks a piece is left out and counted, since the beginning of a statement may be another statement.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::envelope::{Envelope, Holds, Piece, lines};
use crate::input::Bytes;
use crate::prefix::{Prefix, chosen};
use crate::records::{Framed, Framing, RECORD_BYTES_MAX, Source};

/// Shown of a line that cannot be read.
const SHOWN_BYTES: usize = 120;
/// PostgreSQL cuts a line for syslog at the last blank within 900 bytes, or there (`PG_SYSLOG_LIMIT`); a character of
/// several bytes is not cut.
const SYSLOG_BYTES: usize = 900 - 6;
/// A process sends the pieces of a record at once: later ones would be an error.
const PIECES_US: i64 = 5_000_000;
const STREAMS_MAX: usize = 50_000;
const HELD_BYTES_MAX: usize = 256 << 20;
/// RFC 3164 has no year: a time so much earlier is of the next one.
pub const HALF_YEAR_US: i64 = 180 * 86_400_000_000;
const YEAR_US: i64 = 366 * 86_400_000_000;
/// RFC 3164 has no year: its times are of 2000.
pub const YEARLESS_END_US: i64 = 978_307_200_000_000;

/// Where a log's bytes come from.
pub enum Input {
    File(Bytes),
    Wrapped(Box<Unwrapped>),
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(into),
            Self::Wrapped(unwrapped) => unwrapped.read(into),
        }
    }
}

impl Input {
    /// Does a record end where its entry does? Then none lacks lines that would stand behind the end.
    pub fn has_whole_records(&self) -> bool {
        matches!(self, Self::Wrapped(unwrapped) if unwrapped.records.envelope.holds == Holds::Records)
    }

    /// The latest time of the outermost envelope that has times; `i64::MIN` without one.
    pub fn latest_us(&self) -> i64 {
        match self {
            Self::File(_) => i64::MIN,
            Self::Wrapped(unwrapped) => unwrapped.records.latest_us.max(unwrapped.source.input().latest_us()),
        }
    }

    /// What was lost on the way.
    pub fn lost(&self) -> Lost {
        match self {
            Self::File(_) => Lost::default(),
            Self::Wrapped(unwrapped) => {
                let (outer, own) = (unwrapped.source.input().lost(), &unwrapped.records.lost);
                Lost {
                    unread: outer.unread + own.unread,
                    doubtful: outer.doubtful + own.doubtful,
                    torn: outer.torn + own.torn,
                    first_unread: if outer.first_unread.is_empty() {
                        own.first_unread.clone()
                    } else {
                        outer.first_unread
                    },
                }
            }
        }
    }
}

/// Counts of what is not passed on.
#[derive(Clone, Debug, Default)]
pub struct Lost {
    /// Lines that are not of the envelope, or of another program.
    pub unread: u64,
    /// Records that lack a piece, or may lack one.
    pub doubtful: u64,
    /// Pieces at the end whose further ones would stand behind it.
    pub torn: u64,
    /// The first of the unread ones with its number, shortened.
    pub first_unread: String,
}

impl Lost {
    fn unread(&mut self, number: u64, line: &[u8]) {
        self.unread += 1;
        if self.first_unread.is_empty() {
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]);
            self.first_unread = format!("line {number}: {shown}");
        }
    }
}

/// What is written before each line that a prefix begins, of what the envelope alone has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Nothing,
    Time,
    TimeAndProcess,
}

/// Reads a wrapped log as a plain one.
pub struct Unwrapped {
    source: Source<Input>,
    records: Records,
    number: u64,
    read: usize,
    at_end: bool,
}

impl Unwrapped {
    /// Raises an error for a log with its newest entries first. `latest_us` is that of the piece before.
    pub fn new(
        mut source: Source<Input>,
        envelope: &'static Envelope,
        given: &[Prefix],
        latest_us: i64,
    ) -> io::Result<Self> {
        let head = source.head()?;
        let pieces: Vec<Piece<'_>> = lines(head).filter_map(|line| (envelope.unwrap)(line)).collect();
        let times: Vec<i64> = pieces.iter().filter_map(|piece| piece.time_us).collect();
        let falls = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        if envelope.holds == Holds::Records && falls * 2 > times.len() {
            return Err(io::Error::other(
                "its newest entries stand first: give them by their times (gcloud logging read --order=asc)",
            ));
        }
        let texts: Vec<&[u8]> = pieces.iter().map(|piece| &piece.text[..]).collect();
        let prefixes = chosen(given, &texts);
        let has_process = pieces.iter().any(|piece| !piece.process.is_empty());
        let lead = match (envelope.holds, prefixes.first()) {
            (Holds::Lines, _) | (_, None) => Lead::Nothing,
            (_, Some(prefix)) => match (prefix.has_time(), prefix.has_session() || !has_process) {
                (true, true) => Lead::Nothing,
                (false, true) => Lead::Time,
                (_, false) => Lead::TimeAndProcess,
            },
        };
        let records = Records {
            envelope,
            prefixes,
            lead,
            out: Vec::new(),
            streams: FxHashMap::default(),
            ages: VecDeque::new(),
            held: 0,
            latest_us,
            years_us: 0,
            lost: Lost::default(),
        };
        Ok(Self { source, records, number: 0, read: 0, at_end: false })
    }

    /// The prefixes of the lines that are passed on; empty where the envelope does not need to know them.
    pub fn prefixes(&self) -> Vec<Prefix> {
        let lead = match self.records.lead {
            Lead::Nothing => "",
            Lead::Time => "%n ",
            Lead::TimeAndProcess => "%n [%p] ",
        };
        match self.records.envelope.holds {
            Holds::Lines => Vec::new(),
            _ => self.records.prefixes.iter().map(|prefix| prefix.behind(lead)).collect(),
        }
    }

    fn line(&mut self) -> io::Result<()> {
        match self.source.next(Framing::Lines)? {
            Framed::Record(range) | Framed::Last(range) => {
                self.number += 1;
                let line = self.source.bytes(range);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                match (self.records.envelope.unwrap)(line) {
                    Some(piece) => self.records.take(piece, self.number)?,
                    None if line.is_empty() => {}
                    None => self.records.lost.unread(self.number, line),
                }
            }
            Framed::Damaged => {
                self.number += 1;
                self.records.lost.unread(self.number, b"a very long line");
                self.records.spoil();
            }
            Framed::Torn => self.records.lost.torn += 1,
            Framed::End => {
                self.at_end = true;
                self.records.end();
            }
        }
        Ok(())
    }
}

impl Read for Unwrapped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.records.out.len() && !self.at_end {
            self.records.out.clear();
            self.read = 0;
            self.line()?;
        }
        let rest = &self.records.out[self.read..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

/// What one process, or pipe, has begun.
#[derive(Default)]
struct Stream {
    /// A line that goes on.
    line: Vec<u8>,
    record: Option<Open>,
    /// The numbers of its last piece.
    last: Option<(u64, u64)>,
    /// Its last record was passed on since no piece of it came for long.
    has_aged: bool,
}

struct Open {
    text: Vec<u8>,
    /// Of its last piece.
    piece: usize,
    has_blank: bool,
    /// The line that it begins at.
    number: u64,
}

struct Records {
    envelope: &'static Envelope,
    prefixes: Vec<Prefix>,
    lead: Lead,
    out: Vec<u8>,
    streams: FxHashMap<Arc<[u8]>, Stream>,
    /// When records began, at which line, and in which stream.
    ages: VecDeque<(i64, u64, Arc<[u8]>)>,
    held: usize,
    latest_us: i64,
    years_us: i64,
    lost: Lost,
}

impl Records {
    fn take(&mut self, mut piece: Piece<'_>, number: u64) -> io::Result<()> {
        if let Some(time_us) = piece.time_us.as_mut().filter(|us| **us < YEARLESS_END_US) {
            *time_us += self.years_us;
            if self.latest_us.saturating_sub(*time_us) > HALF_YEAR_US {
                *time_us += YEAR_US;
                self.years_us += YEAR_US;
            }
            self.latest_us = self.latest_us.max(*time_us);
        }
        match self.envelope.holds {
            Holds::Records => return self.whole(&piece, number),
            Holds::Lines if !piece.goes_on && self.held == 0 => {
                self.out.extend_from_slice(&piece.text);
                self.out.push(b'\n');
                return Ok(());
            }
            _ => {}
        }
        if piece.goes_on || self.held > 0 {
            let stream = self.streams.entry(Arc::from(&piece.stream[..])).or_default();
            if piece.goes_on || !stream.line.is_empty() {
                stream.line.extend_from_slice(&piece.text);
                self.held += piece.text.len();
                if self.held > HELD_BYTES_MAX || stream.line.len() > RECORD_BYTES_MAX {
                    self.lost.unread(number, b"a very long line");
                    self.spoil();
                    return Ok(());
                }
                if piece.goes_on {
                    return Ok(());
                }
                let line = std::mem::take(&mut stream.line);
                self.held -= line.len();
                piece.text = line.into();
            }
        }
        if self.envelope.holds == Holds::Lines {
            self.out.extend_from_slice(&piece.text);
            self.out.push(b'\n');
            return Ok(());
        }
        self.piece(&piece, number)
    }

    /// An entry that is a whole record; one that a collector took the tabs from must not have what looks like another.
    fn whole(&mut self, piece: &Piece<'_>, number: u64) -> io::Result<()> {
        let text = piece.text.trim_ascii_end();
        if !is_head(&self.prefixes, text) {
            if text.first().is_some_and(|byte| b" \t".contains(byte)) {
                return Err(io::Error::other(format!(
                    "line {number} is a further line of a statement in an entry of its own, and nothing says of which",
                )));
            }
            self.lost.unread(number, text);
            return Ok(());
        }
        let further = || text.split(|byte| *byte == b'\n').skip(1);
        let is_plain = |line: &[u8]| line.first() != Some(&b'\t');
        let heads = further().filter(|line| is_plain(line) && is_head(&self.prefixes, line)).count();
        if heads > 0 && further().filter(|line| is_plain(line)).count() > heads {
            self.lost.doubtful += 1;
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.out);
        self.lines(&mut out, piece, text);
        out.push(b'\n');
        self.out = out;
        Ok(())
    }

    /// The lines of a text, each as the server writes it to stderr; the first one has a prefix.
    fn lines(&self, out: &mut Vec<u8>, piece: &Piece<'_>, text: &[u8]) {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
            let line = &text[from..end];
            if from > 0 {
                out.push(b'\n');
            }
            if from == 0 || (line.first() != Some(&b'\t') && is_head(&self.prefixes, line)) {
                self.lead(out, piece);
            } else if line.first() != Some(&b'\t') {
                out.push(b'\t');
            }
            out.extend_from_slice(line);
            from = end + 1;
        }
    }

    fn lead(&self, out: &mut Vec<u8>, piece: &Piece<'_>) {
        if self.lead == Lead::Nothing {
            return;
        }
        let time_us = piece.time_us.unwrap_or(0).max(0);
        out.extend_from_slice((time_us / 1_000_000).to_string().as_bytes());
        if time_us % 1_000_000 > 0 {
            out.extend_from_slice(format!(".{:06}", time_us % 1_000_000).as_bytes());
        }
        if self.lead == Lead::TimeAndProcess {
            out.extend_from_slice(b" [");
            out.extend_from_slice(if piece.process.is_empty() { b"0" } else { &piece.process });
            out.push(b']');
        }
        out.push(b' ');
    }

    /// A piece of a record of one of many processes.
    fn piece(&mut self, piece: &Piece<'_>, number: u64) -> io::Result<()> {
        if let Some(time_us) = piece.time_us {
            self.age(time_us);
        }
        let (key, mut stream) = match self.streams.remove_entry(&piece.stream[..]) {
            Some(known) => known,
            None => (Arc::from(&piece.stream[..]), Stream::default()),
        };
        let begins = is_head(&self.prefixes, &piece.text);
        let result = match (piece.numbers, stream.last) {
            (Some((record, 1)), last) => {
                let lacks = last.is_some_and(|(before, _)| record != before + 1 && record != 1);
                self.close(&mut stream, !lacks);
                self.begin(&key, &mut stream, piece, number, begins);
                Ok(())
            }
            (Some((record, at)), Some((known, before))) if record == known => {
                if stream.has_aged {
                    Err(late(number))
                } else {
                    let fits = at == before + 1 && self.join(&mut stream, piece);
                    if !fits {
                        self.close(&mut stream, false);
                    }
                    Ok(())
                }
            }
            (Some(_), _) => {
                self.close(&mut stream, false);
                self.lost.unread(number, &piece.text);
                Ok(())
            }
            (None, _) if begins => {
                self.close(&mut stream, true);
                self.begin(&key, &mut stream, piece, number, true);
                Ok(())
            }
            (None, _) if stream.record.is_some() => {
                if !self.join(&mut stream, piece) {
                    self.close(&mut stream, false);
                }
                Ok(())
            }
            (None, _) if stream.has_aged && piece.text.first().is_some_and(u8::is_ascii_whitespace) => {
                Err(late(number))
            }
            (None, _) => {
                self.lost.unread(number, &piece.text);
                Ok(())
            }
        };
        stream.last = piece.numbers;
        self.streams.insert(key, stream);
        if self.streams.len() >= STREAMS_MAX || self.held > HELD_BYTES_MAX {
            self.spoil();
        }
        result
    }

    fn begin(&mut self, key: &Arc<[u8]>, stream: &mut Stream, piece: &Piece<'_>, number: u64, begins: bool) {
        stream.has_aged = false;
        if !begins {
            self.lost.unread(number, &piece.text);
            return;
        }
        let mut text = Vec::with_capacity(piece.text.len() + 32);
        self.lines(&mut text, piece, &piece.text);
        self.held += text.len();
        stream.record = Some(Open { text, piece: piece.text.len(), has_blank: has_blank(&piece.text), number });
        if let Some(time_us) = piece.time_us {
            self.ages.push_back((time_us, number, key.clone()));
            if self.ages.len() > 4 * self.streams.len() + 1024 {
                let streams = &self.streams;
                let is_open = |key: &[u8], at: u64| {
                    streams.get(key).and_then(|each| each.record.as_ref()).is_some_and(|open| open.number == at)
                };
                self.ages.retain(|(_, at, key)| *at == number || is_open(key, *at));
            }
        }
    }

    /// Put a piece to the record; false where it cannot be said how, so that something may lack between them.
    fn join(&mut self, stream: &mut Stream, piece: &Piece<'_>) -> bool {
        let Some(open) = &mut stream.record else {
            return true; // of a record that was counted when it was given up
        };
        let text = &piece.text[..];
        let word = text.iter().skip(1).take_while(|byte| !byte.is_ascii_whitespace()).count();
        let may_be_cut = open.piece <= 900 && open.piece + 1 + word >= SYSLOG_BYTES;
        let first = text.first().copied().unwrap_or(b'\t');
        let begins_line = first == b'\t' || is_head(&self.prefixes, text);
        let before = open.text.len();
        match (begins_line, may_be_cut) {
            (true, false) => {
                open.text.push(b'\n');
                let mut whole = std::mem::take(&mut open.text);
                if first == b'\t' {
                    whole.extend_from_slice(text);
                } else {
                    self.lines(&mut whole, piece, text);
                }
                open.text = whole;
            }
            (true, true) => return false,
            (false, true) if first.is_ascii_whitespace() => open.text.extend_from_slice(text),
            (false, true) if !open.has_blank && open.piece >= SYSLOG_BYTES => open.text.extend_from_slice(text),
            // Another program's line within a record: the reader of records leaves the record out, and counts it.
            (false, _) if piece.numbers.is_none() => {
                open.text.push(b'\n');
                open.text.extend_from_slice(text);
            }
            (false, _) => return false,
        }
        self.held += open.text.len() - before;
        (open.piece, open.has_blank) = (text.len(), has_blank(text));
        open.text.len() <= RECORD_BYTES_MAX
    }

    /// Pass a stream's record on if it is whole, else count it.
    fn close(&mut self, stream: &mut Stream, is_whole: bool) {
        if let Some(open) = stream.record.take() {
            self.held -= open.text.len();
            if is_whole {
                self.out.extend_from_slice(&open.text);
                self.out.push(b'\n');
            } else {
                self.lost.doubtful += 1;
            }
        }
    }

    fn age(&mut self, time_us: i64) {
        while self.ages.front().is_some_and(|(began_us, _, _)| began_us + PIECES_US < time_us) {
            let Some((_, number, key)) = self.ages.pop_front() else { return };
            let Some(mut stream) = self.streams.get_mut(&key).map(std::mem::take) else { continue };
            if stream.record.as_ref().is_some_and(|open| open.number == number) {
                self.close(&mut stream, true);
                stream.has_aged = true;
            }
            self.streams.insert(key, stream);
        }
    }

    /// Give up what is open: a piece is lost, of an unknown record, or there is no room.
    fn spoil(&mut self) {
        if self.envelope.holds == Holds::Lines {
            // A line without prefix and tab: what reads records gives up the record in which it stands.
            self.out.extend_from_slice(b"a line that is not whole\n");
        }
        let streams = std::mem::take(&mut self.streams);
        self.lost.doubtful += streams.values().filter(|stream| stream.record.is_some()).count() as u64;
        self.ages.clear();
        self.held = 0;
    }

    /// The record that began last may be whole for what reads records; others lack what would stand behind the end.
    fn end(&mut self) {
        let mut open: Vec<Open> = self.streams.values_mut().filter_map(|stream| stream.record.take()).collect();
        open.sort_unstable_by_key(|each| each.number);
        let last = open.pop();
        self.lost.torn += open.len() as u64;
        self.lost.torn += self.streams.values().filter(|stream| !stream.line.is_empty()).count() as u64;
        if let Some(last) = last {
            self.out.extend_from_slice(&last.text);
            self.out.push(b'\n');
        }
    }
}

fn has_blank(text: &[u8]) -> bool {
    text.iter().skip(1).any(u8::is_ascii_whitespace)
}

fn is_head(prefixes: &[Prefix], text: &[u8]) -> bool {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    prefixes.iter().any(|prefix| prefix.head(line).is_some())
}

fn late(number: u64) -> io::Error {
    io::Error::other(format!(
        "line {number} goes on with a statement that ended seconds before: the log is not in its order"
    ))
}
