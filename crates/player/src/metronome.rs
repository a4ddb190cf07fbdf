//! How fast the machine itself is, now: on order each core in use does the same small work, and a file is flushed.
//!
//! Arithmetic is a chain of dependent multiplications, so that it tells the core's clock and nothing else. The walk
//! follows a random cycle through memory larger than the caches, so that it tells the memory's latency. The flush
//! writes a page and calls fdatasync(2). The cores work at the same time, as they do under load. No treatment of a
//! database can touch what is measured here, which is what makes it a covariate.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{BufRead, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::clock::monotonic_ns;
use crate::control::tell;
use crate::error::PlayerError;

const PAGE: usize = 8192;
/// Entries of the walk lie this far apart: a cache line.
const LINE: usize = 64;

/// What is measured at each beat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Each of these cores works.
    pub cores: Vec<usize>,
    /// Multiplications in a row.
    #[serde(default = "multiplications")]
    pub multiplications: u64,
    /// Memory that is walked through.
    #[serde(default = "memory_bytes")]
    pub memory_bytes: usize,
    /// Steps of the walk.
    #[serde(default = "steps")]
    pub steps: u64,
    /// Where a file is flushed; nowhere without it.
    #[serde(default)]
    pub flush_directory: Option<PathBuf>,
    /// Flushes, one after the other.
    #[serde(default = "flushes")]
    pub flushes: u32,
}

fn multiplications() -> u64 {
    500_000
}

fn memory_bytes() -> usize {
    128 << 20
}

fn steps() -> u64 {
    8_000
}

fn flushes() -> u32 {
    2
}

/// A beat of one core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OfCore {
    core: usize,
    /// All multiplications together.
    arithmetic_ns: u64,
    /// The whole walk.
    memory_ns: u64,
}

/// A beat; moments by the monotonic clock.
#[derive(Debug, Serialize)]
pub struct Beat {
    began_ns: u64,
    ended_ns: u64,
    cores: Vec<OfCore>,
    /// The mean of the flushes.
    flush_ns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    #[serde(rename = "beat")]
    _beat: Nothing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Description {
    /// Read it from JSON.
    ///
    /// # Errors
    /// `PlayerError::Specification` names what is wrong.
    pub fn parse(text: &str) -> Result<Self, PlayerError> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| PlayerError::Specification(error.to_string()))?;
        if read.cores.is_empty() || read.flushes == 0 || read.memory_bytes < 2 * LINE {
            return Err(PlayerError::Specification(
                "it needs a core, a flush and two lines of memory at least".into(),
            ));
        }
        if let Some(core) = read.cores.iter().find(|core| **core >= CpuSet::MAX_CPU) {
            return Err(PlayerError::Specification(format!(
                "cannot work on a core of the number {core}"
            )));
        }
        Ok(read)
    }
}

/// Serve the orders of `input`, `{"beat": {}}` each, until it ends.
///
/// # Errors
/// A core that may not be used, a directory that takes no file, an order that cannot be read.
pub fn serve(
    description: &Description,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), PlayerError> {
    let flushed = description
        .flush_directory
        .as_deref()
        .map(open)
        .transpose()?;
    let walk = Arc::new(cycle(description.memory_bytes / LINE));
    let together = Arc::new(Barrier::new(description.cores.len()));
    let (done_in, done): (Sender<Result<OfCore, PlayerError>>, _) = channel();
    thread::scope(|scope| {
        let mut orders = Vec::new();
        for (place, core) in description.cores.iter().copied().enumerate() {
            let (order, taken) = channel::<()>();
            orders.push(order);
            let worker = Worker {
                core,
                // Each begins elsewhere, so that none finds in a shared cache what another has fetched.
                at: u32::try_from(place * walk.len() / LINE / description.cores.len()).unwrap_or(0),
                walk: Arc::clone(&walk),
                together: Arc::clone(&together),
                multiplications: description.multiplications,
                steps: description.steps,
            };
            let done_in = done_in.clone();
            scope.spawn(move || worker.serve(&taken, &done_in));
        }
        let round = || -> Result<Beat, PlayerError> {
            let began_ns = monotonic_ns();
            for order in &orders {
                let _ = order.send(());
            }
            let mut cores = Vec::with_capacity(orders.len());
            for each in done.iter().take(orders.len()) {
                cores.push(each?);
            }
            cores.sort_by_key(|each| each.core);
            let flush_ns = flushed
                .as_ref()
                .map(|file| flush(file, description.flushes))
                .transpose()?;
            Ok(Beat {
                began_ns,
                ended_ns: monotonic_ns(),
                cores,
                flush_ns,
            })
        };
        // The first is thrown away: it finds pages that were never touched and cores that sleep.
        round()?;
        tell(
            &mut output,
            &serde_json::json!({"ready": {"cores": description.cores}}),
        )?;
        for line in input.lines() {
            let line = line.map_err(|error| PlayerError::System("cannot read an order", error))?;
            if line.trim().is_empty() {
                continue;
            }
            let _: Order = serde_json::from_str(&line)
                .map_err(|error| PlayerError::Specification(error.to_string()))?;
            tell(&mut output, &round()?)?;
        }
        Ok(())
    })
}

