//! A log cut into records, through one buffer: a record may go over many lines.
//!
//! Plain reads are used, not a memory map: mapped pages count as the process's memory, and a log that is rotated away
//! would be a bus error instead of an end of file.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::prefix::{Head, Prefix};
use crate::time::timestamp;

const BUFFER_BYTES: usize = 1 << 20;
/// Longer records are left out and counted.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// A time with its zone and the comma behind it.
const TIME_BYTES: usize = 48;
/// Longer than any prefix with its severity.
const HEAD_BYTES: usize = 4 << 10;

/// How records end.
#[derive(Clone, Copy, Debug)]
pub enum Framing<'a> {
    /// At each newline.
    Lines,
    /// Before a line that begins with one of these prefixes, but for its first blanks: the server begins a further line
    /// of a record with a tab, and copies of a log have blanks there, or nothing. What stands before the first such
    /// line is a record a line.
    Prefixes(&'a [Prefix]),
    /// At a newline outside of double quotes.
    Quotes,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Framed {
    /// A whole record without its newline; see [`Source::bytes`].
    Record(Range<usize>),
    /// The same at the end of a log that may lack its further lines: it was copied or rotated there, or goes on.
    Last(Range<usize>),
    /// Too long, or cut off in the midst and followed by others.
    Damaged,
    /// The last one, which has no newline: its writer was stopped, or is still writing.
    Torn,
    /// Nothing.
    End,
}

enum End {
    At(usize),
    /// The same; a record begins behind it.
    Before(usize, Head),
    Last(usize),
    Broken(usize),
    More,
}

/// An open log.
pub struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    skips: bool,
    /// Of the record that begins here, and of the one that was returned last.
    heads: [Option<Head>; 2],
}

impl<R: Read> Source<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            at_end: false,
            skips: false,
            heads: [None, None],
        }
    }

    /// What it reads from.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// The bytes of a record.
    pub fn bytes(&self, record: Range<usize>) -> &[u8] {
        &self.buffer[record]
    }

    /// What the prefix of the last record tells; None where it has none.
    pub fn prefix(&self) -> Option<&Head> {
        self.heads[1].as_ref()
    }

    /// The first bytes, as many as one buffer holds; to be asked before any record.
    pub fn head(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(&self.buffer[self.start..self.end])
    }

    /// Leave out the first bytes of the head.
    pub fn skip(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
    }

    /// The next record; its bytes stay until the next call.
    pub fn next(&mut self, framing: Framing<'_>) -> io::Result<Framed> {
        loop {
            let rest = &self.buffer[self.start..self.end];
            if self.skips {
                match memchr(b'\n', rest) {
                    Some(at) => {
                        self.start += at + 1;
                        self.skips = false;
                    }
                    None => {
                        self.start = self.end;
                        if self.at_end {
                            return Ok(Framed::End);
                        }
                        self.fill()?;
                    }
                }
                continue;
            }
            let found = end(framing, rest, self.at_end, &mut self.heads[0]);
            match found {
                End::At(at) | End::Before(at, _) | End::Last(at) => {
                    let record = self.start..self.start + at;
                    self.start += at + 1;
                    self.heads[1] = self.heads[0].take();
                    let is_last = matches!(found, End::Last(_));
                    if let End::Before(_, head) = found {
                        self.heads[0] = Some(head);
                    }
                    return Ok(if is_last { Framed::Last(record) } else { Framed::Record(record) });
                }
                End::Broken(at) => {
                    self.start += at + 1;
                    return Ok(Framed::Damaged);
                }
                End::More if self.at_end => {
                    let is_torn = self.start < self.end;
                    self.start = self.end;
                    return Ok(if is_torn { Framed::Torn } else { Framed::End });
                }
                End::More if rest.len() >= RECORD_BYTES_MAX => {
                    self.skips = true;
                    if matches!(framing, Framing::Prefixes(_)) {
                        (self.start, self.heads[0]) = (self.end, None);
                    }
                    return Ok(Framed::Damaged);
                }
                End::More => self.fill()?,
            }
        }
    }

    /// More bytes behind those that are left, in a larger buffer where these fill it.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end > self.buffer.len() / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        while self.end < self.buffer.len() && !self.at_end {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn end(framing: Framing<'_>, bytes: &[u8], at_end: bool, head: &mut Option<Head>) -> End {
    match framing {
        Framing::Lines => memchr(b'\n', bytes).map_or(End::More, End::At),
        Framing::Prefixes(prefixes) => prefixed_end(bytes, at_end, head, prefixes),
        Framing::Quotes => quoted_end(bytes, at_end),
    }
}

fn prefixed_end(bytes: &[u8], at_end: bool, head: &mut Option<Head>, prefixes: &[Prefix]) -> End {
    if head.is_none() {
        match line(bytes, at_end) {
            None => return End::More,
            Some(line) => *head = head_of(line, prefixes),
        }
    }
    let mut from = 0;
    while let Some(at) = memchr(b'\n', &bytes[from..]) {
        let at = from + at;
        from = at + 1;
        match bytes.get(from) {
            Some(b'\t') => continue,
            None if !at_end => return End::More,
            None if head.is_some() => return End::Last(at),
            None => return End::At(at),
            Some(_) => {}
        }
        let Some(line) = line(&bytes[from..], at_end) else {
            return End::More;
        };
        match head_of(line, prefixes) {
            Some(next) => return End::Before(at, next),
            None if head.is_none() => return End::At(at),
            None => {}
        }
    }
    End::More
}

/// As much of the first line as a prefix may need; None where more bytes are to come.
fn line(bytes: &[u8], at_end: bool) -> Option<&[u8]> {
    let within = &bytes[..bytes.len().min(HEAD_BYTES)];
    match memchr(b'\n', within) {
        Some(end) => Some(&within[..end]),
        None => (at_end || within.len() == HEAD_BYTES).then_some(within),
    }
}

fn head_of(line: &[u8], prefixes: &[Prefix]) -> Option<Head> {
    prefixes.iter().find_map(|prefix| prefix.head(line))
}

fn quoted_end(bytes: &[u8], at_end: bool) -> End {
    let (mut from, mut is_quoted) = (0, false);
    while let Some(at) = memchr2(b'"', b'\n', &bytes[from..]) {
        let at = from + at;
        from = at + 1;
        if bytes[at] == b'"' {
            is_quoted = !is_quoted;
            continue;
        }
        if !is_quoted {
            return End::At(at);
        }
        let next = &bytes[from..bytes.len().min(from + TIME_BYTES)];
        if next.len() < TIME_BYTES && !at_end {
            return End::More;
        }
        // Within a text a line may begin with a time, but hardly with one that a comma follows.
        if timestamp(next).is_some_and(|(_, used)| next.get(used) == Some(&b',')) {
            return End::Broken(at);
        }
    }
    End::More
}
