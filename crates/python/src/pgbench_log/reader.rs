//! Several log files read by several threads in one pass.
//!
//! The files are cut into pieces; threads take the next piece from a counter, each with a collector of its own, and the
//! collectors are merged at the end. Counts and sketches are sums, so the result does not depend on who read what; nor
//! does the error, which is the first malformed line of the first file that has one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::chunk::{BadLine, Buffer, Ended, line_number, read_chunk};
use super::collector::{CellKey, Collector, Grid, MAX_INTERVALS, merge_packed};
use super::error::{LogError, reason, shown, span_reason};
use super::line::{LineFormat, LineParser};
use super::tally::PackedTally;

/// Small enough to stay in the processor's cache, large enough that a read costs little.
pub const BUFFER_BYTES: usize = 256 * 1024;
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    pub format: LineFormat,
    pub interval_us: i64,
    /// The start of interval 0; the grid of whole intervals since the epoch if not given.
    pub start_us: Option<i64>,
    pub threads: usize,
    pub chunk_bytes: u64,
    pub buffer_bytes: usize,
}

impl ReadOptions {
    pub fn new(
        format: LineFormat,
        interval_us: i64,
        start_us: Option<i64>,
        threads: usize,
    ) -> Self {
        Self {
            format,
            interval_us,
            start_us,
            threads,
            chunk_bytes: CHUNK_BYTES,
            buffer_bytes: BUFFER_BYTES,
        }
    }

    fn grid(&self) -> Grid {
        Grid {
            origin_us: self.start_us.unwrap_or(0),
            interval_us: self.interval_us,
        }
    }
}

/// All that the logs said.
#[derive(Debug, Default, PartialEq)]
pub struct ReadLogs {
    pub cells: BTreeMap<CellKey, PackedTally>,
    /// The ends of the first and last transaction.
    pub times_us: Option<(i64, i64)>,
    pub lines: u64,
    /// Indexes of the files whose last line is torn.
    pub torn: Vec<usize>,
}

/// An open log and its size when it was opened.
pub struct LogFile {
    pub path: PathBuf,
    pub file: File,
    size: u64,
}

/// What one thread brings home.
pub struct Share {
    pub logs: ReadLogs,
    /// The piece that failed, and why.
    pub failure: Option<(usize, Failure)>,
}

/// Why a piece could not be counted.
pub enum Failure {
    Io(io::Error),
    Bad(BadLine),
}

/// Reads `paths`, each once.
pub fn read_logs(paths: &[PathBuf], options: &ReadOptions) -> Result<ReadLogs, LogError> {
    let files = paths
        .iter()
        .map(|path| open(path.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    let chunks = cut(&files, options.chunk_bytes);
    let next = AtomicUsize::new(0);
    let threads = options.threads.min(chunks.len());
    let shares: Vec<Share> = if threads <= 1 {
        vec![work(&files, &chunks, &next, options)]
    } else {
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| work(&files, &chunks, &next, options)))
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("a log reading thread panicked"))
                .collect()
        })
    };
    gather(shares, &files, &chunks, options)
}

fn open(path: PathBuf) -> Result<LogFile, LogError> {
    // Asked before opening: a pipe without a writer would keep us waiting, and one with a writer has no size.
    let opened = fs::metadata(&path).and_then(|metadata| match metadata.is_file() {
        true => File::open(&path),
        false => Err(io::Error::other("it is not a regular file")),
    });
    match opened.and_then(|file| Ok((file.metadata()?.len(), file))) {
        Ok((size, file)) => Ok(LogFile { path, file, size }),
        Err(source) => Err(LogError::Io { path, source }),
    }
}

/// File index and byte range of every piece, in order.
fn cut(files: &[LogFile], chunk_bytes: u64) -> Vec<(usize, Range<u64>)> {
    let pieces = |size: u64| {
        (0..size.div_ceil(chunk_bytes))
            .map(move |i| i * chunk_bytes..size.min((i + 1) * chunk_bytes))
    };
    files
        .iter()
        .enumerate()
        .flat_map(|(index, file)| pieces(file.size).map(move |range| (index, range)))
        .collect()
}

