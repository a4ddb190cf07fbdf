//! A recorded load in memory, to be written to the flash model over and over.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use codec::Codec;
use flash::trace::{Operation, Reader, Record};
use flash::{Drive, FlashError};

use super::recorder::trace_codec;
use crate::error::DriveError;

/// Blocks handed to the model at once.
const BATCH: usize = 4096;

/// What happens between two stretches of writes.
#[derive(Debug, Clone, Copy)]
struct Trim {
    /// Writes before it.
    after: usize,
    lba: u32,
    count: u32,
}

/// Writes and trims in their order.
pub struct Workload {
    lbas: Vec<u32>,
    sizes: Vec<u16>,
    trims: Vec<Trim>,
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
        let mut workload = Self { lbas: Vec::new(), sizes: Vec::new(), trims: Vec::new() };
        let mut record = Record::default();
        while reader.read(&mut record).map_err(|error| refused(error.to_string()))? {
            let end = u64::from(record.first_block) + u64::from(record.blocks);
            if end > u64::from(blocks) {
                return Err(refused(format!("it writes block {}, the drive has {blocks}", end - 1)));
            }
            workload.push(&record);
        }
        if workload.lbas.is_empty() {
            return Err(refused("it writes nothing".into()));
        }
        Ok(workload)
    }

    fn push(&mut self, record: &Record) {
        let range = record.first_block..record.first_block + record.blocks;
        match record.operation {
            Operation::Write => {
                self.lbas.extend(range);
                self.sizes.extend(&record.compressed_bytes);
            }
            Operation::WriteZeroes => {
                self.lbas.extend(range);
                self.sizes.resize(self.lbas.len(), 0);
            }
            Operation::Trim => {
                self.trims.push(Trim { after: self.lbas.len(), lba: record.first_block, count: record.blocks });
            }
            Operation::Flush | Operation::Read => {}
        }
    }

    /// Writes `count` blocks more, from `position` on and around the end.
    pub fn write<D: Drive + ?Sized>(&self, drive: &mut D, position: &mut usize, count: u64) -> Result<(), FlashError> {
        let mut left = count;
        while left > 0 {
            let next = self.trims.partition_point(|trim| trim.after <= *position);
            let until = self.trims.get(next).map_or(self.lbas.len(), |trim| trim.after);
            let end = until.min(*position + BATCH).min(*position + left as usize);
            drive.write_batch(&self.lbas[*position..end], &self.sizes[*position..end])?;
            left -= (end - *position) as u64;
            *position = end;
            let mut due = self.trims.iter().skip(next).take_while(|trim| trim.after == end);
            due.try_for_each(|trim| drive.trim(trim.lba, trim.count))?;
            if end == self.lbas.len() {
                *position = 0;
                let mut first = self.trims.iter().take_while(|trim| trim.after == 0);
                first.try_for_each(|trim| drive.trim(trim.lba, trim.count))?;
            }
        }
        Ok(())
    }
}
