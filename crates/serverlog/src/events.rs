//! What a log says: one event a message that is about a statement or a session.

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A text of the simple protocol.
    #[default]
    Statement,
    /// A prepared statement ran.
    Execute,
    /// A text was parsed; no call of it.
    Parse,
    /// Parameters were bound; no call either.
    Bind,
    /// How long the session's last statement took, where its text was logged before it.
    Duration,
    /// A statement failed; the text is what failed.
    Error,
    /// auto_explain's entry: a second report of a call, or its only one, so it says nothing of how often one ran.
    Plan,
    /// A session began.
    Connect,
    /// A session ended.
    Disconnect,
}

impl Kind {
    /// Its name outside of Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Execute => "execute",
            Self::Parse => "parse",
            Self::Bind => "bind",
            Self::Duration => "duration",
            Self::Error => "error",
            Self::Plan => "plan",
            Self::Connect => "connect",
            Self::Disconnect => "disconnect",
        }
    }
}

/// One event; texts are bytes as logged, in the encoding of the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// When it was logged, in µs since 1970 of the server's wall clock; 0 where the prefix has no time.
    pub time_us: i64,
    /// Has that no part of a second (`%t`)?
    pub in_seconds: bool,
    /// `%c`, or the process id with the start of the session; empty where the prefix has neither.
    pub session: Vec<u8>,
    /// Empty where it is not known.
    pub database: Vec<u8>,
    /// Empty where it is not known.
    pub user: Vec<u8>,
    /// What happened.
    pub kind: Kind,
    /// The statement.
    pub text: Vec<u8>,
    /// As the DETAIL or auto_explain has them, from `$1 = ` on; see [`crate::parameters`].
    pub parameters: Vec<u8>,
    /// How long it took, in ms.
    pub duration_ms: Option<f64>,
}

impl Event {
    /// Empty again, with its room kept.
    pub fn clear(&mut self) {
        for each in [&mut self.session, &mut self.database, &mut self.user, &mut self.text, &mut self.parameters] {
            each.clear();
        }
        (self.time_us, self.in_seconds, self.kind, self.duration_ms) = (0, false, Kind::Statement, None);
    }
}
