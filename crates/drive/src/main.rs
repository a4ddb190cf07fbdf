//! `pgassay-drive serve --config FILE`: the emulated drive's daemon. `pgassay-drive check` reads a configuration from
//! standard input and says what it would refuse of it, before anything is made.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use drive::config::Config;
use drive::error::DriveError;

const USAGE: &str = "usage: pgassay-drive serve --config FILE | check < FILE | --version";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["serve", "--config", path] => Config::read(Path::new(path)).and_then(|config| drive::serve::serve(&config)),
        ["check"] => check(),
        ["--version"] => {
            println!("pgassay-drive {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pgassay-drive: {error}");
            if !error.hint().is_empty() {
                eprintln!("hint: {}", error.hint());
            }
            ExitCode::from(2)
        }
    }
}

/// Can there be such a drive?
fn check() -> Result<(), DriveError> {
    let text =
        io::read_to_string(io::stdin()).map_err(|error| DriveError::io("cannot read the configuration", error))?;
    Config::parse(&text).map(|_| ())
}
