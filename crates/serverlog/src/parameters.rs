//! The parameters of an execution: `$1 = '7', $2 = NULL`, a quote within a value doubled.

use crate::message::parameters_word;

/// The values in the order of their numbers, None for NULL; what comes after a part that cannot be read is left out.
pub fn parameters(text: &[u8]) -> Vec<Option<Vec<u8>>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((value, after)) = next(rest) {
        found.push(value);
        match after.strip_prefix(b", ") {
            Some(more) => rest = more,
            None => break,
        }
    }
    found
}

/// Is the text all of a list, with numbers from 1 on?
pub fn are_whole(text: &[u8]) -> bool {
    let mut rest = text;
    for number in 1_usize.. {
        let wanted = rest.strip_prefix(b"$").map(|each| &each[..crate::time::digits(each)]);
        let (true, Some((_, after))) = (wanted == Some(number.to_string().as_bytes()), next(rest)) else {
            break;
        };
        match after.strip_prefix(b", ") {
            Some(more) => rest = more,
            None => return after.is_empty(),
        }
    }
    false
}

/// Does one of the values end as those that a setting has shortened do (`auto_explain.log_parameter_max_length`)?
pub fn are_cut(values: &[Option<Vec<u8>>]) -> bool {
    values.iter().flatten().any(|value| value.ends_with(b"..."))
}

fn next(text: &[u8]) -> Option<(Option<Vec<u8>>, &[u8])> {
    let text = text.strip_prefix(b"$")?;
    let digits = crate::time::digits(text);
    let rest = text[digits..].strip_prefix(b" = ")?;
    if let Some(after) = rest.strip_prefix(b"NULL") {
        return Some((None, after));
    }
    let mut rest = rest.strip_prefix(b"'")?;
    let mut value = Vec::new();
    loop {
        let at = memchr::memchr(b'\'', rest)?;
        value.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix(b"'") {
            Some(more) => {
                value.push(b'\'');
                rest = more;
            }
            None => return Some((Some(value), rest)),
        }
    }
}

/// The parameters of a DETAIL, from `$1` on; before PostgreSQL 16 the word was written small.
pub fn of_detail(detail: &[u8]) -> Option<&[u8]> {
    let english = detail.strip_prefix(b"Parameters: ").or_else(|| detail.strip_prefix(b"parameters: "));
    english.or_else(|| parameters_word(detail).map(|word| &detail[word.len()..]))
}
