//! `pgassay-drive serve --config FILE`: the emulated drive's daemon.

use std::path::Path;
use std::process::ExitCode;

use drive::config::Config;

const USAGE: &str = "usage: pgassay-drive serve --config FILE | --version";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["serve", "--config", path] => Config::read(Path::new(path)).and_then(|config| drive::serve::serve(&config)),
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
