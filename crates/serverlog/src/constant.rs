//! The value of a constant as it stands in a statement: without its quotes, doubled quotes and escapes.
//!
//! Only values that are kept are read so; most are not, and cost nothing but their place (manual, "Constants").

use std::borrow::Cow;

/// The value; a boolean in small letters. A quote that does not end goes to the end of the text.
pub fn constant(source: &[u8]) -> Cow<'_, [u8]> {
    match source {
        [b'\'', rest @ ..] => quoted(rest, false),
        [b'e' | b'E', b'\'', rest @ ..] => quoted(rest, true),
        [b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'', rest @ ..] => quoted(rest, false),
        [b'$', rest @ ..] => Cow::Borrowed(dollar_quoted(rest)),
        [first, ..] if first.is_ascii_alphabetic() => Cow::Owned(source.to_ascii_lowercase()),
        _ => Cow::Borrowed(source),
    }
}

fn quoted(text: &[u8], escapes: bool) -> Cow<'_, [u8]> {
    let end = memchr::memchr2(b'\'', b'\\', text).unwrap_or(text.len());
    if end + 1 >= text.len() && text.get(end) != Some(&b'\\') {
        return Cow::Borrowed(&text[..end]);
    }
    let (mut value, mut rest) = (text[..end].to_vec(), text[end..].iter().copied());
    while let Some(byte) = rest.next() {
        match byte {
            b'\'' => match rest.next() {
                Some(_) => value.push(b'\''),
                None => break,
            },
            b'\\' if escapes => escape(rest.next().unwrap_or(0), &mut value),
            _ => value.push(byte),
        }
    }
    Cow::Owned(value)
}

/// What follows a backslash; octal, hexadecimal and Unicode numbers of characters are kept as written.
fn escape(byte: u8, value: &mut Vec<u8>) {
    match byte {
        b'n' => value.push(b'\n'),
        b't' => value.push(b'\t'),
        b'r' => value.push(b'\r'),
        b'b' => value.push(8),
        b'f' => value.push(12),
        b'x' | b'u' | b'U' | b'0'..=b'7' => value.extend_from_slice(&[b'\\', byte]),
        _ => value.push(byte),
    }
}

/// The body between `tag$` and `$tag$`.
fn dollar_quoted(text: &[u8]) -> &[u8] {
    let Some(tag) = memchr::memchr(b'$', text) else {
        return b"";
    };
    let (tag, body) = (&text[..tag], &text[tag + 1..]);
    let without = |rest: &'_ [u8]| rest.strip_suffix(b"$").map(<[u8]>::len);
    let inside = without(body)
        .filter(|end| body[..*end].ends_with(tag))
        .and_then(|end| without(&body[..end - tag.len()]))
        .map(|end| &body[..end]);
    inside.unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_no_quotes_and_no_escapes() {
        let cases: [(&[u8], &[u8]); 14] = [
            (b"'it''s'", b"it's"),
            (b"''", b""),
            (b"''''", b"'"),
            (b"'a\\'", b"a\\"),
            (b"'a''", b"a'"),
            (b"'open", b"open"),
            (b"E'a\\'b\\n\\x41'", b"a'b\n\\x41"),
            (b"x'1F'", b"1F"),
            (b"$$a$b$$", b"a$b"),
            (b"$q$ $$ $q$", b" $$ "),
            (b"$q$open", b"open"),
            (b"TRUE", b"true"),
            (b"-1.5e3", b"-1.5e3"),
            (b".5", b".5"),
        ];
        for (source, value) in cases {
            assert_eq!(&*constant(source), value, "{}", String::from_utf8_lossy(source));
        }
    }
}
