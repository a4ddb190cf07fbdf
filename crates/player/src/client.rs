//! One client: a connection and its place in the script that it plays.
//!
//! `go_on` runs commands until there is something to wait for: an answer, a moment, or the next transaction.

use std::io;
use std::sync::Arc;

use crate::answer::Refusal;
use crate::clock::monotonic_ns;
use crate::connection::Connection;
use crate::error::PlayerError;
use crate::script::expression::double;
use crate::script::functions::Source;
use crate::script::value::Value;
use crate::script::{Command, Rows, Script, Statement, pipelines};
use crate::specification::{Protocol, Specification};
use crate::tally::Tally;

const SERIALIZATION_FAILURE: &str = "40001";
const DEADLOCK_DETECTED: &str = "40P01";
const PREDECLARED: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The gate: no transaction is under way.
    Idle,
    /// A moment by the monotonic clock, in a transaction or before one that is due then.
    Until(u64),
    /// The server's answer.
    Answer,
    /// The server takes no more of a pipeline now; it may wait until its answers are read.
    Room,
    /// Nothing any more.
    Ended,
}

/// One client.
pub struct Client {
    /// From 0, over all threads.
    pub number: u32,
    /// Its connection.
    pub connection: Connection,
    /// What it waits for.
    pub state: State,
    /// When its transaction was due (open loop), or began.
    pub due_ns: u64,
    /// Transactions that it has ended, in its life.
    pub done: u64,
    /// The script of its transaction.
    pub script: usize,
    scripts: Arc<Vec<Script>>,
    protocol: Protocol,
    max_tries: u32,
    variables: Vec<Vec<Option<Value>>>,
    prepared: Vec<bool>,
    source: Source,
    command: usize,
    sent_ns: u64,
    tries: u32,
    rolling_back: Option<Refusal>,
    text: String,
}

/// What a client does after a whole answer.
pub enum Next {
    /// Its next command.
    Command,
    /// Wait for the answer to a ROLLBACK, which has just been sent.
    Rollback,
    /// Its next transaction: this one has ended.
    Transaction(Ended),
}

/// How a transaction ended.
pub enum Ended {
    /// Well, at that moment.
    Well(u64),
    /// Given up after failures that may be tried again, at that moment, with the SQLSTATE.
    Failed(u64, String),
}

impl Client {
    /// Connect.
    ///
    /// # Errors
    /// `PlayerError::Connection`.
    pub fn connect(
        number: u32,
        specification: &Specification,
        scripts: &Arc<Vec<Script>>,
    ) -> Result<Self, PlayerError> {
        let connection = Connection::open(specification)?;
        let seed = specification
            .seed
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(u64::from(number));
        let first = |name: &str| -> Option<Value> {
            let given = specification
                .variables
                .iter()
                .find(|(known, _)| known == name);
            given.map(|(_, text)| Value::from_text(text)).or_else(|| {
                PREDECLARED.contains(&name).then(|| match name {
                    "client_id" => Value::Integer(i64::from(number)),
                    "random_seed" | "default_seed" => {
                        Value::Integer(i64::try_from(specification.seed >> 1).unwrap_or(0))
                    }
                    _ => Value::Integer(1),
                })
            })
        };
        Ok(Self {
            number,
            connection,
            state: State::Idle,
            due_ns: 0,
            done: 0,
            script: 0,
            variables: scripts
                .iter()
                .map(|each| each.variables.iter().map(|name| first(name)).collect())
                .collect(),
            prepared: vec![false; scripts.len()],
            scripts: Arc::clone(scripts),
            protocol: specification.protocol,
            max_tries: specification.max_tries,
            source: Source::new(seed),
            command: 0,
            sent_ns: 0,
            tries: 1,
            rolling_back: None,
            text: String::new(),
        })
    }

    /// Draw the next script and begin at its first command.
    pub fn begin(&mut self, weights: &[u32], due_ns: u64) {
        self.script = if weights.len() == 1 {
            0
        } else {
            self.source.place(weights)
        };
        self.command = 0;
        self.tries = 1;
        self.due_ns = due_ns;
    }

    /// Exponentially distributed, with mean 1.
    pub fn draw_exponential(&mut self) -> f64 {
        -(1.0 - self.source.uniform()).ln()
    }

