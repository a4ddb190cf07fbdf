//! A statement without its constants, as pg_stat_statements shows it: `$1`, `$2` … in the order in which they stand.
//!
//! Only the lexical rules are used (manual, "Lexical Structure"), so that statements with other values are one entry.
//! Of utility statements only the first two words are kept: they may hold passwords, and are not counted by their text.

use std::ops::Range;

/// What stood where the normalized text has a placeholder: the next number, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `$n` of the source.
    Parameter(usize),
    /// NULL.
    Null,
    /// A constant, as it stands in the source; see [`crate::constant`].
    Constant(Range<usize>),
}

/// What a statement does to its session's transaction, and its normalized text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A query or a change of rows.
    Query,
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, END.
    Commit,
    /// ROLLBACK, ABORT; not to a savepoint.
    Rollback,
    /// Anything else.
    Utility,
}

/// Writes the normalized text and its places, both emptied first.
pub fn normalize(source: &[u8], text: &mut Vec<u8>, places: &mut Vec<Place>) -> Statement {
    text.clear();
    places.clear();
    let mut lexer = Lexer { source, at: 0, text, places, words: Words::default() };
    lexer.run();
    let kept = text.iter().rposition(|byte| !b"; ".contains(byte)).map_or(0, |at| at + 1);
    text.truncate(kept);
    let kind = kind_of(text);
    if kind == Statement::Utility {
        places.clear();
        let blanks = text.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        let second = blanks.map(|(at, _)| at).nth(1);
        text.truncate(second.unwrap_or(text.len()));
    }
    kind
}

/// Does a query surely go on behind the end of this text? Only its last word or symbol is looked at.
pub fn ends_within(text: &[u8]) -> bool {
    /// No query ends with one of them.
    const NEVER_LAST: [&[u8]; 26] = [
        b"select",
        b"from",
        b"where",
        b"and",
        b"or",
        b"on",
        b"set",
        b"by",
        b"join",
        b"in",
        b"into",
        b"values",
        b"as",
        b"having",
        b"union",
        b"using",
        b"when",
        b"then",
        b"else",
        b"case",
        b"not",
        b"like",
        b"between",
        b"limit",
        b"returning",
        b"with",
    ];
    let text = text.trim_ascii_end();
    let Some(last) = text.last() else {
        return false;
    };
    let goes_on = if last.is_ascii_alphabetic() {
        let start = text.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
        let (before, word) = text.split_at(start);
        // `DEFAULT VALUES`, and names: `t.limit`, `AS limit`.
        let ends = |known: &[u8]| before.trim_ascii_end().to_ascii_lowercase().ends_with(known);
        let is_name = || before.ends_with(b".") || ends(b" as") || ends(b" default");
        NEVER_LAST.iter().any(|known| word.eq_ignore_ascii_case(known)) && !is_name()
    } else {
        b",(=<+|".contains(last)
    };
    goes_on && kind_of(text) == Statement::Query && memchr::memmem::find(text, b"--").is_none()
}

fn kind_of(text: &[u8]) -> Statement {
    let start = text.iter().position(|byte| *byte != b'(').unwrap_or(0);
    let mut words = text[start..].split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let mut small = |room: &mut [u8; 12]| {
        let word = words.next().unwrap_or_default();
        let length = word.len().min(room.len());
        room[..length].copy_from_slice(&word[..length]);
        room[..length].make_ascii_lowercase();
        length
    };
    let (mut one, mut two) = ([0; 12], [0; 12]);
    let (first, second) = (small(&mut one), small(&mut two));
    let is_one = memchr::memchr(b';', text).is_none();
    match (&one[..first], &two[..second]) {
        (b"select" | b"insert" | b"update" | b"delete" | b"merge" | b"with" | b"values" | b"table", _) => {
            Statement::Query
        }
        (b"begin", _) | (b"start", b"transaction") if is_one => Statement::Begin,
        (b"commit", b"prepared") | (b"rollback", b"to" | b"prepared") => Statement::Utility,
        (b"commit" | b"end", _) => Statement::Commit,
        (b"rollback" | b"abort", _) if !text.to_ascii_lowercase().windows(4).any(|four| four == b" to ") => {
            Statement::Rollback
        }
        _ => Statement::Utility,
    }
}

/// What of the words before decides whether a number is a constant.
#[derive(Default)]
struct Words {
    /// Where the last word stands in the text, where nothing stands between; empty after anything else.
    last: Range<usize>,
    /// `ORDER BY 1, 2`: positions, which stay.
    positions: bool,
    /// `varchar(10)`: within such parentheses.
    of_type: bool,
    /// The last byte written that is no blank.
    before: u8,
}

struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    text: &'a mut Vec<u8>,
    places: &'a mut Vec<Place>,
    words: Words,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    self.blank();
                }
                b'-' if self.peek(1) == b'-' => {
                    let rest = &self.source[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    self.blank();
                }
                b'/' if self.peek(1) == b'*' => {
                    self.comment();
                    self.blank();
                }
                b'\'' => self.string(0, false),
                b'e' | b'E' if self.peek(1) == b'\'' => self.string(1, true),
                b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if self.peek(1) == b'\'' => self.string(1, false),
                b'"' => self.quoted_name(),
                b'$' => self.dollar(),
                b'0'..=b'9' => self.number(),
                b'.' if self.peek(1).is_ascii_digit() && !is_word(self.words.before) => self.number(),
                b'-' if self.peek(1).is_ascii_digit() && self.begins_value() => self.number(),
                _ if is_word_start(byte) => self.word(),
                _ => self.symbol(byte),
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn blank(&mut self) {
        if self.text.last().is_some_and(|last| *last != b' ') {
            self.text.push(b' ');
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        self.words.before = bytes.last().copied().unwrap_or(self.words.before);
    }

    fn comment(&mut self) {
        let mut depth = 0;
        while self.at < self.source.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                break;
            }
        }
        self.at = self.at.min(self.source.len());
    }

    fn place(&mut self, place: Place) {
        self.places.push(place);
        self.text.push(b'$');
        write_number(self.places.len(), self.text);
        self.words.before = b'0';
        self.words.last = 0..0;
    }

    fn string(&mut self, skip: usize, escapes: bool) {
        let start = self.at;
        self.at += skip + 1;
        loop {
            let rest = self.source.get(self.at..).unwrap_or_default();
            self.at += memchr::memchr2(b'\'', b'\\', rest).unwrap_or(rest.len());
            match (self.peek(0), self.peek(1)) {
                (b'\'', b'\'') => self.at += 2,
                (b'\\', _) => self.at += 1 + usize::from(escapes),
                _ => break,
            }
        }
        self.at = self.source.len().min(self.at + 1);
        self.place(Place::Constant(start..self.at));
    }

    fn quoted_name(&mut self) {
        let end = memchr::memchr(b'"', &self.source[self.at + 1..]);
        let stop = end.map_or(self.source.len(), |end| self.at + end + 2);
        let name = &self.source[self.at..stop];
        self.at = stop;
        self.write(name);
        self.words.last = 0..0;
    }

    fn dollar(&mut self) {
        let rest = &self.source[self.at + 1..];
        let digits = crate::time::digits(rest);
        if digits > 0 {
            let number = rest[..digits].iter().take(6).fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0'));
            self.at += 1 + digits;
            self.place(Place::Parameter(number));
            return;
        }
        let tag = rest.iter().take_while(|byte| is_word(**byte) && **byte != b'$').count();
        if rest.get(tag) != Some(&b'$') {
            self.symbol(b'$');
            return;
        }
        let (start, mark, body) = (self.at, &self.source[self.at..self.at + tag + 2], &rest[tag + 1..]);
        let end = memchr::memmem::find(body, mark);
        self.at += tag + 2 + end.map_or(body.len(), |end| end + mark.len());
        self.place(Place::Constant(start..self.at));
    }

    /// May a minus here belong to a number?
    fn begins_value(&self) -> bool {
        const BEFORE: [&[u8]; 16] = [
            b"select", b"and", b"or", b"not", b"between", b"in", b"limit", b"offset", b"then", b"else", b"when",
            b"like", b"set", b"case", b"by", b"return",
        ];
        b"(,=<>+*/%[|".contains(&self.words.before) || self.last_is(&BEFORE)
    }

    fn number(&mut self) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.source.get(self.at) {
            let is_exponent =
                b"+-".contains(&byte) && b"eE".contains(&self.source[self.at - 1]) && self.peek(1).is_ascii_digit();
            if !(is_word(byte) && byte < 0x80 && byte != b'$') && byte != b'.' && !is_exponent {
                break;
            }
            self.at += 1;
        }
        let value = &self.source[start..self.at];
        let is_position = self.last_is(&[b"by"]) || (self.words.positions && self.words.before == b',');
        if is_position || self.words.of_type {
            self.words.positions = is_position;
            self.write(value);
            self.words.last = 0..0;
        } else {
            self.place(Place::Constant(start..self.at));
        }
    }

    fn word(&mut self) {
        let rest = &self.source[self.at..];
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        let word = &rest[..length];
        self.at += length;
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        let is_null = length == 4 && is(b"null");
        let is_boolean = (length == 4 && is(b"true")) || (length == 5 && is(b"false"));
        if (is_null || is_boolean) && !self.last_is(&[b"is", b"not", b"by", b"nulls"]) {
            self.place(if is_null { Place::Null } else { Place::Constant(self.at - length..self.at) });
        } else {
            self.words.positions = self.words.positions && (is(b"asc") || is(b"desc"));
            let start = self.text.len();
            self.write(word);
            self.words.last = start..start + length;
        }
    }

    fn last_is(&self, names: &[&[u8]]) -> bool {
        let last = &self.text[self.words.last.clone()];
        names.iter().any(|name| last.eq_ignore_ascii_case(name))
    }

    fn symbol(&mut self, byte: u8) {
        const TYPES: [&[u8]; 12] = [
            b"varchar",
            b"char",
            b"character",
            b"varying",
            b"numeric",
            b"decimal",
            b"bit",
            b"time",
            b"timestamp",
            b"timestamptz",
            b"bpchar",
            b"float",
        ];
        match byte {
            b'(' => self.words.of_type = self.last_is(&TYPES),
            b')' => self.words.of_type = false,
            b',' => {}
            _ => self.words.positions = false,
        }
        self.at += 1;
        self.write(&[byte]);
        self.words.last = 0..0;
    }
}

fn write_number(number: usize, out: &mut Vec<u8>) {
    if number >= 10 {
        write_number(number / 10, out);
    }
    out.push(b'0' + (number % 10) as u8);
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// The bytes of a word behind its first: a letter, a digit, `_`, `$`, or of a character outside of ASCII.
static WORD: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < 256 {
        let each = byte as u8;
        table[byte] = each.is_ascii_alphanumeric() || each == b'_' || each == b'$' || each >= 0x80;
        byte += 1;
    }
    table
};
