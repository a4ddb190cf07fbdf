//! `log_line_prefix`: parsed once from the setting, then matched at the start of each line.
//!
//! A name may hold any character, and nothing marks its end but what the prefix has behind it; so the first place at
//! which the rest fits is taken, and few are tried.

use std::fmt;
use std::ops::Range;

use crate::message::find;
use crate::time::{digits, epoch, timestamp};

/// How many ends of names are tried on one line.
const TRIES: u32 = 64;
/// A name is looked for no further than this.
const NAME_BYTES: usize = 256;

/// A prefix with an escape that PostgreSQL does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownEscape(pub char);

impl fmt::Display for UnknownEscape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log_line_prefix has no escape %{}", self.0)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(Vec<u8>),
    Escape(u8),
    /// `%q`: the prefix of a process without a session ends here.
    End,
}

/// Settings that platforms and packages have; tried where none that is given fits.
pub const KNOWN: [&str; 12] = [
    "%m [%p] ",
    "%m [%p] %q%u@%d ",                         // Debian, Ubuntu
    "%t:%r:%u@%d:[%p]:",                        // Amazon RDS and Aurora
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:", // the other one that RDS offers
    "%t-%c-",                                   // Azure Database for PostgreSQL
    "%m [%p]: [%l-1] db=%d,user=%u ",           // Google Cloud SQL
    "[%p]: [%l-1] db=%d,user=%u ",              // the same, its time taken off
    " sql_error_code = %e ",                    // Heroku
    " sql_error_code = %e time_ms = \"%m\" pid=\"%p\" proc_start_time=\"%s\" session_id=\"%c\" vtid=\"%v\" tid=\"%x\" \
     log_line=\"%l\" %qdatabase=\"%d\" connection_source=\"%r\" user=\"%u\" application_name=\"%a\" ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ", // pgBadger's manual
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] host=%h,user=%u,db=%d,tx=%x,vtx=%v ", // Patroni, in Percona's and others' examples
];

/// Of the prefixes that are given those that fit a line, else the known one that fits most, else those given.
pub fn chosen(given: &[Prefix], lines: &[&[u8]]) -> Vec<Prefix> {
    let count = |prefix: &Prefix| lines.iter().filter(|line| prefix.head(line).is_some()).count();
    if given.iter().any(|prefix| count(prefix) > 0) {
        return given.to_vec();
    }
    let known = KNOWN.iter().rev().filter_map(|setting| Prefix::parse(setting).ok());
    let best = known.map(|prefix| (count(&prefix), prefix)).max_by_key(|(count, _)| *count);
    best.filter(|(count, _)| *count > 0).map_or_else(|| given.to_vec(), |(_, prefix)| vec![prefix])
}

/// A parsed prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefix {
    pieces: Vec<Piece>,
    /// Does it begin with a blank, or with an escape that is padded with blanks (`%5p`)?
    has_blanks_first: bool,
}

/// The same by the places in its line, as buffers move; `message` is where that begins.
#[derive(Debug)]
pub struct Head {
    pub time_us: i64,
    /// Has the time no part of a second (`%t`)?
    pub in_seconds: bool,
    pub session: Range<usize>,
    pub process: Range<usize>,
    pub began: Range<usize>,
    pub database: Range<usize>,
    pub user: Range<usize>,
    pub word: Range<usize>,
    pub message: usize,
}

/// What a prefix told of its line; empty where it does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a> {
    pub time_us: Option<i64>,
    pub in_seconds: bool,
    pub session: &'a [u8],
    pub process: &'a [u8],
    pub began: &'a [u8],
    pub database: &'a [u8],
    pub user: &'a [u8],
}

impl Prefix {
    /// From the setting, as in postgresql.conf: `%m [%p] %q%u@%d `.
    pub fn parse(setting: &str) -> Result<Self, UnknownEscape> {
        let has_blanks_first = matches!(setting.as_bytes(), [b' ', ..] | [b'%', b'0'..=b'9', ..]);
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        let mut rest = setting.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                literal.push(byte);
                continue;
            }
            let mut escape = rest.next();
            while escape.is_some_and(|each| each == b'-' || each.is_ascii_digit()) {
                escape = rest.next(); // a width pads with blanks, which are skipped when it is read
            }
            let Some(escape) = escape else { break };
            if escape == b'%' {
                literal.push(b'%');
                continue;
            }
            if !b"abcdehilmnpPQqrstuvxL".contains(&escape) {
                return Err(UnknownEscape(char::from(escape)));
            }
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(match escape {
                b'q' => Piece::End,
                _ => Piece::Escape(escape),
            });
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces, has_blanks_first })
    }

    /// The same behind `lead`, which is known to be a prefix.
    pub(crate) fn behind(&self, lead: &str) -> Self {
        let mut whole = Self::parse(lead).unwrap_or_else(|_| self.clone());
        whole.has_blanks_first = if lead.is_empty() { self.has_blanks_first } else { whole.has_blanks_first };
        whole.pieces.extend_from_slice(&self.pieces);
        whole
    }

    pub(crate) fn has_time(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Escape(b'm' | b't' | b'n')))
    }

    pub(crate) fn has_session(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Escape(b'c' | b'p')))
    }

    /// What the line tells if it begins a record; one that begins with blanks is a further line of one.
    pub(crate) fn head(&self, line: &[u8]) -> Option<Head> {
        if line.first() == Some(&b' ') && !self.has_blanks_first {
            return None;
        }
        let (fields, word, message) = self.read(line)?;
        let place = |part: &[u8]| {
            let at = (part.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
            if part.is_empty() { 0..0 } else { at..at + part.len() }
        };
        Some(Head {
            time_us: fields.time_us.unwrap_or(0),
            in_seconds: fields.in_seconds,
            session: place(fields.session),
            process: place(fields.process),
            began: place(fields.began),
            database: place(fields.database),
            user: place(fields.user),
            word: place(word),
            message: line.len() - message.len(),
        })
    }

    /// What the line's prefix tells, the word of its severity, and the message; None for a line with another prefix.
    pub(crate) fn read<'a>(&self, line: &'a [u8]) -> Option<(Fields<'a>, &'a [u8], &'a [u8])> {
        let (mut fields, mut tries) = (Fields::default(), TRIES);
        let (word, message) = read(&self.pieces, line, &mut fields, &mut tries)?;
        Some((fields, word, message))
    }
}

