//! `pgassay-player FILE`: plays the load that the JSON document FILE describes, by orders from standard input.
//! With `--control SOCKET` the orders come from the first connection to that socket, and the answers go there.
//! `pgassay-player --check FILE` only says whether it could, and what a log holds. `--once ORDER FILE` has one order;
//! logs that are named behind the file take the place of those in it, for a file that was written on another host.
//! `pgassay-player --metronome SOCKET FILE` plays nothing: at each order it measures how fast the machine itself is, as
//! FILE describes.

use std::io::{self, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use player::control;
use player::error::PlayerError;
use player::metronome::{self, Description};
use player::replay::plan::Plan;
use player::specification::Specification;

const USAGE: &str = "usage: pgassay-player FILE | --control SOCKET FILE | --check FILE | --version
       pgassay-player --once ORDER FILE [LOG ...] | --metronome SOCKET FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--version"] => {
            println!("pgassay-player {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["--check", file] => read(file).and_then(|load| check(&load)),
        ["--once", order, file, logs @ ..] => reached(file).and_then(|mut load| {
            if let (Some(given), false) = (&mut load.replay, logs.is_empty()) {
                given.logs = logs.iter().map(PathBuf::from).collect();
            }
            control::serve(&load, order.as_bytes(), io::stdout().lock())
        }),
        ["--control", socket, file] => reached(file).and_then(|load| {
            let (orders, answers) = listen(socket)?;
            control::serve(&load, orders, answers)
        }),
        ["--metronome", socket, file] => text_of(file).and_then(|text| {
            let description = Description::parse(&text)?;
            let (orders, answers) = listen(socket)?;
            metronome::serve(&description, orders, answers)
        }),
        [file] if !file.starts_with('-') => reached(file)
            .and_then(|load| control::serve(&load, io::stdin().lock(), io::stdout().lock())),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pgassay-player: {error}");
            ExitCode::from(2)
        }
    }
}

fn check(load: &Specification) -> Result<(), PlayerError> {
    match &load.replay {
        Some(given) => {
            println!("{}", Plan::read(given)?.facts(given.time_factor));
            Ok(())
        }
        None => load.read_scripts().map(|_| ()),
    }
}

fn listen(socket: &str) -> Result<(BufReader<UnixStream>, UnixStream), PlayerError> {
    let failed = |error| PlayerError::System("cannot take orders from the control socket", error);
    let listener = UnixListener::bind(socket).map_err(failed)?;
    let (stream, _) = listener.accept().map_err(failed)?;
    Ok((BufReader::new(stream.try_clone().map_err(failed)?), stream))
}

fn read(file: &str) -> Result<Specification, PlayerError> {
    Specification::parse(&text_of(file)?)
}

/// The load, and the way to its server.
fn reached(file: &str) -> Result<Specification, PlayerError> {
    read(file)?.reached(|name| std::env::var(name).ok())
}

fn text_of(file: &str) -> Result<String, PlayerError> {
    std::fs::read_to_string(Path::new(file))
        .map_err(|error| PlayerError::System("cannot read the description", error))
}
