//! A pgbench script, read: statements with the places of their variables, and the meta-commands between them.
//!
//! Read once before anything is connected; every jump and every variable is a number by then. `\setshell` and `\shell`
//! are refused by name, so that a caller can fall back to pgbench itself.

pub mod expression;
pub mod functions;
pub mod pipelines;
mod reading;
mod statement;
pub mod value;

use crate::error::PlayerError;
use expression::Expression;
use pipelines::Within;

pub use statement::{Statement, Template};

/// What becomes of a statement's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Nothing.
    Ignored,
    /// `\gset PREFIX`: of its one row, each column into the variable `PREFIX` + its name.
    Single(String),
    /// `\aset PREFIX`: of the last row, if there is one.
    Last(String),
}

/// One step of a script.
#[derive(Clone, Debug)]
pub enum Command {
    /// Send this statement; outside of a pipeline, wait for its answer.
    Sql(Statement),
    /// Begin a pipeline.
    StartPipeline,
    /// A Sync within it.
    SyncPipeline,
    /// Its end: wait for all answers.
    EndPipeline,
    /// Set a variable.
    Set(usize, Expression),
    /// Wait for so many microseconds each unit.
    Sleep(Expression, f64),
    /// Go on here if it holds, else at the other command.
    Unless(Expression, usize),
    /// Go on there.
    Jump(usize),
}

/// A whole script.
#[derive(Clone, Debug)]
pub struct Script {
    /// What messages and results call it.
    pub name: String,
    /// Drawn so often, relative to the others.
    pub weight: u32,
    /// Its steps.
    pub commands: Vec<Command>,
    /// Names of its variables, by number.
    pub variables: Vec<String>,
    /// The line of its first pipeline.
    pub pipelined_at: Option<usize>,
}

impl Script {
    /// Read a script.
    ///
    /// # Errors
    /// `PlayerError::Script` with the line of what cannot be read.
    pub fn parse(name: &str, text: &str, weight: u32) -> Result<Self, PlayerError> {
        let mut reader = Reader::default();
        let outcome = reader.read(text).and_then(|()| match reader.open.last() {
            Some(_) => Err("an \\if has no \\endif".to_owned()),
            None if reader.commands.is_empty() => Err("the script is empty".to_owned()),
            None => reader.within.end_of_script(),
        });
        match outcome {
            Ok(()) => Ok(Self {
                name: name.to_owned(),
                weight,
                commands: reader.commands,
                variables: reader.variables,
                pipelined_at: reader.pipelined_at,
            }),
            Err(what) => Err(PlayerError::Script {
                name: name.to_owned(),
                line: reader.line,
                what,
            }),
        }
    }

    /// Its statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.commands.iter().filter_map(|command| match command {
            Command::Sql(statement) => Some(statement),
            _ => None,
        })
    }
}

/// An `\if` that is not closed yet: the test that jumps to the next branch, and the jumps to its end.
struct Open {
    test: Option<usize>,
    ends: Vec<usize>,
    otherwise: bool,
    within: pipelines::Branches,
}

#[derive(Default)]
struct Reader {
    commands: Vec<Command>,
    variables: Vec<String>,
    open: Vec<Open>,
    line: usize,
    within: Within,
    pipelined_at: Option<usize>,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<(), String> {
        self.line = 1;
        let mut rest = text;
        loop {
            let trimmed = rest.trim_start();
            self.line += rest[..rest.len() - trimmed.len()].matches('\n').count();
            rest = trimmed;
            if rest.is_empty() {
                return Ok(());
            }
            let length = if rest.starts_with('\\') {
                let length = meta_length(rest);
                self.meta(&rest[1..length].replace("\\\r\n", " ").replace("\\\n", " "))?;
                length
            } else {
                let (length, end) = statement::length(rest)?;
                let sql = statement::without_comments(&rest[..end]);
                if !sql.trim().is_empty() {
                    self.sql(sql.trim());
                }
                length
            };
            self.line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
    }

    fn sql(&mut self, text: &str) {
        let number = self.statements_so_far();
        let template = Template::read(text, &mut |name| number_of(&mut self.variables, name));
        self.commands.push(Command::Sql(Statement {
            number,
            template,
            rows: Rows::Ignored,
        }));
    }

    fn statements_so_far(&self) -> usize {
        self.commands
            .iter()
            .filter(|command| matches!(command, Command::Sql(_)))
            .count()
    }

    fn expression(&mut self, text: &str) -> Result<Expression, String> {
        reading::read(text, &mut |name| number_of(&mut self.variables, name))
    }

    fn meta(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "set" => {
                let (name, text) = rest
                    .split_once(char::is_whitespace)
                    .ok_or("\\set takes a name and an expression")?;
                let expression = self.expression(text)?;
                let number = number_of(&mut self.variables, name);
                self.commands.push(Command::Set(number, expression));
                Ok(())
            }
            "sleep" => self.sleep(rest),
            "gset" => self.keep_rows(Rows::Single(rest.to_owned())),
            "aset" => self.keep_rows(Rows::Last(rest.to_owned())),
            "if" => {
                let test = self.expression(rest)?;
                self.open.push(Open {
                    test: Some(self.commands.len()),
                    ends: Vec::new(),
                    otherwise: false,
                    within: self.within.branches(),
                });
                self.commands.push(Command::Unless(test, usize::MAX));
                Ok(())
            }
            "elif" | "else" | "endif" => self.branch(word, rest),
            "startpipeline" | "syncpipeline" | "endpipeline" => self.pipeline(word, rest),
            _ => Err(format!("\\{word} is not offered by the player")),
        }
    }

