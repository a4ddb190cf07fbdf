//! The events of several logs in order; the format of each is known by its first bytes.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::envelope::{ENVELOPES, Envelope, detect, lines};
use crate::events::{Event, Kind};
use crate::input::{Bytes, unpacker};
use crate::message::{Meaning, Part, ends_with_word, meaning, part};
use crate::parameters::{are_whole, of_detail};
use crate::prefix::{Head, Prefix, chosen};
use crate::records::{Framed, Framing, Source};
use crate::statement::ends_within;
use crate::unwrap::{HALF_YEAR_US, Input, Unwrapped, YEARLESS_END_US};
use crate::{csv, json};

/// Shown of a line that cannot be read.
const SHOWN_BYTES: usize = 120;
/// So many envelopes may be around a log: a node's of a pod's of an operator's.
const ENVELOPES_MAX: usize = 3;

/// Records of one log are out of order by no more.
const OVERLAP_US: i64 = 5_000_000;

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines with `log_line_prefix`.
    Stderr,
    /// csvlog.
    Csv,
    /// jsonlog.
    Json,
}

/// What a caller says of all logs; without it each tells its own.
#[derive(Clone, Copy, Debug)]
pub enum LogFormat {
    /// As the server wrote it.
    Plain(Format),
    /// Wrapped so; what is inside tells its own.
    Wrapped(&'static Envelope),
}

impl LogFormat {
    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["stderr", "csv", "json"].into_iter().chain(ENVELOPES.iter().map(|each| each.name))
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "stderr" => Some(Self::Plain(Format::Stderr)),
            "csv" => Some(Self::Plain(Format::Csv)),
            "json" => Some(Self::Plain(Format::Json)),
            _ => ENVELOPES.iter().find(|each| each.name == name).map(Self::Wrapped),
        }
    }
}

impl Format {
    /// By the first line that begins a record, and where that line begins: a log that was cut off at its start may
    /// begin within a record, even within a quoted text of many lines.
    fn of(head: &[u8], prefixes: &[Prefix]) -> (Self, usize) {
        let mut at = 0;
        for line in head.split(|byte| *byte == b'\n') {
            let line_at = at;
            at += line.len() + 1;
            if line.is_empty() {
                continue;
            }
            if line.starts_with(b"{\"timestamp\"") || line.starts_with(b"{\"log_time\"") {
                return (Self::Json, line_at);
            }
            if is_csv(line) {
                return (Self::Csv, line_at);
            }
            if prefixes.iter().any(|prefix| prefix.read(line).is_some()) {
                break;
            }
        }
        (Self::Stderr, 0)
    }

    fn framing(self, prefixes: &[Prefix]) -> Framing<'_> {
        match self {
            Self::Stderr => Framing::Prefixes(prefixes),
            Self::Csv => Framing::Quotes,
            Self::Json => Framing::Lines,
        }
    }
}

/// The first eleven columns hold no newline; the user's name is quoted or missing. A table that has read a csvlog
/// writes its times in quotes.
fn is_csv(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b',');
    let (time, user) = (fields.next().unwrap_or_default(), fields.next().unwrap_or(b"none"));
    let time = time.strip_prefix(b"\"").and_then(|inside| inside.strip_suffix(b"\"")).unwrap_or(time);
    let is_time = crate::time::timestamp(time).is_some_and(|(_, used)| used == time.len());
    is_time && (user.is_empty() || user.starts_with(b"\"")) && fields.count() >= 10
}

/// What was read, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Of all logs.
    pub bytes: u64,
    /// Messages, with those that are no events.
    pub records: u64,
    /// Events.
    pub events: u64,
    /// Records with another prefix, or damaged ones.
    pub unread: u64,
    /// Records that seem to be events in another language.
    pub foreign: u64,
    /// Records with a statement or its values that may lack lines, or have lines of others in them: not used.
    pub doubtful: u64,
    /// Logs whose last record is not whole, or may not be: its further lines would stand behind the end.
    pub torn: u64,
    /// Entries of auto_explain of which the end of the statement cannot be told.
    pub plans_unread: u64,
    /// The first of the unread ones, shortened.
    pub first_unread: String,
    /// The first pair of logs of which one begins before the other one ends.
    pub overlap: Option<[String; 2]>,
    /// What the logs were wrapped in, from the outside in; each way once.
    pub wrapped: Vec<String>,
}