/// The word and the message.
type Read<'a> = Option<(&'a [u8], &'a [u8])>;

/// What was written to `fields` on the way to None is of no meaning.
fn read<'a>(pieces: &[Piece], line: &'a [u8], fields: &mut Fields<'a>, tries: &mut u32) -> Read<'a> {
    let Some((piece, rest)) = pieces.split_first() else {
        return severity(line);
    };
    let escape = match piece {
        Piece::Literal(wanted) => {
            return read(rest, line.strip_prefix(wanted.as_slice())?, fields, tries);
        }
        Piece::End => {
            let before = *fields;
            return read(rest, line, fields, tries).or_else(|| {
                *fields = before;
                severity(line)
            });
        }
        Piece::Escape(escape) => *escape,
    };
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    // A width pads to the left or to the right; a literal that begins with a blank is not padding, so both are tried.
    let line = if is_name(escape) || blanks == 0 { line } else { &line[blanks..] };
    if is_name(escape) {
        return name(escape, rest, line, fields, tries);
    }
    let used = fixed(escape, line, fields)?;
    let after = &line[used..];
    read(rest, after, fields, tries).or_else(|| {
        let trimmed = after.trim_ascii_start();
        (trimmed.len() < after.len()).then(|| read(rest, trimmed, fields, tries)).flatten()
    })
}

fn is_name(escape: u8) -> bool {
    matches!(escape, b'u' | b'a' | b'd' | b'r' | b'h' | b'b' | b'i' | b'L' | b'e')
}

/// The length of an escape that has a shape of its own.
fn fixed<'a>(escape: u8, line: &'a [u8], fields: &mut Fields<'a>) -> Option<usize> {
    let shaped = |allowed: fn(&u8) -> bool| line.iter().take_while(|byte| allowed(byte)).count();
    match escape {
        b'm' | b't' => {
            let (time_us, used) = timestamp(line)?;
            (fields.time_us, fields.in_seconds) = (Some(time_us), line.get(19) != Some(&b'.'));
            Some(used)
        }
        b'n' => {
            let (time_us, used) = epoch(line)?;
            (fields.time_us, fields.in_seconds) = (Some(time_us), !line[..used].contains(&b'.'));
            Some(used)
        }
        b's' => {
            let (_, used) = timestamp(line)?;
            fields.began = &line[..used];
            Some(used)
        }
        b'c' => {
            let used = shaped(|byte| byte.is_ascii_hexdigit() || *byte == b'.');
            fields.session = &line[..used];
            (used > 0).then_some(used)
        }
        b'p' => {
            let used = digits(line);
            fields.process = &line[..used];
            (used > 0).then_some(used)
        }
        b'v' => Some(shaped(|byte| byte.is_ascii_digit() || *byte == b'/')),
        b'Q' => Some(shaped(|byte| byte.is_ascii_digit() || *byte == b'-')),
        _ => Some(digits(line)),
    }
}

/// A name ends where what follows it fits.
fn name<'a>(escape: u8, rest: &[Piece], line: &'a [u8], fields: &mut Fields<'a>, tries: &mut u32) -> Read<'a> {
    let within = &line[..line.len().min(NAME_BYTES)];
    let mut from = 0;
    loop {
        let end = match rest.iter().find(|piece| **piece != Piece::End) {
            Some(Piece::Literal(wanted)) => from + find(&within[from..], wanted)?,
            Some(Piece::Escape(_)) | Some(Piece::End) => from,
            None => from + memchr::memchr(b':', &within[from..])?,
        };
        *tries = tries.checked_sub(1)?;
        let (mut at, mut value) = (end, &line[..end]);
        if rest.iter().all(|piece| *piece == Piece::End) {
            // Nothing is behind it: its end is where the word of a severity begins.
            let word = value.iter().rev().take_while(|byte| byte.is_ascii_uppercase()).count();
            at = end - word;
            value = &line[..at];
        }
        let value = value.trim_ascii();
        match escape {
            b'd' => fields.database = value,
            b'u' => fields.user = value,
            _ => {}
        }
        let found = read(rest, &line[at..], fields, tries);
        if found.is_some() {
            return found;
        }
        from = end + 1;
        if from > within.len() {
            return None;
        }
    }
}

/// `LOG:  message`: the word and what follows. Languages write the colon with or without a blank before it.
fn severity(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let within = &line[..line.len().min(40)];
    let at = memchr::memchr(b':', within)?;
    let message = line[at + 1..].strip_prefix(b"  ")?;
    let word = line[..at].trim_ascii_end();
    let is_word = !word.is_empty()
        && word.len() <= 32
        && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte >= 0x80);
    is_word.then_some((word, message))
}
