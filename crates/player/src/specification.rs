//! What is to be played, as the caller writes it: one JSON document, checked before any connection is opened.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::thread::CpuSet;
use serde::Deserialize;

use crate::error::PlayerError;
use crate::network::Network;
use crate::replay::plan::GivenLog;
use crate::script::{Script, pipelines};

/// How statements are sent, in pgbench's words (`-M`).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// As text, values put in by the client.
    Simple,
    /// Parsed, bound and executed each time.
    Extended,
    /// Parsed once for each connection.
    Prepared,
}

/// One script as it is given: its text, and how often it is drawn relative to the others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenScript {
    /// What messages and results call it.
    pub name: String,
    /// pgbench's script language.
    pub text: String,
    /// Drawn so often, relative to the others' weights.
    #[serde(default = "one")]
    pub weight: u32,
}

/// One load: where, by how many, what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The directory of the server's socket; none: over TCP, as libpq's variables say (`network`).
    #[serde(default)]
    pub socket_directory: Option<PathBuf>,
    /// The way over TCP, once the variables were read.
    #[serde(skip)]
    pub network: Option<Arc<Network>>,
    /// The server's port, which is part of its socket's name, too.
    #[serde(default = "usual_port")]
    pub port: u16,
    /// Database to connect to.
    pub database: String,
    /// Role to connect as.
    pub user: String,
    /// How statements are sent.
    #[serde(default = "simple")]
    pub protocol: Protocol,
    /// Connections.
    #[serde(default = "one")]
    pub clients: u32,
    /// Threads of the player, at most one for each client.
    #[serde(default = "one")]
    pub threads: u32,
    /// What is played.
    #[serde(default)]
    pub scripts: Vec<GivenScript>,
    /// A server's log that is played instead; then clients, threads, protocol and rate are the log's.
    #[serde(default)]
    pub replay: Option<GivenLog>,
    /// Variables that every client begins with (`scale`), as text.
    #[serde(default)]
    pub variables: Vec<(String, String)>,
    /// Seed of all that is drawn.
    #[serde(default)]
    pub seed: u64,
    /// Transactions per second of all clients together, open loop: latency counts from when one was due.
    #[serde(default)]
    pub rate_tps: Option<f64>,
    /// Tries of a transaction after a serialization failure or a deadlock.
    #[serde(default = "one")]
    pub max_tries: u32,
    /// Transactions slower than this count as late, in milliseconds.
    #[serde(default)]
    pub latency_limit_ms: Option<f64>,
    /// CPUs on which threads and backends are paired: thread n with its clients' backends on the n-th, in turn;
    /// none: they run where the scheduler puts them.
    #[serde(default)]
    pub pair_on: Vec<usize>,
    /// Where each transaction is written down, in the format of pgbench's log (`PREFIX.THREAD`).
    #[serde(default)]
    pub log_prefix: Option<PathBuf>,
}

fn one() -> u32 {
    1
}

fn usual_port() -> u16 {
    5432
}

fn simple() -> Protocol {
    Protocol::Simple
}

impl Specification {
    /// Read it from JSON; refuses what cannot be played.
    ///
    /// # Errors
    /// `PlayerError::Specification` names what is wrong.
    pub fn parse(text: &str) -> Result<Self, PlayerError> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| PlayerError::Specification(error.to_string()))?;
        let refuse = |what: &str| Err(PlayerError::Specification(what.to_owned()));
        if read.clients == 0 || read.threads == 0 {
            return refuse("it needs at least one client and one thread");
        }
        if let Some(given) = &read.replay {
            if !read.scripts.is_empty() {
                return refuse("it has scripts or a log, not both");
            }
            if given.logs.is_empty() || !(given.time_factor.is_finite() && given.time_factor > 0.0)
            {
                return refuse("a replay needs a log, and a time factor above 0");
            }
        } else if read.scripts.iter().all(|script| script.weight == 0) {
            return refuse("it needs at least one script with a weight above 0");
        }
        if read
            .rate_tps
            .is_some_and(|rate| !(rate.is_finite() && rate > 0.0))
        {
            return refuse("the rate must be above 0");
        }
        if read.max_tries == 0 {
            return refuse("a transaction needs at least one try");
        }
        if let Some(cpu) = read.pair_on.iter().find(|cpu| **cpu >= CpuSet::MAX_CPU) {
            return refuse(&format!("cannot pair on a CPU of the number {cpu}"));
        }
        Ok(read)
    }

    /// With what `variable` says of the way, where there is no socket.
    ///
    /// # Errors
    /// `PlayerError::Specification` for a variable that is missing or leads to nothing.
    pub fn reached(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PlayerError> {
        if self.socket_directory.is_none() {
            let found = Network::of_variables(variable, self.port, &self.database, &self.user)?;
            self.network = Some(Arc::new(found));
        }
        Ok(self)
    }

    /// Its scripts, read.
    ///
    /// # Errors
    /// `PlayerError::Script` for the first that cannot be read, or not be played by this protocol.
    pub fn read_scripts(&self) -> Result<Vec<Script>, PlayerError> {
        let read = |given: &GivenScript| {
            let script = Script::parse(&given.name, &given.text, given.weight)?;
            match script.pipelined_at {
                Some(line) if self.protocol == Protocol::Simple => Err(PlayerError::Script {
                    name: script.name,
                    line,
                    what: pipelines::NOT_SIMPLE.into(),
                }),
                _ => Ok(script),
            }
        };
        self.scripts.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{
        "socket_directory": "/tmp", "database": "d", "user": "u", "scripts": [{"name": "s", "text": "SELECT 1;"}]
    }"#;

    #[test]
    fn what_is_not_given_is_as_pgbench_has_it() {
        let read = Specification::parse(LEAST).unwrap();
        assert_eq!(
            (read.clients, read.threads, read.port, read.max_tries),
            (1, 1, 5432, 1)
        );
        assert_eq!(read.protocol, Protocol::Simple);
        assert_eq!(read.scripts[0].weight, 1);
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        for wrong in [
            LEAST.replace("\"user\"", "\"users\""),
            LEAST.replace("\"database\"", "\"clients\": 0, \"database\""),
            LEAST.replace("\"database\"", "\"rate_tps\": -1, \"database\""),
            LEAST.replace("\"database\"", "\"max_tries\": 0, \"database\""),
            LEAST.replace("SELECT 1;\"", "SELECT 1;\", \"weight\": 0"),
            LEAST.replace(
                "\"database\"",
                "\"replay\": {\"logs\": [\"a\"]}, \"database\"",
            ),
            LEAST.replace(
                "\"scripts\": [{\"name\": \"s\", \"text\": \"SELECT 1;\"}]",
                "\"replay\": {\"logs\": []}",
            ),
            LEAST.replace("\"database\"", "\"pair_on\": [0, 1024], \"database\""),
        ] {
            assert!(Specification::parse(&wrong).is_err(), "{wrong}");
        }
    }
    #[test]
    fn a_pipeline_needs_another_protocol_than_the_simple_one() {
        let text = "SELECT 1;\\n\\\\startpipeline\\nSELECT 1;\\n\\\\endpipeline\\n";
        let given = LEAST.replace("SELECT 1;", text);
        let error = Specification::parse(&given).unwrap().read_scripts();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("line 2: \\startpipeline") && error.contains("simple query protocol"),
            "{error}"
        );
        for protocol in ["extended", "prepared"] {
            let said = format!("\"protocol\": \"{protocol}\", \"database\"");
            let given = given.replace("\"database\"", &said);
            assert!(Specification::parse(&given).unwrap().read_scripts().is_ok());
        }
    }
}
