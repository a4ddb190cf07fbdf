//! The player's dialogue: a specification first, then an order a line on standard input, an answer a line on output.
//!
//! `{"play": {"duration_ms": 1000}}` or `{"play": {"transactions": 100}}` opens the gate and answers once the last
//! transaction has ended. The end of the input ends the player.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::clock::monotonic_ns;
use crate::error::PlayerError;
use crate::replay;
use crate::script::Script;
use crate::specification::Specification;
use crate::tally::Tally;
use crate::worker::{Order, Worker};

const MS: u64 = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    play: Play,
}

/// How long one slice lasts.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// So long.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Until each client has ended so many transactions; of a log, so many calls in all.
    #[serde(default)]
    pub transactions: Option<u64>,
    /// Of a log: so long after its end a timed slice gives up what is still to be sent or answered; none: never.
    #[serde(default)]
    pub patience_ms: Option<u64>,
}

/// The answer to one order; times by the monotonic clock.
#[derive(Serialize)]
pub struct Slice<'a> {
    /// When the gate opened.
    pub opened_ns: u64,
    /// When it closed.
    pub closed_ns: u64,
    /// What was played.
    #[serde(flatten)]
    pub tally: &'a Tally,
}

/// The order in a line of JSON.
///
/// # Errors
/// `PlayerError::Specification` for one that cannot be read, or that has no end.
pub fn order_of(line: &str) -> Result<Play, PlayerError> {
    let read: Line = serde_json::from_str(line)
        .map_err(|error| PlayerError::Specification(error.to_string()))?;
    if read.play.duration_ms.is_none() && read.play.transactions.is_none() {
        return Err(PlayerError::Specification(
            "an order needs duration_ms or transactions".into(),
        ));
    }
    Ok(read.play)
}

/// Connect, then serve the orders of `input` until it ends.
///
/// # Errors
/// What keeps the load from being played; an order that cannot be read.
pub fn serve(
    specification: &Specification,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), PlayerError> {
    if let Some(given) = &specification.replay {
        return replay::serve(specification, given, input, output);
    }
    let scripts = Arc::new(specification.read_scripts()?);
    let workers = connect(specification, &scripts)?;
    let statements: Vec<usize> = scripts
        .iter()
        .map(|script| script.statements().count())
        .collect();
    let (results_in, results): (Sender<Tally>, Receiver<Tally>) = channel();
    let (ready_in, ready) = channel();
    thread::scope(|scope| {
        let mut orders = Vec::new();
        for worker in workers {
            let (order, taken) = channel();
            let (ready_in, results_in) = (ready_in.clone(), results_in.clone());
            scope.spawn(move || worker.serve(&ready_in, &taken, &results_in));
            orders.push(order);
        }
        for placed in ready.iter().take(orders.len()) {
            placed.map_err(|error| {
                PlayerError::System("cannot pair threads with their backends", error)
            })?;
        }
        tell(
            &mut output,
            &serde_json::json!({"ready": {"clients": specification.clients, "threads": orders.len()}}),
        )?;
        for line in input.lines() {
            let line = line.map_err(|error| PlayerError::System("cannot read an order", error))?;
            if line.trim().is_empty() {
                continue;
            }
            let play = order_of(&line)?;
            let opened_ns = monotonic_ns();
            let order = Order {
                opened_ns,
                closes_ns: play
                    .duration_ms
                    .map_or(u64::MAX, |length| opened_ns + length * MS),
                transactions: play.transactions.unwrap_or(u64::MAX),
            };
            let mut tally = Tally::new(&statements);
            for each in &orders {
                let _ = each.send(order);
            }
            for each in results.iter().take(orders.len()) {
                tally.add(&each);
            }
            let closed_ns = order.closes_ns.min(tally.drained_ns);
            tell(
                &mut output,
                &Slice {
                    opened_ns,
                    closed_ns,
                    tally: &tally,
                },
            )?;
        }
        Ok(())
    })
}

/// The threads' clients, as pgbench divides them, all connected.
fn connect(
    specification: &Specification,
    scripts: &Arc<Vec<Script>>,
) -> Result<Vec<Worker>, PlayerError> {
    let (clients, threads) = (
        specification.clients,
        specification.threads.min(specification.clients),
    );
    let first = |thread: u32| {
        u32::try_from(u64::from(clients) * u64::from(thread) / u64::from(threads))
            .unwrap_or(clients)
    };
    (0..threads)
        .map(|thread| {
            Worker::new(
                first(thread)..first(thread + 1),
                thread,
                specification,
                scripts,
            )
        })
        .collect()
}

/// One answer, a line of JSON.
///
/// # Errors
/// The caller is gone.
pub fn tell(output: &mut impl Write, value: &impl Serialize) -> Result<(), PlayerError> {
    let text = serde_json::to_string(value)
        .map_err(|error| PlayerError::Specification(error.to_string()))?;
    writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .map_err(|error| PlayerError::System("cannot answer", error))
}