/// A line of any format.
pub struct Line<'a> {
    pub time_us: i64,
    pub in_seconds: bool,
    pub session: Cow<'a, [u8]>,
    pub began: &'a [u8],
    pub database: Cow<'a, [u8]>,
    pub user: Cow<'a, [u8]>,
    pub word: &'a [u8],
    pub message: Cow<'a, [u8]>,
    pub detail: Cow<'a, [u8]>,
    pub query: Cow<'a, [u8]>,
}

/// Reads logs one after another, by their times.
pub struct Reader {
    /// With the time of the first event, where it is known; None until they are in order.
    pieces: Option<std::vec::IntoIter<(Option<i64>, PathBuf)>>,
    paths: Vec<PathBuf>,
    /// Of what was read: of events, and of what they are wrapped in.
    latest_us: i64,
    wrapped_us: i64,
    most_bytes: u64,
    open: Option<(Source<Input>, Format)>,
    /// Of the open one.
    path: PathBuf,
    lines: Lines,
    /// Of the open one: those that are given, or one that is known.
    prefixes: Vec<Prefix>,
    format: Option<LogFormat>,
    given: Vec<Prefix>,
    slots: Slots,
    tally: Tally,
}

/// The sign of a copy by grep, which drops the further lines of statements: in a whole log no statement ends in the
/// middle, and where some have several lines some record has a second one.
#[derive(Default)]
struct Lines {
    has_second: bool,
    cut: u64,
    first_cut: String,
}

impl Lines {
    fn take(&mut self, line: &Line<'_>, further: &Further<'_>) {
        self.has_second |= further.any;
        if self.has_second || part(line.word) != Part::Log {
            return;
        }
        match meaning(&line.message) {
            Meaning::Event { kind: Kind::Statement | Kind::Execute, text, .. } if ends_within(text) => {
                if self.cut == 0 {
                    self.first_cut = String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES)]).into();
                }
                self.cut += 1;
            }
            _ => {}
        }
    }

    /// An error where the log has the sign.
    fn check(&self, path: &Path) -> io::Result<()> {
        if self.has_second || self.cut == 0 {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "\"{}\" lacks further lines of its statements, as a copy by grep does: {} end in the middle, the first is \
             {:?}, and no record has a second line",
            path.display(),
            self.cut,
            self.first_cut
        )))
    }
}

/// The event that may get its DETAIL from the next line, and the one before it.
#[derive(Default)]
struct Slots {
    pending: Option<Event>,
    ready: Option<Event>,
    spare: Event,
}

impl Reader {
    /// Several files are read by the times of their first events; pipes, which can be read only once, and what is named
    /// along with them in the order of `paths`. Without a `format` each tells its own. Raises nothing: files are opened
    /// later.
    pub fn new(paths: Vec<PathBuf>, format: Option<LogFormat>, given: Vec<Prefix>) -> Self {
        Self {
            pieces: None,
            paths,
            latest_us: i64::MIN,
            wrapped_us: i64::MIN,
            most_bytes: u64::MAX,
            open: None,
            path: PathBuf::new(),
            lines: Lines::default(),
            prefixes: Vec::new(),
            format,
            given,
            slots: Slots::default(),
            tally: Tally::default(),
        }
    }

