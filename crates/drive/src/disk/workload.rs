//! A recorded load in memory, drawn from for as long as ageing takes.
//!
//! A short recording tells which blocks are written, how often and in which sizes; it does not tell the order of the
//! hours before. Written again and again as it stands, each pass would overwrite just what the pass before laid down,
//! one superblock after the other, and garbage collection would find nothing live to move. So requests are drawn, each
//! as likely as any other: the independent reference model that the theory assumes (see [`flash::input`]). Only those
//! that continue one another keep their order (see `runs`): a drawn one stands for the next of its run, so that WAL,
//! which is written round and round, dies as it was written.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use codec::Codec;
use flash::random::Random;
use flash::trace::{Operation, Reader, Record};
use flash::{Drive, FlashError};

use super::recorder::trace_codec;
use super::runs::Runs;
use crate::error::DriveError;

/// Blocks handed to the model at once, about.
const BATCH: usize = 4096;

/// What the host asked for.
#[derive(Debug, Clone, Copy)]
struct Request {
    first_block: u32,
    blocks: u32,
    /// Where its sizes begin; `None` for a trim.
    sizes_from: Option<usize>,
    run: u32,
}

/// Requests of one run in their order: a part of [`Workload::order`], and whose turn it is.
#[derive(Debug, Clone, Copy)]
struct Run {
    from: u32,
    count: u32,
    turn: u32,
}

/// What was recorded, and how far each run has been written.
pub struct Workload {
    requests: Vec<Request>,
    sizes: Vec<u16>,
    /// Numbers of requests, run by run.
    order: Vec<u32>,
    runs: Vec<Run>,
}

impl Workload {
    /// Reads a trace of a drive that was no larger than `blocks` and compressed alike.
    pub fn read(path: &Path, blocks: u32, codec: Codec) -> Result<Self, DriveError> {
        let refused = |why: String| DriveError::refused(format!("cannot replay {}: {why}", path.display()), "");
        let file = File::open(path).map_err(|error| refused(error.to_string()))?;
        let mut reader =
            Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| refused(error.to_string()))?;
        let header = reader.header();
        if (header.codec, header.codec_level) != trace_codec(codec) {
            let recorded = header.codec.name();
            return Err(refused(format!("its sizes are those of {recorded}, not of the drive's {codec}")));
        }
        let mut workload = Self { requests: Vec::new(), sizes: Vec::new(), order: Vec::new(), runs: Vec::new() };
        let mut runs = Runs::new();
        let mut record = Record::default();
        while reader.read(&mut record).map_err(|error| refused(error.to_string()))? {
            let end = u64::from(record.first_block) + u64::from(record.blocks);
            if end > u64::from(blocks) {
                return Err(refused(format!("it writes block {}, the drive has {blocks}", end - 1)));
            }
            workload.push(&record, &mut runs);
        }
        if workload.sizes.is_empty() {
            return Err(refused("it writes nothing".into()));
        }
        if u32::try_from(workload.requests.len()).is_err() {
            return Err(refused(format!("it has {} requests, more than 2^32", workload.requests.len())));
        }
        workload.sort(runs.count());
        Ok(workload)
    }

    fn push(&mut self, record: &Record, runs: &mut Runs) {
        let (first_block, blocks) = (record.first_block, record.blocks);
        let sizes_from = self.sizes.len();
        let (sizes_from, run) = match record.operation {
            Operation::Write => {
                self.sizes.extend(&record.compressed_bytes);
                (Some(sizes_from), runs.next(first_block, first_block + blocks))
            }
            Operation::WriteZeroes => {
                self.sizes.resize(sizes_from + blocks as usize, 0);
                (Some(sizes_from), runs.next(first_block, first_block + blocks))
            }
            Operation::Trim => (None, runs.alone()),
            Operation::Flush | Operation::Read => return,
        };
        self.requests.push(Request { first_block, blocks, sizes_from, run });
    }

    /// Puts the requests of each run side by side, in the order in which they were recorded.
    fn sort(&mut self, runs: u32) {
        self.runs = vec![Run { from: 0, count: 0, turn: 0 }; runs as usize];
        for request in &self.requests {
            self.runs[request.run as usize].count += 1;
        }
        let mut from = 0;
        for run in &mut self.runs {
            run.from = from;
            from += run.count;
        }
        let mut next: Vec<u32> = self.runs.iter().map(|run| run.from).collect();
        self.order = vec![0; self.requests.len()];
        for (number, request) in self.requests.iter().enumerate() {
            let place = &mut next[request.run as usize];
            self.order[*place as usize] = number as u32;
            *place += 1;
        }
    }

    /// Writes in which the coldest tenth of the blocks that it writes is written once over.
    pub fn coldest_turn(&self) -> f64 {
        let writes = self.requests.iter().filter(|request| request.sizes_from.is_some());
        let mut written: Vec<u32> =
            writes.flat_map(|write| write.first_block..write.first_block + write.blocks).collect();
        written.sort_unstable();
        let mut counts: Vec<usize> = written.chunk_by(|one, next| one == next).map(<[u32]>::len).collect();
        counts.sort_unstable();
        counts.truncate(counts.len().div_ceil(10));
        let cold: usize = counts.iter().sum();
        counts.len() as f64 / cold as f64 * written.len() as f64
    }

    /// The next request.
    fn draw(&mut self, random: &mut Random) -> Request {
        let drawn = self.requests[random.below(self.requests.len() as u32) as usize];
        let run = &mut self.runs[drawn.run as usize];
        let number = self.order[(run.from + run.turn) as usize];
        run.turn = (run.turn + 1) % run.count;
        self.requests[number as usize]
    }

    /// Writes `count` blocks more, and the rest of the last request.
    pub fn write<D: Drive + ?Sized>(
        &mut self,
        drive: &mut D,
        random: &mut Random,
        count: u64,
    ) -> Result<(), FlashError> {
        let (mut lbas, mut sizes) = (Vec::with_capacity(2 * BATCH), Vec::with_capacity(2 * BATCH));
        let mut left = count;
        while left > 0 {
            let request = self.draw(random);
            match request.sizes_from {
                Some(from) => {
                    lbas.extend(request.first_block..request.first_block + request.blocks);
                    sizes.extend(&self.sizes[from..from + request.blocks as usize]);
                    left = left.saturating_sub(request.blocks.into());
                }
                None => {
                    write_all(drive, &mut lbas, &mut sizes)?;
                    drive.trim(request.first_block, request.blocks)?;
                }
            }
            if lbas.len() >= BATCH {
                write_all(drive, &mut lbas, &mut sizes)?;
            }
        }
        write_all(drive, &mut lbas, &mut sizes)
    }
}

fn write_all<D: Drive + ?Sized>(drive: &mut D, lbas: &mut Vec<u32>, sizes: &mut Vec<u16>) -> Result<(), FlashError> {
    drive.write_batch(lbas, sizes)?;
    lbas.clear();
    sizes.clear();
    Ok(())
}
