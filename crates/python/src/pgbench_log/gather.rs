//! What the reading threads bring home, put together: one result, or the first failure explained.

use std::ops::Range;

use super::chunk::{Buffer, line_number};
use super::collector::{MAX_INTERVALS, merge_packed};
use super::error::{LogError, reason, shown, span_reason};
use super::reader::{BUFFER_BYTES, Failure, LogFile, ReadLogs, ReadOptions, Share};

/// The sum of all shares, or the failure that comes first in the files.
pub fn gather(
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
