//! A refusal: which key, what is wrong with its value, what is accepted instead.

use std::fmt;

use flash::FlashError;

/// Why there cannot be such a drive. The message is lower case and has no full stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The key, its value, and what is wrong.
    pub message: String,
    /// What helps; may be empty.
    pub hint: String,
}

impl Refused {
    /// A refusal in free words.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// A key whose value cannot be.
    pub fn value(table: &str, key: &str, value: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self::new(format!("invalid {table} {key} {value}: {reason}"), "")
    }

    /// A key that a table does not have: otherwise a mistyped option would change nothing, unnoticed.
    pub fn unknown_key(table: &str, key: &str, known: &[&str]) -> Self {
        let mut known = known.to_vec();
        known.sort_unstable();
        Self::new(format!("{table} has no key {key}; its keys are {}", known.join(", ")), "")
    }

    /// The same with a hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

impl From<FlashError> for Refused {
    fn from(error: FlashError) -> Self {
        Self::new(error.to_string(), "")
    }
}