struct Worker {
    core: usize,
    at: u32,
    walk: Arc<Vec<u8>>,
    together: Arc<Barrier>,
    multiplications: u64,
    steps: u64,
}

impl Worker {
    fn serve(mut self, orders: &Receiver<()>, done: &Sender<Result<OfCore, PlayerError>>) {
        let mut set = CpuSet::new();
        set.set(self.core);
        let pinned = sched_setaffinity(None, &set);
        while orders.recv().is_ok() {
            self.together.wait();
            let told = match pinned {
                Ok(()) => Ok(self.beat()),
                Err(error) => Err(PlayerError::System(
                    "cannot work on a core of the metronome",
                    error.into(),
                )),
            };
            if done.send(told).is_err() {
                return;
            }
        }
    }

    fn beat(&mut self) -> OfCore {
        let began_ns = monotonic_ns();
        let mut number = began_ns | 1;
        for _ in 0..self.multiplications {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
        }
        std::hint::black_box(number);
        let between_ns = monotonic_ns();
        for _ in 0..self.steps {
            self.at = next(&self.walk, self.at);
        }
        std::hint::black_box(self.at);
        OfCore {
            core: self.core,
            arithmetic_ns: between_ns - began_ns,
            memory_ns: monotonic_ns() - between_ns,
        }
    }
}

/// One cycle through all lines in random order (Sattolo's shuffle): each holds the number of the next.
fn cycle(lines: usize) -> Vec<u8> {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut order: Vec<u32> = (0..u32::try_from(lines).unwrap_or(u32::MAX)).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, source.random_range(0..last));
    }
    let mut walk = vec![0_u8; order.len() * LINE];
    for (line, next) in order.iter().enumerate() {
        walk[line * LINE..line * LINE + 4].copy_from_slice(&next.to_le_bytes());
    }
    walk
}

fn next(walk: &[u8], at: u32) -> u32 {
    let place = at as usize * LINE;
    u32::from_le_bytes([
        walk[place],
        walk[place + 1],
        walk[place + 2],
        walk[place + 3],
    ])
}

/// A file that has its page already and no name any more, so that it is gone whatever ends this program.
fn open(directory: &Path) -> Result<File, PlayerError> {
    let failed = |error| PlayerError::System("cannot make the metronome's file", error);
    let path = directory.join(format!(".pgassay-metronome.{}", std::process::id()));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(failed)?;
    remove_file(&path).map_err(failed)?;
    flush(&file, 1)?;
    Ok(file)
}

fn flush(file: &File, times: u32) -> Result<u64, PlayerError> {
    let failed = |error| PlayerError::System("cannot flush the metronome's file", error);
    let began_ns = monotonic_ns();
    for time in 0..times {
        #[allow(clippy::cast_possible_truncation)]
        let page = [time as u8; PAGE];
        file.write_all_at(&page, 0).map_err(failed)?;
        file.sync_data().map_err(failed)?;
    }
    Ok((monotonic_ns() - began_ns) / u64::from(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_walk_comes_by_every_line_once_before_it_returns() {
        let walk = cycle(1000);
        let (mut at, mut seen) = (0, HashSet::new());
        for _ in 0..1000 {
            assert!(seen.insert(at));
            at = next(&walk, at);
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn a_beat_tells_every_core_and_leaves_no_file() {
        let folder = std::env::temp_dir().join(format!("metronome-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let text = serde_json::json!({"cores": [0], "memory_bytes": 1 << 16, "steps": 9999, "flush_directory": folder});
        let description = Description::parse(&text.to_string()).unwrap();
        let mut out = Vec::new();
        serve(
            &description,
            &b"{\"beat\": {}}\n\n{\"beat\": {}}\n"[..],
            &mut out,
        )
        .unwrap();
        let lines: Vec<serde_json::Value> = out
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2]["cores"][0]["core"], 0);
        assert!(lines[2]["cores"][0]["arithmetic_ns"].as_u64() > Some(0));
        assert!(lines[2]["cores"][0]["memory_ns"].as_u64() > Some(0));
        assert!(lines[2]["flush_ns"].as_u64() > Some(0));
        assert!(lines[1]["ended_ns"].as_u64() <= lines[2]["began_ns"].as_u64());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for wrong in [
            r#"{"cores": []}"#,
            r#"{"cores": [0], "flushes": 0}"#,
            r#"{"core": 1}"#,
            r#"{"cores": [99999]}"#,
        ] {
            assert!(Description::parse(wrong).is_err(), "{wrong}");
        }
        let nowhere = Description::parse(
            r#"{"cores": [0], "memory_bytes": 4096, "flush_directory": "/nowhere"}"#,
        );
        assert!(serve(&nowhere.unwrap(), &b""[..], &mut Vec::new()).is_err());
        let no_core = Description::parse(r#"{"cores": [1000], "memory_bytes": 4096}"#);
        assert!(serve(&no_core.unwrap(), &b""[..], &mut Vec::new()).is_err());
    }
}
