//! What can go wrong before a load is played: one type, in words for the user.
//!
//! What a server answers to the load is no error of the player: it is counted (`tally`).

use std::fmt;
use std::io;

/// Why a load cannot be played; `Display` is one line without a full stop.
#[derive(Debug)]
pub enum PlayerError {
    /// A script that cannot be read: its name, the line, and what is wrong there.
    Script {
        /// The script's name.
        name: String,
        /// Line of the script, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The specification is not what it should be.
    Specification(String),
    /// No connection: what was tried, and the server's or the kernel's words.
    Connection(String),
    /// The operating system refused something else.
    System(&'static str, io::Error),
}

impl fmt::Display for PlayerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script { name, line, what } => {
                write!(formatter, "script \"{name}\", line {line}: {what}")
            }
            Self::Specification(what) => write!(formatter, "the load cannot be played: {what}"),
            Self::Connection(what) => write!(formatter, "cannot connect: {what}"),
            Self::System(what, error) => write!(formatter, "{what}: {error}"),
        }
    }
}

impl std::error::Error for PlayerError {}
