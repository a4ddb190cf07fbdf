//! What pgbench allows in a pipeline and outside of one, known as far as a script's text tells.
//!
//! pgbench looks only when it plays. What would fail whatever an `\if` decides is refused here when it is read; where
//! an `\if` leaves both possible, the client looks when it comes there, and says the same.

use super::Rows;

/// A pipeline in a pipeline.
pub const ALREADY: &str = "\\startpipeline: already in pipeline mode";
/// The end of a script.
pub const LEFT_OPEN: &str = "end of script reached with pipeline open";
/// By the simple protocol.
pub const NOT_SIMPLE: &str =
    "\\startpipeline: cannot use pipeline mode with the simple query protocol";

/// The end of a pipeline, or a Sync, where there is none.
#[must_use]
pub fn none_is_open(command: &str) -> String {
    format!("\\{command}: not in pipeline mode")
}

/// Rows that would be needed before they are there.
#[must_use]
pub fn no_rows_yet(rows: &Rows) -> String {
    let command = if matches!(rows, Rows::Last(_)) {
        "aset"
    } else {
        "gset"
    };
    format!("\\{command} is not allowed in pipeline mode")
}

/// At one place of a script: may a pipeline be open there, and may none be?
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    open: bool,
    closed: bool,
}

/// The branches of an `\if`, as far as they are read.
pub(super) struct Branches {
    before: Within,
    ends: Option<Within>,
}

impl Default for Within {
    fn default() -> Self {
        CLOSED
    }
}

const OPEN: Within = Within {
    open: true,
    closed: false,
};
const CLOSED: Within = Within {
    open: false,
    closed: true,
};

impl Within {
    pub(super) fn start(&mut self) -> Result<(), String> {
        if !self.closed {
            return Err(ALREADY.into());
        }
        *self = OPEN;
        Ok(())
    }

    pub(super) fn synchronize(&mut self) -> Result<(), String> {
        if !self.open {
            return Err(none_is_open("syncpipeline"));
        }
        *self = OPEN;
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), String> {
        if !self.open {
            return Err(none_is_open("endpipeline"));
        }
        *self = CLOSED;
        Ok(())
    }

    pub(super) fn keep_rows(&mut self, rows: &Rows) -> Result<(), String> {
        if !self.closed {
            return Err(no_rows_yet(rows));
        }
        *self = CLOSED;
        Ok(())
    }

    pub(super) fn end_of_script(self) -> Result<(), String> {
        if self.closed {
            Ok(())
        } else {
            Err(LEFT_OPEN.into())
        }
    }

    /// An `\if` begins here.
    pub(super) fn branches(self) -> Branches {
        Branches {
            before: self,
            ends: None,
        }
    }

    fn or(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            open: self.open || other.open,
            closed: self.closed || other.closed,
        })
    }
}

impl Branches {
    /// A branch has ended so; what is at the beginning of the next.
    pub(super) fn next(&mut self, end: Within) -> Within {
        self.ends = Some(end.or(self.ends));
        self.before
    }

    /// The last branch has ended so; what is behind all. Without `\else` maybe none of them is played.
    pub(super) fn after(&self, end: Within, with_else: bool) -> Within {
        let played = end.or(self.ends);
        if with_else {
            played
        } else {
            played.or(Some(self.before))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Script};

    #[test]
    fn a_pipeline_is_read() {
        let text = "\\startpipeline\nBEGIN;\nSELECT 1;\n\\syncpipeline\nEND;\n\\endpipeline\nSELECT 2 AS a \\gset\n";
        let script = Script::parse("s", text, 1).unwrap();
        let kinds: String = script
            .commands
            .iter()
            .map(|command| match command {
                Command::StartPipeline => '(',
                Command::SyncPipeline => '|',
                Command::EndPipeline => ')',
                Command::Sql(_) => 's',
                _ => '?',
            })
            .collect();
        assert_eq!(kinds, "(ss|s)s");
        assert_eq!(script.pipelined_at, Some(1));
        let plain = Script::parse("s", "SELECT 1;", 1).unwrap();
        assert_eq!(plain.pipelined_at, None);
    }

    #[test]
    fn what_fails_in_every_way_is_refused_with_its_line() {
        for (text, line, what) in [
            (
                "\\startpipeline\n\\startpipeline\n",
                2,
                "already in pipeline",
            ),
            ("SELECT 1;\n\\endpipeline\n", 2, "\\endpipeline: not in"),
            ("\\syncpipeline\n", 1, "\\syncpipeline: not in"),
            (
                "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline\n",
                2,
                "\\gset is not allowed in pipeline mode",
            ),
            (
                "\\startpipeline\nSELECT 1 AS a \\aset\n\\endpipeline\n",
                2,
                "\\aset is not allowed in pipeline mode",
            ),
            ("\\startpipeline\nSELECT 1;\n", 3, "with pipeline open"),
            ("\\startpipeline now\n", 1, "takes no argument"),
            ("\\flush\n", 1, "not offered"),
            (
                "\\if :a\n\\startpipeline\n\\else\n\\startpipeline\n\\endif\n\\startpipeline\n",
                6,
                "already in pipeline",
            ),
            (
                "\\startpipeline\n\\if :a\n\\startpipeline\n\\endif\n\\endpipeline\n",
                3,
                "already in pipeline",
            ),
            (
                "\\startpipeline\n\\if :a\n\\endpipeline\n\\elif :b\n\\endpipeline\n\\else\n\\endpipeline\n\
                 \\endif\n\\endpipeline\n",
                9,
                "\\endpipeline: not in",
            ),
        ] {
            let error = Script::parse("s", text, 1).unwrap_err().to_string();
            let found = error.contains(what) && error.contains(&format!("line {line}:"));
            assert!(found, "{text}: {error}");
        }
    }

    #[test]
    fn what_may_go_well_is_left_to_the_client() {
        for text in [
            "\\if :a\n\\startpipeline\n\\endif\nSELECT 1;\n\\if :a\n\\endpipeline\n\\endif\n",
            "\\if :a\n\\startpipeline\n\\endif\n\\startpipeline\n\\endpipeline\n",
            "\\startpipeline\n\\if :a\n\\endpipeline\n\\elif :b\n\\endpipeline\n\\endif\n",
            "\\startpipeline\n\\if :a\nSELECT 1;\n\\else\n\\syncpipeline\n\\endif\n\\endpipeline\n",
            "\\if :a\n\\startpipeline\n\\endif\nSELECT 1 AS a \\gset\n",
        ] {
            assert!(Script::parse("s", text, 1).is_ok(), "{text}");
        }
    }
}