    /// Take what the server sent; true once the statement has its whole answer.
    ///
    /// # Errors
    /// The connection's.
    pub fn receive(&mut self) -> io::Result<bool> {
        let keeps = match &self.scripts[self.script].commands.get(self.command) {
            Some(Command::Sql(statement)) => statement.rows != Rows::Ignored,
            _ => false,
        };
        self.connection.receive(keeps)
    }

    /// After a whole answer: count the statement, look at what came, and say what follows.
    ///
    /// # Errors
    /// What ends this client: a refusal that is no serialization failure, `\gset` without one row.
    pub fn answered(&mut self, tally: &mut Tally) -> Result<Next, String> {
        let now = monotonic_ns();
        if let Some(refusal) = self.rolling_back.take() {
            return Ok(self.try_again(now, refusal, tally));
        }
        let scripts = Arc::clone(&self.scripts);
        let statement = match scripts[self.script].commands.get(self.command) {
            Some(Command::Sql(statement)) => Some(statement),
            Some(Command::EndPipeline) => None,
            _ => return Err("an answer came that nobody waits for".into()),
        };
        if let Some(statement) = statement {
            let counted = self.connection.answer.counted;
            tally.scripts[self.script].statements[statement.number]
                .record(now - self.sent_ns, counted);
        }
        self.count_pipeline(tally);
        if let Some(refusal) = self.connection.answer.refusal.take() {
            return self.refused(now, refusal, tally);
        }
        if let Some(statement) = statement {
            self.keep_rows(statement)?;
        }
        self.command += 1;
        Ok(Next::Command)
    }

    /// Count the statements of a pipeline that were answered since it was last called.
    pub fn count_pipeline(&mut self, tally: &mut Tally) {
        for each in self.connection.pipeline.answered.drain(..) {
            tally.scripts[self.script].statements[each.statement]
                .record(each.latency_ns, each.rows);
        }
    }

    fn refused(&mut self, now: u64, refusal: Refusal, tally: &mut Tally) -> Result<Next, String> {
        if refusal.code != SERIALIZATION_FAILURE && refusal.code != DEADLOCK_DETECTED {
            return Err(format!("{} ({})", refusal.message, refusal.code));
        }
        if self.connection.answer.status == b'I' {
            return Ok(self.try_again(now, refusal, tally));
        }
        self.connection
            .query("ROLLBACK")
            .map_err(|error| error.to_string())?;
        self.rolling_back = Some(refusal);
        self.state = State::Answer;
        Ok(Next::Rollback)
    }

    /// From the script's first command, with new random values (pgbench keeps the old ones); or give it up.
    fn try_again(&mut self, now: u64, refusal: Refusal, tally: &mut Tally) -> Next {
        self.command = 0;
        if self.tries < self.max_tries {
            self.tries += 1;
            tally.retries += 1;
            return Next::Command;
        }
        Next::Transaction(Ended::Failed(now, refusal.code))
    }

    fn keep_rows(&mut self, statement: &Statement) -> Result<(), String> {
        let answer = &mut self.connection.answer;
        let prefix = match &statement.rows {
            Rows::Ignored => return Ok(()),
            Rows::Single(_) if answer.rows != 1 => {
                return Err(format!("\\gset wants one row, {} came", answer.rows));
            }
            Rows::Single(prefix) | Rows::Last(prefix) => prefix,
        };
        let names = &self.scripts[self.script].variables;
        for (column, text) in answer
            .columns
            .iter()
            .zip(answer.last_row.take().unwrap_or_default())
        {
            let wanted = names
                .iter()
                .position(|name| name.strip_prefix(prefix.as_str()) == Some(column));
            if let Some(number) = wanted {
                self.variables[self.script][number] =
                    Some(text.map_or(Value::Null, |text| Value::from_text(&text)));
            }
        }
        Ok(())
    }