fn work(
    files: &[LogFile],
    chunks: &[(usize, Range<u64>)],
    next: &AtomicUsize,
    options: &ReadOptions,
) -> Share {
    let mut buffer = Buffer::new(options.buffer_bytes);
    let mut parser = LineParser::new(options.format);
    let mut collector = Collector::new(options.grid(), options.start_us.is_some());
    let (mut lines, mut torn, mut failure) = (0, Vec::new(), None);
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some((file_index, range)) = chunks.get(index) else {
            break;
        };
        let log = &files[*file_index];
        match read_chunk(
            &log.file,
            range.clone(),
            log.size,
            &mut buffer,
            &mut parser,
            &mut collector,
        ) {
            Ok(Ended::Whole { lines: more }) => lines += more,
            Ok(Ended::Torn { lines: more }) => {
                lines += more;
                torn.push(*file_index);
            }
            Ok(Ended::Bad(bad)) => failure = Some((index, Failure::Bad(bad))),
            Err(error) => failure = Some((index, Failure::Io(error))),
        }
        if failure.is_some() {
            // No new pieces for anybody; the earlier ones are finished, so that the first failure is known.
            next.store(chunks.len(), Ordering::Relaxed);
            break;
        }
    }
    let (cells, times_us) = collector.finish();
    Share {
        logs: ReadLogs {
            cells,
            times_us,
            lines,
            torn,
        },
        failure,
    }
}

/// The sum of all shares, or the failure that comes first in the files.
fn gather(
    shares: Vec<Share>,
    files: &[LogFile],
    chunks: &[(usize, Range<u64>)],
    options: &ReadOptions,
) -> Result<ReadLogs, LogError> {
    let (logs, failures): (Vec<_>, Vec<_>) = shares
        .into_iter()
        .map(|share| (share.logs, share.failure))
        .unzip();
    if let Some((index, failure)) = failures
        .into_iter()
        .flatten()
        .min_by_key(|(index, _)| *index)
    {
        return Err(explain(failure, &files[chunks[index].0], options));
    }
    let mut all = ReadLogs::default();
    for part in logs {
        all.lines += part.lines;
        all.torn.extend(part.torn);
        all.times_us = match (all.times_us, part.times_us) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (known, other) => known.or(other),
        };
        part.cells
            .into_iter()
            .for_each(|(key, tally)| merge_packed(&mut all.cells, key, tally));
    }
    all.torn.sort_unstable();
    check_span(&all, options)?;
    Ok(all)
}

/// The threads have seen to their own spans only.
fn check_span(logs: &ReadLogs, options: &ReadOptions) -> Result<(), LogError> {
    let intervals = || {
        logs.cells
            .keys()
            .map(|(interval, _)| *interval)
            .chain(options.start_us.map(|_| 0))
    };
    let span = intervals()
        .min()
        .zip(intervals().max())
        .map_or(0, |(first, last)| last.saturating_sub(first));
    if span < MAX_INTERVALS {
        return Ok(());
    }
    let (first, last) = logs.times_us.unwrap_or_default();
    Err(LogError::Span {
        times_us: options.start_us.into_iter().chain([first, last]).collect(),
    })
}

fn explain(failure: Failure, log: &LogFile, options: &ReadOptions) -> LogError {
    let path = log.path.clone();
    let bad = match failure {
        Failure::Io(source) => return LogError::Io { path, source },
        Failure::Bad(bad) => bad,
    };
    match line_number(&log.file, bad.offset, &mut Buffer::new(BUFFER_BYTES)) {
        Err(source) => LogError::Io { path, source },
        Ok(line_number) => {
            let reason = if bad.is_out_of_span {
                span_reason()
            } else {
                reason(&bad.line, options.format)
            };
            LogError::Line {
                path,
                line_number,
                text: shown(&bad.line),
                reason,
            }
        }
    }
}