    /// The same, of the first bytes of each file alone.
    pub fn limited(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// What was read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The next event; None at the end. An error is named by its file.
    pub fn next_event(&mut self) -> io::Result<Option<&Event>> {
        if let Some(used) = self.slots.ready.take() {
            self.slots.spare = used;
        }
        while self.slots.ready.is_none() {
            let Some((source, format)) = &mut self.open else {
                if !self.open_next()? {
                    self.slots.ready = self.slots.pending.take();
                    break;
                }
                continue;
            };
            let format = *format;
            let framed = source.next(format.framing(&self.prefixes)).map_err(|error| {
                io::Error::new(error.kind(), format!("could not read \"{}\": {error}", self.path.display()))
            })?;
            let is_last = matches!(framed, Framed::Last(_)) && !source.input().has_whole_records();
            match framed {
                Framed::Record(range) | Framed::Last(range) => {
                    let record = source.bytes(range);
                    self.tally.bytes += record.len() as u64 + 1;
                    let record = record.strip_suffix(b"\r").unwrap_or(record);
                    if record.is_empty() {
                        continue;
                    }
                    let (slots, tally) = (&mut self.slots, &mut self.tally);
                    let read = match format {
                        Format::Csv => csv::line(record).map(|line| slots.take(&line, tally)),
                        Format::Json => json::with_line(record, |line| slots.take(&line, tally)),
                        Format::Stderr => source.prefix().map(|head| {
                            let (line, further) = stderr(record, head);
                            if !is_last {
                                self.lines.take(&line, &further);
                            }
                            slots.take_stderr(line, &further, is_last, tally);
                        }),
                    };
                    tally.records += 1;
                    if read.is_none() {
                        unread(tally, record);
                    }
                }
                Framed::Damaged => unread(&mut self.tally, b"a damaged or very long record"),
                Framed::Torn => self.tally.torn += 1,
                Framed::End => {
                    let lost = source.input().lost();
                    self.wrapped_us = source.input().latest_us();
                    self.open = None;
                    self.tally.records += lost.unread + lost.doubtful;
                    self.tally.unread += lost.unread;
                    self.tally.doubtful += lost.doubtful;
                    self.tally.torn += lost.torn;
                    if self.tally.first_unread.is_empty() {
                        self.tally.first_unread = lost.first_unread;
                    }
                    self.lines.check(&self.path)?;
                }
            }
        }
        if let Some(event) = &self.slots.ready {
            self.tally.events += 1;
            self.latest_us = self.latest_us.max(event.time_us);
        }
        Ok(self.slots.ready.as_ref())
    }

    fn open_next(&mut self) -> io::Result<bool> {
        if self.pieces.is_none() {
            self.pieces = Some(self.in_order()?.into_iter());
        }
        let Some((first_us, path)) = self.pieces.as_mut().and_then(Iterator::next) else {
            return Ok(false);
        };
        let pending_us = self.slots.pending.as_ref().map_or(i64::MIN, |event| event.time_us);
        self.latest_us = self.latest_us.max(pending_us);
        if self.tally.overlap.is_none() && first_us.is_some_and(|us| us.saturating_add(OVERLAP_US) < self.latest_us) {
            self.tally.overlap = Some([&path, &self.path].map(|each| each.display().to_string()));
        }
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("could not read \"{}\": {error}", path.display()));
        let mut source = Source::new(Input::File(Bytes::open(&path, self.most_bytes).map_err(named)?));
        if let Some(program) = unpacker(source.head().map_err(named)?) {
            return Err(named(io::Error::other(format!(
                "it is a pipe of compressed bytes: give the file itself, or what {program} -dc makes of it",
            ))));
        }
        let (plain, mut wrapped) = match self.format {
            Some(LogFormat::Plain(format)) => (Some(format), None),
            Some(LogFormat::Wrapped(envelope)) => (None, Some(envelope)),
            None => (None, detect(source.head().map_err(named)?)),
        };
        let (mut titles, mut prefixes) = (Vec::new(), Vec::new());
        while let (Some(envelope), true) = (wrapped, titles.len() < ENVELOPES_MAX) {
            titles.push(envelope.title);
            let unwrapped = Unwrapped::new(source, envelope, &self.given, self.wrapped_us).map_err(named)?;
            prefixes = unwrapped.prefixes();
            source = Source::new(Input::Wrapped(Box::new(unwrapped)));
            wrapped = detect(source.head().map_err(named)?);
        }
        let head = source.head().map_err(named)?;
        if prefixes.is_empty() {
            prefixes = chosen(&self.given, &lines(head).collect::<Vec<_>>());
        }
        let (format, start) = plain.map_or_else(|| Format::of(head, &prefixes), |format| (format, 0));
        if start > 0 {
            self.tally.records += 1;
            self.tally.bytes += start as u64;
            unread(&mut self.tally, &head[..start]);
        }
        source.skip(start);
        let title = titles.join(", in it ");
        if !title.is_empty() && !self.tally.wrapped.contains(&title) {
            self.tally.wrapped.push(title);
        }
        (self.path, self.lines, self.prefixes) = (path, Lines::default(), prefixes);
        self.open = Some((source, format));
        Ok(true)
    }