    /// Run commands until there is something to wait for; Some once the transaction has ended.
    ///
    /// # Errors
    /// What ends this client: an expression without a value, a connection that breaks.
    pub fn go_on(&mut self) -> Result<Option<Ended>, String> {
        let scripts = Arc::clone(&self.scripts);
        let script = &scripts[self.script];
        if self.state == State::Room && !self.push()? {
            return Ok(None);
        }
        loop {
            let variables = &mut self.variables[self.script];
            match script.commands.get(self.command) {
                None if self.connection.pipeline.is_open() => {
                    return Err(pipelines::LEFT_OPEN.into());
                }
                None => return Ok(Some(Ended::Well(monotonic_ns()))),
                Some(Command::Set(number, expression)) => {
                    variables[*number] = Some(expression.evaluate(variables, &mut self.source)?);
                    self.command += 1;
                }
                Some(Command::Unless(expression, otherwise)) => {
                    let value = expression.evaluate(variables, &mut self.source)?;
                    let holds = value.truth().ok_or("a text is no condition of \\if")?;
                    self.command = if holds { self.command + 1 } else { *otherwise };
                }
                Some(Command::Jump(target)) => self.command = *target,
                Some(Command::Sleep(expression, unit_us)) => {
                    let amount = double(&expression.evaluate(variables, &mut self.source)?)?;
                    self.command += 1;
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    let length_ns = (amount.max(0.0) * unit_us * 1e3) as u64;
                    self.state = State::Until(monotonic_ns() + length_ns);
                    return Ok(None);
                }
                Some(Command::Sql(statement)) if !self.connection.pipeline.is_open() => {
                    self.send(statement, script)
                        .map_err(|error| error.to_string())?;
                    self.state = State::Answer;
                    return Ok(None);
                }
                Some(pipelined) => {
                    if !self.pipeline(pipelined, script)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// A command that opens or closes a pipeline, or stands in one; false where there is something to wait for.
    fn pipeline(&mut self, command: &Command, script: &Script) -> Result<bool, String> {
        let in_words = |error: io::Error| error.to_string();
        let open = self.connection.pipeline.is_open();
        match command {
            Command::StartPipeline if open => return Err(pipelines::ALREADY.into()),
            Command::SyncPipeline if !open => return Err(pipelines::none_is_open("syncpipeline")),
            Command::EndPipeline if !open => return Err(pipelines::none_is_open("endpipeline")),
            Command::StartPipeline => {
                // Parsed within, a statement would take the snapshot that BEGIN ISOLATION LEVEL has to come before.
                self.prepare(script).map_err(in_words)?;
                self.connection.open_pipeline();
            }
            Command::Sql(statement) if statement.rows != Rows::Ignored => {
                return Err(pipelines::no_rows_yet(&statement.rows));
            }
            Command::Sql(statement) => self.send(statement, script).map_err(in_words)?,
            Command::SyncPipeline => self.connection.add_sync(),
            Command::EndPipeline => {
                self.connection.end_pipeline();
                self.push()?;
                return Ok(false);
            }
            _ => return Err("a command came that belongs to no pipeline".into()),
        }
        self.command += 1;
        Ok(!self.connection.is_full() || self.push()?)
    }

    /// Send what waits to be sent; true where the script goes on: all of it is gone, and the pipeline not at its end.
    fn push(&mut self) -> Result<bool, String> {
        let all = self.connection.push().map_err(|error| error.to_string())?;
        let ended = self.connection.pipeline.is_ended();
        self.state = if all { State::Answer } else { State::Room };
        Ok(all && !ended)
    }

    fn send(&mut self, statement: &Statement, script: &Script) -> io::Result<()> {
        self.prepare(script)?;
        let variables = &self.variables[self.script];
        if self.protocol == Protocol::Simple {
            self.text.clear();
            statement.template.write_simple(variables, &mut self.text);
            self.sent_ns = monotonic_ns();
            return self.connection.query(&self.text);
        }
        let values = || {
            statement
                .template
                .parameters()
                .map(|number| &variables[number])
        };
        let (name, text) = match self.protocol {
            Protocol::Prepared => (prepared_name(self.script, statement.number), None),
            _ => (String::new(), Some(statement.template.with_parameters())),
        };
        if self.connection.pipeline.is_open() {
            return self.connection.add(statement.number, &name, text, values());
        }
        self.sent_ns = monotonic_ns();
        self.connection.execute(&name, text, values())
    }

    /// Have all statements of the script prepared, the first time and where the protocol wants it.
    fn prepare(&mut self, script: &Script) -> io::Result<()> {
        if self.protocol != Protocol::Prepared || self.prepared[self.script] {
            return Ok(());
        }
        for each in script.statements() {
            let name = prepared_name(self.script, each.number);
            self.connection
                .prepare(&name, each.template.with_parameters())?;
            if let Some(refusal) = self.connection.answer.refusal.take() {
                return Err(io::Error::other(refusal.message));
            }
        }
        self.prepared[self.script] = true;
        Ok(())
    }
}

fn prepared_name(script: usize, statement: usize) -> String {
    format!("P{script}_{statement}")
}
