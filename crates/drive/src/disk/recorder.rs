//! Recording: what the host writes, with the sizes after compression, in the flash model's trace format.
//!
//! Requests are noted in the order in which the model saw them and written by a thread of its own, so that a slow disk
//! does not slow the drive. If that thread falls too far behind, the recording ends with an error and the drive goes
//! on; the trace gets no end, so that no reader takes it for a whole one.

use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use codec::Codec;
use flash::trace::{Codec as TraceCodec, Header, Operation, Record, TraceError, Writer};
use serde::Serialize;

use crate::error::DriveError;

/// Requests noted but not yet written: most of a second at the highest rates that were seen.
const QUEUE: usize = 1 << 16;

/// A recording under way.
pub struct Recorder {
    path: PathBuf,
    started: Instant,
    /// None once the thread could not keep up.
    sender: Option<SyncSender<Record>>,
    fell_behind: Arc<AtomicBool>,
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
        Self::queued(path, codec, drive_blocks, QUEUE)
    }

    fn queued(path: &Path, codec: Codec, drive_blocks: u32, queue: usize) -> Result<Self, DriveError> {
        let failed = |error: String| DriveError::refused(format!("cannot record to {}: {error}", path.display()), "");
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = open.map_err(|error| failed(error.to_string()))?;
        let (codec, codec_level) = trace_codec(codec);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let header =
            Header { codec, codec_level, drive_blocks: drive_blocks.into(), start_unix_ns: since.as_nanos() as u64 };
        let writer = Writer::new(BufWriter::with_capacity(1 << 20, file), header);
        let writer = writer.map_err(|error| failed(error.to_string()))?;
        let (sender, receiver) = sync_channel(queue);
        let fell_behind = Arc::new(AtomicBool::new(false));
        let broken = Arc::clone(&fell_behind);
        let thread = thread::Builder::new().name("record".into()).spawn(move || write(writer, &receiver, &broken));
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        Ok(Self { path: path.to_owned(), started: Instant::now(), sender: Some(sender), fell_behind, thread })
    }

    /// Where it is written to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a request. The caller holds the model's lock, so that time does not fall.
    pub fn note(&mut self, operation: Operation, first_block: u32, blocks: u32, sizes: &[u16]) {
        let Some(sender) = self.sender.take() else { return };
        let record = Record {
            time_ns: self.started.elapsed().as_nanos() as u64,
            operation,
            stream: 0,
            first_block,
            blocks,
            compressed_bytes: sizes.to_vec(),
        };
        if sender.try_send(record).is_ok() {
            self.sender = Some(sender);
        } else {
            // Before the sender goes, whose end the thread waits for.
            self.fell_behind.store(true, Ordering::SeqCst);
            eprintln!("pgassay-drive: the recording {} is not complete any more", self.path.display());
        }
    }

    /// Ends the recording and says what it holds.
    pub fn finish(mut self) -> Result<Recorded, DriveError> {
        let kept_up = self.sender.take().is_some();
        let shown = self.path.display().to_string();
        let broken =
            |why: &str, hint: &str| DriveError::refused(format!("the recording {shown} is not complete: {why}"), hint);
        match self.thread.join() {
            Ok(Ok(recorded)) if kept_up => Ok(recorded),
            Ok(Ok(_)) => Err(broken("more came than could be written", "record to a faster disk, or a slower load")),
            Ok(Err(error)) => Err(broken(&error.to_string(), "")),
            Err(_) => Err(broken("its thread has panicked", "")),
        }
    }
}

fn write(
    mut writer: Writer<BufWriter<File>>,
    receiver: &Receiver<Record>,
    fell_behind: &AtomicBool,
) -> Result<Recorded, TraceError> {
    let mut recorded = Recorded::default();
    for record in receiver {
        writer.push(&record)?;
        recorded.records += 1;
        if matches!(record.operation, Operation::Write | Operation::WriteZeroes) {
            recorded.written_blocks += u64::from(record.blocks);
        }
    }
    if fell_behind.load(Ordering::SeqCst) {
        writer.flush()?;
    } else {
        writer.finish()?;
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use codec::Codec;
    use flash::trace::{Operation, Reader, Record, TraceError};

    use super::Recorder;

    /// A trace of 100 000 requests through a queue of this length, and what was said at its end.
    fn recorded(name: &str, queue: usize) -> (Result<u64, String>, Result<u64, TraceError>) {
        let path = std::env::temp_dir().join(format!("pgassay-{name}-{}", std::process::id()));
        let mut recorder = Recorder::queued(&path, Codec::Zstd(1), 1000, queue).unwrap();
        (0..100_000).for_each(|number| recorder.note(Operation::Write, number % 1000, 1, &[100]));
        let said = recorder.finish().map(|recorded| recorded.records).map_err(|error| error.to_string());
        let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
        let (mut record, mut count) = (Record::default(), 0);
        let read = loop {
            match reader.read(&mut record) {
                Ok(true) => count += 1,
                Ok(false) => break Ok(count),
                Err(error) => break Err(error),
            }
        };
        fs::remove_file(&path).unwrap();
        (said, read)
    }

    #[test]
    fn a_recording_that_kept_up_is_whole() {
        let (said, read) = recorded("whole", 100_000);
        assert_eq!((said, read.unwrap()), (Ok(100_000), 100_000));
    }

    #[test]
    fn one_that_fell_behind_says_so_and_cannot_be_taken_for_a_whole_one() {
        // Without a queue the thread would have to wait for each request just then.
        let (said, read) = recorded("behind", 0);
        assert!(said.unwrap_err().contains("more came than could be written"));
        assert!(matches!(read, Err(TraceError::NoTrailer { .. })), "{read:?}");
    }
}