    /// The files by the times of their first events. Those without a year are read from the longest gap on, as a log
    /// goes on in January.
    fn in_order(&self) -> io::Result<Vec<(Option<i64>, PathBuf)>> {
        let mut pieces: Vec<_> = self.paths.iter().map(|path| (None, path.clone())).collect();
        if pieces.len() < 2 || !self.paths.iter().all(|path| path.is_file()) {
            return Ok(pieces);
        }
        for (first_us, path) in &mut pieces {
            let mut reader = Self::new(vec![path.clone()], self.format, self.given.clone()).limited(self.most_bytes);
            *first_us = reader.next_event()?.map(|event| event.time_us);
        }
        pieces.sort_by_key(|(first_us, _)| *first_us);
        let has_gap = |pair: &[(Option<i64>, PathBuf)]| match (pair[0].0, pair[1].0) {
            (Some(before), Some(after)) => after < YEARLESS_END_US && after - before > HALF_YEAR_US,
            _ => false,
        };
        if let Some(at) = pieces.windows(2).position(has_gap) {
            pieces.rotate_left(at + 1);
            pieces.iter_mut().rev().take(at + 1).for_each(|(first_us, _)| *first_us = None);
        }
        Ok(pieces)
    }
}

fn unread(tally: &mut Tally, record: &[u8]) {
    tally.unread += 1;
    if tally.first_unread.is_empty() {
        let line = record.split(|byte| *byte == b'\n').next().unwrap_or_default();
        tally.first_unread = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]).into();
    }
}

/// A record of stderr, and what was found of its further lines.
fn stderr<'a>(record: &'a [u8], head: &Head) -> (Line<'a>, Further<'a>) {
    let of = |place: &Range<usize>| &record[place.clone()];
    let (session, began) = match of(&head.session) {
        b"" => (of(&head.process), of(&head.began)),
        session => (session, &b""[..]),
    };
    let (message, further) = joined(&record[head.message.min(record.len())..]);
    let line = Line {
        time_us: head.time_us,
        in_seconds: head.in_seconds,
        session: Cow::Borrowed(session),
        began,
        database: Cow::Borrowed(of(&head.database)),
        user: Cow::Borrowed(of(&head.user)),
        word: of(&head.word),
        message,
        detail: Cow::Borrowed(b""),
        query: Cow::Borrowed(b""),
    };
    (line, further)
}

/// What the further lines of a record say of it.
#[derive(Default)]
struct Further<'a> {
    any: bool,
    /// Lines that begin neither with a tab nor with a blank: of another program, or of another process' record.
    strays: u64,
    first_stray: &'a [u8],
    /// Does a record of another process begin within a line?
    holds_another: bool,
}

/// A message without the tab that the server writes at the start of each further line. A copy may have blanks there,
/// in all lines of a record.
fn joined(message: &[u8]) -> (Cow<'_, [u8]>, Further<'_>) {
    let mut further = Further { holds_another: holds_another(message), ..Further::default() };
    let Some(first) = memchr::memchr(b'\n', message) else {
        return (Cow::Borrowed(message), further);
    };
    further.any = true;
    let (mut whole, mut has_tabs, mut blank) = (Vec::with_capacity(message.len()), false, None);
    whole.extend_from_slice(&message[..first]);
    let mut blanks = 0;
    for line in message[first + 1..].split(|byte| *byte == b'\n') {
        whole.push(b'\n');
        match line.first() {
            Some(b'\t') => {
                has_tabs = true;
                whole.extend_from_slice(&line[1..]);
                continue;
            }
            Some(b' ') => {
                blanks += 1;
                blank.get_or_insert(line);
            }
            None | Some(b'\r') => {}
            Some(_) => {
                further.strays += 1;
                if further.first_stray.is_empty() {
                    further.first_stray = line;
                }
            }
        }
        whole.extend_from_slice(line);
    }
    if let (true, Some(line)) = (has_tabs, blank) {
        further.strays += blanks;
        further.first_stray = if further.first_stray.is_empty() { line } else { further.first_stray };
    }
    (Cow::Owned(whole), further)
}

