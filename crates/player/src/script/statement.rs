//! One SQL statement of a script: where it ends, and where its variables stand.
//!
//! A statement ends at a semicolon outside of quotes, comments and parentheses, as psql and pgbench have it.
//! Variables (`:name`) are found everywhere in it, in quotes too, as pgbench finds them; `::type` is none.

use super::Rows;
use super::reading::name_length;
use super::value::Value;

/// A piece of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// The variable of that number.
    Variable(usize),
}

/// A statement's text with its variables marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    names: Vec<String>,
    with_parameters: String,
}

/// A statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its number among the script's statements.
    pub number: usize,
    /// Its text.
    pub template: Template,
    /// What becomes of its rows.
    pub rows: Rows,
}

impl Template {
    pub(super) fn read(text: &str, variable: &mut dyn FnMut(&str) -> usize) -> Self {
        let (mut pieces, mut names, mut plain) = (Vec::new(), Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(':') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            let length = name_length(&rest[1..]);
            let colons = rest.len() - rest.trim_start_matches(':').len();
            if length == 0 || colons > 1 {
                plain.push_str(&rest[..colons]);
                rest = &rest[colons..];
                continue;
            }
            let name = &rest[1..=length];
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Variable(variable(name)));
            names.push(name.to_owned());
            rest = &rest[1 + length..];
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        let with_parameters = numbered(&pieces);
        Self {
            pieces,
            names,
            with_parameters,
        }
    }

    /// The text for the simple protocol, with the variables' values; a variable without a value stays as it stands.
    pub fn write_simple(&self, values: &[Option<Value>], out: &mut String) {
        let mut names = self.names.iter();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Variable(number) => {
                    let name = names.next();
                    match values.get(*number).and_then(Option::as_ref) {
                        Some(value) => value.write_to(out),
                        None => {
                            out.push(':');
                            out.push_str(name.map_or("", String::as_str));
                        }
                    }
                }
            }
        }
    }

    /// The text with `$1`, `$2` … in the variables' places.
    #[must_use]
    pub fn with_parameters(&self) -> &str {
        &self.with_parameters
    }

    /// The numbers of its variables, in the order of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(number) => Some(*number),
            Piece::Text(_) => None,
        })
    }
}

fn numbered(pieces: &[Piece]) -> String {
    let (mut out, mut number) = (String::new(), 0);
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Variable(_) => {
                number += 1;
                out.push('$');
                out.push_str(&number.to_string());
            }
        }
    }
    out
}

/// How many bytes a statement takes with what ends it, and how many it has without.
///
/// # Errors
/// A quote or comment that does not end.
pub(super) fn length(text: &str) -> Result<(usize, usize), String> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b';' if depth == 0 => return Ok((at + 1, at)),
            // A meta-command at the beginning of a line ends a statement that has no semicolon (\gset).
            b'\\'
                if text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
                    || text[at..].starts_with("\\gset")
                    || text[at..].starts_with("\\aset") =>
            {
                return Ok((at, at));
            }
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {
                if let Some(skipped) =
                    unbroken(&text[at..], at > 0 && matches!(bytes[at - 1], b'e' | b'E'))?
                {
                    at += skipped;
                    continue;
                }
            }
        }
        at += 1;
    }
    Ok((text.len(), text.len()))
}

/// The bytes of a quote or comment that begins here; None where none does.
fn unbroken(text: &str, escapes: bool) -> Result<Option<usize>, String> {
    let open = |what: &str| format!("{what} does not end");
    if text.starts_with("--") {
        return Ok(Some(text.find('\n').unwrap_or(text.len())));
    }
    if text.starts_with("/*") {
        let (mut depth, mut at) = (0_usize, 0);
        while at < text.len() {
            if text[at..].starts_with("/*") {
                depth += 1;
                at += 2;
            } else if text[at..].starts_with("*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(Some(at));
                }
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        return Err(open("a comment"));
    }
    if let Some(quote) = text
        .chars()
        .next()
        .filter(|first| matches!(first, '\'' | '"'))
    {
        let mut at = 1;
        while let Some(next) = text[at..].chars().next() {
            at += next.len_utf8();
            if next == '\\' && escapes && quote == '\'' {
                at += text[at..].chars().next().map_or(0, char::len_utf8);
            } else if next == quote {
                return Ok(Some(at));
            }
        }
        return Err(open("a quote"));
    }
    if let Some(tag) = text
        .strip_prefix('$')
        .and_then(|rest| rest.find('$').map(|end| &text[..end + 2]))
    {
        if tag[1..tag.len() - 1]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !tag[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let end = text[tag.len()..]
                .find(tag)
                .ok_or_else(|| open("a dollar quote"))?;
            return Ok(Some(2 * tag.len() + end));
        }
    }
    if text.is_char_boundary(1) {
        return Ok(None);
    }
    Ok(Some(text.chars().next().map_or(1, char::len_utf8)))
}

/// The statement without `--` comments that stand before it or between its lines, which the server need not see.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let escapes = at > 0 && matches!(text.as_bytes()[at - 1], b'e' | b'E');
        match unbroken(&text[at..], escapes) {
            Ok(Some(length)) => {
                if !text[at..].starts_with("--") {
                    kept.push_str(&text[at..at + length]);
                }
                at += length;
            }
            _ => {
                kept.push_str(&text[at..=at]);
                at += 1;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> (Template, Vec<String>) {
        let mut names: Vec<String> = Vec::new();
        let read = Template::read(text, &mut |name| {
            names
                .iter()
                .position(|known| known == name)
                .unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                })
        });
        (read, names)
    }

    #[test]
    fn variables_are_found_and_casts_are_none() {
        let (read, names) = template("SELECT :a::int, x::text, :b, :a, 'at 12:30'");
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            read.with_parameters(),
            "SELECT $1::int, x::text, $2, $3, 'at 12:30'"
        );
        assert_eq!(read.parameters().collect::<Vec<_>>(), [0, 1, 0]);
        let mut out = String::new();
        read.write_simple(&[Some(Value::Integer(4)), None], &mut out);
        assert_eq!(out, "SELECT 4::int, x::text, :b, 4, 'at 12:30'");
    }

    #[test]
    fn a_statement_ends_at_its_own_semicolon() {
        for (text, statement) in [
            ("SELECT 1; SELECT 2;", "SELECT 1"),
            ("SELECT ';' || \";\"; x", "SELECT ';' || \";\""),
            ("SELECT $a$ ; $a$, $1; x", "SELECT $a$ ; $a$, $1"),
            ("SELECT E'it\\'s;' ; x", "SELECT E'it\\'s;' "),
            ("SELECT /* ; /* ; */ */ 1; x", "SELECT /* ; /* ; */ */ 1"),
            ("SELECT -- ;\n 1; x", "SELECT -- ;\n 1"),
            (
                "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); x",
                "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
            ),
            ("SELECT 1 AS a \\gset\n", "SELECT 1 AS a "),
            ("SELECT 'é;'; x", "SELECT 'é;'"),
        ] {
            let (_, end) = length(text).unwrap();
            assert_eq!(&text[..end], statement);
        }
        assert_eq!(
            without_comments("-- why\nSELECT '--' -- end\n"),
            "\nSELECT '--' \n"
        );
    }
}