    fn pipeline(&mut self, word: &str, rest: &str) -> Result<(), String> {
        if !rest.is_empty() {
            return Err(format!("\\{word} takes no argument"));
        }
        let command = match word {
            "startpipeline" => {
                self.within.start()?;
                self.pipelined_at.get_or_insert(self.line);
                Command::StartPipeline
            }
            "syncpipeline" => {
                self.within.synchronize()?;
                Command::SyncPipeline
            }
            _ => {
                self.within.end()?;
                Command::EndPipeline
            }
        };
        self.commands.push(command);
        Ok(())
    }

    fn sleep(&mut self, rest: &str) -> Result<(), String> {
        let (amount, unit) = rest.split_once(char::is_whitespace).unwrap_or((rest, "s"));
        let microseconds = match unit.trim() {
            "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            other => return Err(format!("\\sleep takes us, ms or s, not \"{other}\"")),
        };
        let expression = self.expression(amount)?;
        self.commands.push(Command::Sleep(expression, microseconds));
        Ok(())
    }

    fn keep_rows(&mut self, rows: Rows) -> Result<(), String> {
        self.within.keep_rows(&rows)?;
        match self.commands.last_mut() {
            Some(Command::Sql(statement)) if statement.rows == Rows::Ignored => {
                statement.rows = rows;
                Ok(())
            }
            _ => Err("\\gset and \\aset follow a statement".into()),
        }
    }

    fn branch(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let mut open = self
            .open
            .pop()
            .ok_or_else(|| format!("\\{word} has no \\if"))?;
        if word != "endif" {
            if open.otherwise {
                return Err(format!("\\{word} comes after \\else"));
            }
            open.ends.push(self.commands.len());
            self.commands.push(Command::Jump(usize::MAX));
        }
        if let Some(test) = open.test.take() {
            let here = self.commands.len();
            if let Command::Unless(_, target) = &mut self.commands[test] {
                *target = here;
            }
        }
        self.within = match word {
            "endif" => open.within.after(self.within, open.otherwise),
            _ => open.within.next(self.within),
        };
        match word {
            "elif" => {
                let expression = self.expression(rest)?;
                open.test = Some(self.commands.len());
                self.commands.push(Command::Unless(expression, usize::MAX));
            }
            "else" => open.otherwise = true,
            _ => {
                for end in open.ends {
                    self.commands[end] = Command::Jump(self.commands.len());
                }
                return Ok(());
            }
        }
        self.open.push(open);
        Ok(())
    }
}

/// The bytes of a meta-command: up to the end of its line, continued where a backslash ends one.
fn meta_length(text: &str) -> usize {
    let mut from = 0;
    while let Some(end) = text[from..].find('\n') {
        if !text[..from + end].trim_end_matches('\r').ends_with('\\') {
            return from + end;
        }
        from += end + 1;
    }
    text.len()
}

fn number_of(variables: &mut Vec<String>, name: &str) -> usize {
    if let Some(number) = variables.iter().position(|known| known == name) {
        return number;
    }
    variables.push(name.to_owned());
    variables.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_script_is_read() {
        let text = "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
                    UPDATE a SET b = b + :delta WHERE aid = :aid;\nEND;\n";
        let script = Script::parse("s", text, 1).unwrap();
        assert_eq!(script.commands.len(), 5);
        assert_eq!(script.statements().count(), 3);
        assert_eq!(script.variables, ["scale", "aid", "delta"]);
    }

    #[test]
    fn branches_jump_to_where_they_end() {
        let text = "\\if :a = 1\nSELECT 1;\n\\elif :a = 2\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;";
        let commands = Script::parse("s", text, 1).unwrap().commands;
        let target = |at: usize| match &commands[at] {
            Command::Unless(_, target) | Command::Jump(target) => *target,
            other => panic!("{other:?}"),
        };
        assert_eq!((target(0), target(2), target(3), target(5)), (3, 7, 6, 7));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (text, line, what) in [
            ("SELECT 1;\n\\shell ls\n", 2, "\\shell is not offered"),
            ("\\if 1\nSELECT 1;", 2, "no \\endif"),
            ("\\endif\n", 1, "no \\if"),
            ("\n\n\\set x 1 +\n", 3, "missing at the end"),
            ("-- nothing\n", 2, "empty"),
            ("SELECT 'open;", 1, "does not end"),
            ("\\gset\n", 1, "follow a statement"),
        ] {
            let error = Script::parse("s", text, 1).unwrap_err().to_string();
            assert!(
                error.contains(what) && error.contains(&format!("line {line}:")),
                "{text}: {error}"
            );
        }
    }
}