/// Does a severity stand within? What is written while another process writes begins in the midst of its line.
fn holds_another(message: &[u8]) -> bool {
    memchr::memchr_iter(b':', message).any(|at| {
        message[at + 1..].starts_with(b"  ") && {
            let letters = message[..at].iter().rev().take_while(|byte| byte.is_ascii_uppercase()).count();
            (letters > 0 && part(&message[at - letters..at]) != Part::Foreign) || ends_with_word(&message[..at])
        }
    })
}

/// Does it hold a statement or its values?
fn tells(line: &Line<'_>) -> bool {
    let has_text = |message| match meaning(message) {
        Meaning::Event { text, .. } => !text.is_empty(),
        Meaning::Plan { .. } => true,
        _ => false,
    };
    match part(line.word) {
        Part::Log => has_text(&line.message) || has_text(first_line(&line.message)),
        Part::Detail => of_detail(&line.message).is_some(),
        Part::Statement => true,
        _ => false,
    }
}

fn first_line(message: &[u8]) -> &[u8] {
    message.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

impl Slots {
    /// As `take`; a statement that may not be whole is counted, and left out.
    fn take_stderr(&mut self, line: Line<'_>, further: &Further<'_>, is_last: bool, tally: &mut Tally) {
        if further.strays > 0 {
            unread(tally, further.first_stray);
            tally.unread += further.strays - 1;
            tally.records += further.strays;
        }
        if further.strays > 0 || further.holds_another {
            if tells(&line) {
                tally.doubtful += 1;
                self.ready = self.pending.take();
            } else {
                let first = first_line(&line.message).to_vec();
                self.take(&Line { message: Cow::Owned(first), ..line }, tally);
            }
        } else if is_last && tells(&line) && !of_detail(&line.message).is_some_and(are_whole) {
            // Values that are whole cannot go on: within a quote alone there are further lines.
            tally.torn += 1;
            self.ready = self.pending.take();
        } else {
            self.take(&line, tally);
        }
    }

    fn take(&mut self, line: &Line<'_>, tally: &mut Tally) {
        match part(line.word) {
            Part::Log => match meaning(&line.message) {
                Meaning::Event { kind, text, duration_ms } => {
                    let event = self.begin(line, kind);
                    event.duration_ms = duration_ms;
                    event.text.extend_from_slice(text);
                    if let Some(parameters) = of_detail(&line.detail) {
                        event.parameters.extend_from_slice(parameters);
                    }
                }
                Meaning::Plan { explained, duration_ms } => {
                    let event = self.begin(line, Kind::Plan);
                    event.duration_ms = duration_ms;
                    event.text.extend_from_slice(&explained.text);
                    event.parameters.extend_from_slice(&explained.parameters);
                }
                Meaning::UnreadPlan => {
                    tally.plans_unread += 1;
                    self.ready = self.pending.take();
                }
                Meaning::Other => self.ready = self.pending.take(),
                Meaning::Foreign => tally.foreign += 1,
            },
            Part::Failure => {
                let event = self.begin(line, Kind::Error);
                event.text.extend_from_slice(&line.query);
            }
            Part::Detail => {
                let event = self.of(line).filter(|event| event.kind != Kind::Plan);
                if let (Some(event), Some(found)) = (event, of_detail(&line.message)) {
                    event.parameters.extend_from_slice(found);
                }
            }
            Part::Statement => {
                if let Some(event) = self.of(line).filter(|event| event.kind == Kind::Error) {
                    event.text.clear();
                    event.text.extend_from_slice(&line.message);
                }
            }
            Part::Aside => {}
            Part::Foreign => tally.foreign += 1,
        }
    }

    /// The pending event where the line belongs to it.
    fn of(&mut self, line: &Line<'_>) -> Option<&mut Event> {
        self.pending.as_mut().filter(|event| event.session.starts_with(&line.session))
    }

    fn begin(&mut self, line: &Line<'_>, kind: Kind) -> &mut Event {
        self.ready = self.pending.take();
        let mut event = std::mem::take(&mut self.spare);
        event.clear();
        (event.time_us, event.in_seconds, event.kind) = (line.time_us, line.in_seconds, kind);
        event.session.extend_from_slice(&line.session);
        if !line.began.is_empty() {
            event.session.push(b' ');
            event.session.extend_from_slice(line.began);
        }
        event.database.extend_from_slice(&line.database);
        event.user.extend_from_slice(&line.user);
        self.pending.insert(event)
    }
}
