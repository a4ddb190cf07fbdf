//! The values of pgbench's variables: integers of 64 bits, doubles, booleans, NULL, and text that came from a query.

use std::fmt::Write as _;

/// One value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// Text as `\gset` or the caller gave it, which is no number and no boolean.
    Text(String),
}

impl Value {
    /// A value from text, as pgbench reads the values of variables.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let plain = text.trim();
        match plain.to_ascii_lowercase().as_str() {
            "null" => return Self::Null,
            "true" | "on" | "yes" => return Self::Boolean(true),
            "false" | "off" | "no" => return Self::Boolean(false),
            _ => {}
        }
        if let Ok(integer) = plain.parse() {
            return Self::Integer(integer);
        }
        match plain.parse() {
            Ok(double) => Self::Double(double),
            Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// Append it as SQL text.
    pub fn write_to(&self, out: &mut String) {
        let _ = match self {
            Self::Null => write!(out, "NULL"),
            Self::Boolean(value) => write!(out, "{value}"),
            Self::Integer(value) => write!(out, "{value}"),
            Self::Double(value) => write!(out, "{value}"),
            Self::Text(value) => write!(out, "{value}"),
        };
    }

    /// Does `\if` take its first branch? None where the value is text.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Null => Some(false),
            Self::Boolean(value) => Some(*value),
            Self::Integer(value) => Some(*value != 0),
            Self::Double(value) => Some(*value != 0.0),
            Self::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_pgbench_reads_it() {
        assert_eq!(Value::from_text("12"), Value::Integer(12));
        assert_eq!(Value::from_text(" -1.5 "), Value::Double(-1.5));
        assert_eq!(Value::from_text("on"), Value::Boolean(true));
        assert_eq!(Value::from_text("NULL"), Value::Null);
        assert_eq!(Value::from_text("tuesday"), Value::Text("tuesday".into()));
    }
}
