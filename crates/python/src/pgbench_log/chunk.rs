//! A piece of a log file, read through one small buffer and handed on line by line.
//!
//! A line belongs to the piece in which it starts, so pieces may be cut anywhere and read by different threads. Plain
//! positioned reads are used, not a memory map: mapped pages count as the process's memory, and a file cut short by
//! somebody else would be a bus error instead of an end of file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memchr_iter, memrchr};

use super::collector::Collector;
use super::line::LineParser;

/// Bytes that the parser may look at behind the last newline.
const PADDING: usize = 16;

/// One buffer of a thread, used for all its pieces.
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// A buffer that holds `capacity` bytes; no line may be longer.
    pub fn new(capacity: usize) -> Self {
        Self(vec![0; capacity + PADDING])
    }

    fn capacity(&self) -> usize {
        self.0.len() - PADDING
    }
}

/// How reading a piece ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// All its lines were counted.
    Whole { lines: u64 },
    /// The file's last line has no newline: its writer was killed, or is still writing. It is not counted.
    Torn { lines: u64 },
    /// A line that is not one, or whose time is out of bounds.
    Bad(BadLine),
}

/// Where a bad line starts, and up to a buffer of it.
#[derive(Debug, PartialEq, Eq)]
pub struct BadLine {
    pub offset: u64,
    pub line: Vec<u8>,
    pub is_out_of_span: bool,
}

/// Counts the lines that start in `range` of a file that ends at `size`.
pub fn read_chunk(
    file: &File,
    range: Range<u64>,
    size: u64,
    buffer: &mut Buffer,
    parser: &mut LineParser,
    collector: &mut Collector,
) -> io::Result<Ended> {
    let mut lines = 0;
    // From the byte before: if it is a newline, then a line starts right at the start of the piece.
    let mut is_inside_line = range.start > 0;
    let mut offset = range.start.saturating_sub(1);
    let mut filled = 0;
    loop {
        let wanted = buffer
            .capacity()
            .min(usize::try_from(size - offset).unwrap_or(usize::MAX));
        let got = read_at(file, &mut buffer.0[filled..wanted], offset + filled as u64)?;
        filled += got;
        let mut start = 0;
        if is_inside_line {
            start = memchr(b'\n', &buffer.0[..filled]).map_or(filled, |newline| newline + 1);
            is_inside_line = start == filled && (start == 0 || buffer.0[start - 1] != b'\n');
        }
        let end =
            memrchr(b'\n', &buffer.0[start..filled]).map_or(start, |newline| start + newline + 1);
        // Only the last piece of the range may have lines beyond it.
        let own_end = range.end - offset;
        while start < end && (start as u64) < own_end {
            let parsed = parser.parse(&buffer.0, start);
            let added = parsed.map(|(transaction, next)| (collector.add(&transaction), next));
            match added {
                Some((Ok(()), next)) => (start, lines) = (next, lines + 1),
                other => return Ok(bad_line(offset, start, &buffer.0[..end], other.is_some())),
            }
        }
        if start as u64 >= own_end {
            return Ok(Ended::Whole { lines });
        }
        if got == 0 {
            let is_torn = start < filled && !is_inside_line;
            return Ok(if is_torn {
                Ended::Torn { lines }
            } else {
                Ended::Whole { lines }
            });
        }
        if start == 0 && filled == buffer.capacity() {
            return Ok(bad_line(offset, 0, &buffer.0[..filled], false));
        }
        buffer.0.copy_within(start..filled, 0);
        offset += start as u64;
        filled -= start;
    }
}

/// The number of the line that starts at `offset`, counted from 1.
pub fn line_number(file: &File, offset: u64, buffer: &mut Buffer) -> io::Result<u64> {
    let (mut position, mut newlines) = (0, 0);
    while position < offset {
        let wanted = buffer
            .capacity()
            .min(usize::try_from(offset - position).unwrap_or(usize::MAX));
        let got = read_at(file, &mut buffer.0[..wanted], position)?;
        if got == 0 {
            break;
        }
        newlines += memchr_iter(b'\n', &buffer.0[..got]).count() as u64;
        position += got as u64;
    }
    Ok(newlines + 1)
}

fn bad_line(offset: u64, start: usize, bytes: &[u8], is_out_of_span: bool) -> Ended {
    let length = memchr(b'\n', &bytes[start..]).unwrap_or(bytes.len() - start);
    let line = bytes[start..start + length].to_vec();
    Ended::Bad(BadLine {
        offset: offset + start as u64,
        line,
        is_out_of_span,
    })
}

/// Fills as much of `bytes` as the file has; 0 at its end.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read_at(&mut bytes[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
