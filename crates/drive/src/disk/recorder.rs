//! Recording: what the host writes, with the sizes after compression, in the flash model's trace format.
//!
//! Requests are noted in the order in which the model saw them and written by a thread of its own, so that a slow disk
//! does not slow the drive. If that thread falls too far behind, the recording ends with an error, the drive goes on.

use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use codec::Codec;
use flash::trace::{Codec as TraceCodec, Header, Operation, Record, TraceError, Writer};
use serde::Serialize;

use crate::error::DriveError;

/// Requests noted but not yet written.
const QUEUE: usize = 1 << 14;

/// A recording under way.
pub struct Recorder {
    path: PathBuf,
    started: Instant,
    /// None once the thread could not keep up.
    sender: Option<SyncSender<Record>>,
    thread: JoinHandle<Result<Recorded, TraceError>>,
}

/// What has been recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Requests.
    pub records: u64,
    /// Blocks written, zeroes included.
    pub written_blocks: u64,
}

/// How the trace format calls a codec.
pub fn trace_codec(codec: Codec) -> (TraceCodec, i8) {
    match codec {
        Codec::None => (TraceCodec::None, 0),
        Codec::Lz4 => (TraceCodec::Lz4, 0),
        Codec::Deflate(level) => (TraceCodec::Deflate, level as i8),
        Codec::Zstd(level) => (TraceCodec::Zstd, level as i8),
    }
}

impl Recorder {
    /// Starts a recording into a new file.
    pub fn start(path: &Path, codec: Codec, drive_blocks: u32) -> Result<Self, DriveError> {
        let failed = |error: String| DriveError::refused(format!("cannot record to {}: {error}", path.display()), "");
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = open.map_err(|error| failed(error.to_string()))?;
        let (codec, codec_level) = trace_codec(codec);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let header =
            Header { codec, codec_level, drive_blocks: drive_blocks.into(), start_unix_ns: since.as_nanos() as u64 };
        let writer = Writer::new(BufWriter::with_capacity(1 << 20, file), header);
        let writer = writer.map_err(|error| failed(error.to_string()))?;
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("record".into()).spawn(move || write(writer, &receiver));
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        Ok(Self { path: path.to_owned(), started: Instant::now(), sender: Some(sender), thread })
    }

    /// Where it is written to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a request. The caller holds the model's lock, so that time does not fall.
    pub fn note(&mut self, operation: Operation, first_block: u32, blocks: u32, sizes: &[u16]) {
        let record = Record {
            time_ns: self.started.elapsed().as_nanos() as u64,
            operation,
            stream: 0,
            first_block,
            blocks,
            compressed_bytes: sizes.to_vec(),
        };
        let sent = self.sender.as_ref().is_some_and(|sender| sender.try_send(record).is_ok());
        if !sent {
            self.sender = None;
        }
    }

    /// Ends the recording and says what it holds.
    pub fn finish(mut self) -> Result<Recorded, DriveError> {
        let kept_up = self.sender.take().is_some();
        let shown = self.path.display().to_string();
        let broken = |why: &str| DriveError::refused(format!("the recording {shown} is not complete: {why}"), "");
        match self.thread.join() {
            Ok(Ok(recorded)) if kept_up => Ok(recorded),
            Ok(Ok(_)) => Err(broken("the disk it is written to is too slow")),
            Ok(Err(error)) => Err(broken(&error.to_string())),
            Err(_) => Err(broken("its thread has panicked")),
        }
    }
}

fn write(mut writer: Writer<BufWriter<File>>, receiver: &Receiver<Record>) -> Result<Recorded, TraceError> {
    let mut recorded = Recorded::default();
    for record in receiver {
        writer.push(&record)?;
        recorded.records += 1;
        if matches!(record.operation, Operation::Write | Operation::WriteZeroes) {
            recorded.written_blocks += u64::from(record.blocks);
        }
    }
    writer.finish()?;
    Ok(recorded)
}
