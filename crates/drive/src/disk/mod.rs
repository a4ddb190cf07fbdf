//! The drive itself, without its host: blocks in, blocks out, every write passed to the flash model.
//!
//! Who may do what at the same time:
//! * Reads take no lock but the *gate*, shared (see [`crate::store::segments`]).
//! * Writes, discards and zeroes also hold the *stripes* of their blocks, so that model and store agree on the order of
//!   writes to the same block; the model is locked inside a stripe, once a request.
//! * Snapshots and all that needs a standing drive hold the gate alone.
//! * Room is made before any stripe is taken, since the cleaner takes stripes.
//!
//! | concept | file |
//! |---|---|
//! | reads | `read` |
//! | writes, discards, zeroes | `write` |
//! | emptying segments | `clean` |
//! | a host slowed down for want of flash | `throttle` |
//! | snapshots | `snapshots` |
//! | a volatile write cache | `cache` |
//! | crash states after a loss of power | [`cuts`], `crash_state` |
//! | all states but the present one | `kept` |
//! | a used drive in seconds | [`ageing`], `workload`, `runs` |
//! | recording what the host writes | `recorder` |
//! | whether everything fits together | `check` |
//! | counts and times | [`tallies`] |

pub mod ageing;
mod cache;
mod check;
mod clean;
mod crash_state;
pub mod cuts;
mod kept;
mod read;
mod recorder;
mod runs;
mod scratch;
mod snapshots;
mod stripes;
pub mod tallies;
mod throttle;
mod workload;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use codec::Codec;
use flash::trace::Operation;
use parking_lot::{Mutex, RwLock};

use cache::WriteCache;
pub use check::CheckReport;
use cuts::Armed;
use kept::Kept;
use recorder::{Recorded, Recorder};
pub use snapshots::Snapshot;
use stripes::Stripes;
use tallies::Tallies;
use throttle::Throttle;
pub use write::Clearing;

use crate::error::DriveError;
use crate::model::Model;
use crate::persistence::{Flushes, Persistence};
use crate::store::arena::Arena;
use crate::store::file::FileStore;
use crate::store::{BLOCK_BYTES, Map, Media, Segments};

/// What a drive is made of.
pub struct Parts {
    /// Bytes that the host sees, a multiple of 4096.
    pub capacity_bytes: u64,
    /// What blocks are compressed with.
    pub codec: Codec,
    /// Whether contents are kept at all.
    pub keeps_contents: bool,
    /// Bytes for contents, reserved now.
    pub store_bytes: u64,
    /// The file that they are kept in; memory if there is none.
    pub store_file: Option<PathBuf>,
    /// The modelled flash.
    pub model: Model,
    /// What survives a loss of power.
    pub persistence: Persistence,
}

/// A drive.
pub struct Disk {
    blocks: u32,
    codec: Codec,
    keeps_contents: bool,
    map: Map,
    segments: Segments,
    model: Mutex<Model>,
    /// Locked after the model.
    recorder: Mutex<Option<Recorder>>,
    is_recording: AtomicBool,
    stripes: Stripes,
    cleaner: Mutex<()>,
    throttle: Throttle,
    gate: RwLock<Kept>,
    persistence: Persistence,
    armed: Mutex<Option<Armed>>,
    is_armed: AtomicBool,
    next_cut: AtomicU64,
    /// Counts and times.
    pub tallies: Tallies,
}

impl Disk {
    /// A drive whose memory has been taken.
    pub fn new(parts: Parts) -> Result<Self, DriveError> {
        let segment_bytes = Segments::suitable_bytes(parts.store_bytes);
        // The cleaner and the two open segments need theirs.
        let count = parts.store_bytes.div_ceil(segment_bytes as u64) + 4;
        let bytes = usize::try_from(count * segment_bytes as u64).map_err(|_| too_large())?;
        let media = match &parts.store_file {
            None => Media::Memory(Arena::new(bytes).map_err(|error| no_room("memory", bytes, error))?),
            Some(path) => {
                let file = FileStore::new(path, bytes as u64, segment_bytes);
                Media::File(file.map_err(|error| no_room(&path.display().to_string(), bytes, error))?)
            }
        };
        let blocks = u32::try_from(parts.capacity_bytes / BLOCK_BYTES as u64).map_err(|_| too_large())?;
        let count = u32::try_from(count).map_err(|_| too_large())?;
        let throttled_bytes_per_second = parts.model.throttled_bytes_per_second();
        Ok(Self {
            blocks,
            codec: parts.codec,
            keeps_contents: parts.keeps_contents,
            map: Map::new(blocks as usize),
            segments: Segments::new(media, segment_bytes, count),
            model: Mutex::new(parts.model),
            recorder: Mutex::new(None),
            is_recording: AtomicBool::new(false),
            stripes: Stripes::new(),
            cleaner: Mutex::new(()),
            throttle: Throttle::new(throttled_bytes_per_second),
            gate: RwLock::new(Kept {
                cache: parts.persistence.is_volatile().then(|| WriteCache::new(Map::new(blocks as usize))),
                ..Kept::default()
            }),
            persistence: parts.persistence,
            armed: Mutex::new(None),
            is_armed: AtomicBool::new(false),
            next_cut: AtomicU64::new(1),
            tallies: Tallies::default(),
        })
    }

    /// Bytes that the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.blocks) * BLOCK_BYTES as u64
    }

    /// What blocks are compressed with.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Where contents are kept: `memory`, `file`, or `null`.
    pub fn store_kind(&self) -> &'static str {
        if self.keeps_contents { self.segments.media_kind() } else { "null" }
    }

    /// Makes earlier writes durable: empties a volatile cache, unless the drive lies about it. A protected one has
    /// nothing to do but to count.
    pub fn flush(&self) {
        self.tallies.flushes.add(1);
        match self.persistence.flush {
            _ if !self.persistence.is_volatile() => {}
            Flushes::Honest => self.destage(&self.gate.write(), 0),
            Flushes::DataFirst => self.destage_data(&self.gate.write()),
            Flushes::Lies => {}
        }
        if self.is_recording.load(Ordering::Relaxed) {
            let _model = self.model.lock();
            self.note(Operation::Flush, 0, 0, &[]);
        }
    }

    /// What survives a loss of power.
    pub fn persistence(&self) -> &Persistence {
        &self.persistence
    }

    /// Whether the next writes are looked at, since a cut waits for one.
    fn set_armed(&self, is_armed: bool) {
        self.is_armed.store(is_armed, Ordering::SeqCst);
    }

    /// Starts to record into a new file, or ends the recording; says what the one that ended holds.
    pub fn record(&self, path: Option<&Path>) -> Result<Option<Recorded>, DriveError> {
        let started = match path {
            Some(path) => Some(Recorder::start(path, self.codec, self.blocks)?),
            None => None,
        };
        let model = self.model.lock();
        self.is_recording.store(started.is_some(), Ordering::Relaxed);
        let ended = std::mem::replace(&mut *self.recorder.lock(), started);
        drop(model);
        ended.map(Recorder::finish).transpose()
    }

    /// Where the recording under way is written to.
    pub fn recording(&self) -> Option<PathBuf> {
        self.recorder.lock().as_ref().map(|recorder| recorder.path().to_owned())
    }

    /// Records a request, if any is to be. The model is locked.
    fn note(&self, operation: Operation, first_block: u32, blocks: u32, sizes: &[u16]) {
        if self.is_recording.load(Ordering::Relaxed) {
            if let Some(recorder) = self.recorder.lock().as_mut() {
                recorder.note(operation, first_block, blocks, sizes);
            }
        }
    }

    /// Lets `look` see the modelled flash between two writes.
    pub fn with_model<T>(&self, look: impl FnOnce(&mut Model) -> T) -> T {
        look(&mut self.model.lock())
    }

    /// Bytes of memory that the present state takes beside its contents: the map and the model's tables.
    pub fn tables_bytes(&self) -> u64 {
        self.map.memory_bytes() + self.model.lock().memory_bytes()
    }

    /// Bytes of the store that are taken, free, and in one segment.
    pub fn store_use(&self) -> StoreUse {
        let live = self.segments.live_bytes();
        StoreUse {
            segments: live.len() as u64,
            free_segments: self.segments.free_segments() as u64,
            segment_bytes: self.segments.segment_bytes() as u64,
            live_bytes: live.iter().map(|&bytes| u64::from(bytes)).sum(),
        }
    }

    /// Blocks `first` to `first + count` if the drive has them.
    fn range(&self, offset: u64, length: u64) -> Result<std::ops::Range<u64>, DriveError> {
        let end = offset.checked_add(length).filter(|&end| end <= self.capacity_bytes());
        end.map(|end| offset..end).ok_or(DriveError::PastEnd)
    }
}

/// How full the store is.
#[derive(Debug, Clone, Copy)]
pub struct StoreUse {
    /// All segments.
    pub segments: u64,
    /// Those with nothing in them.
    pub free_segments: u64,
    /// Bytes of each.
    pub segment_bytes: u64,
    /// Bytes that the drive or a snapshot refers to, headers included.
    pub live_bytes: u64,
}

fn no_room(place: &str, bytes: usize, error: io::Error) -> DriveError {
    let hint = match error.raw_os_error() {
        Some(libc::ENOMEM | libc::EAGAIN | libc::EFAULT) => "make store_bytes smaller, or keep the store in a file",
        Some(libc::ENOSPC) => "make store_bytes smaller, or choose a file system with more room",
        Some(libc::EEXIST) => "remove the file, or choose another name",
        Some(libc::EINVAL | libc::EOPNOTSUPP) => "the file system must know O_DIRECT and fallocate: ext4 and xfs do",
        _ => "",
    };
    DriveError::refused(format!("cannot reserve {bytes} bytes in {place}: {error}"), hint)
}

fn too_large() -> DriveError {
    DriveError::io("cannot make the drive", io::Error::from_raw_os_error(libc::EFBIG))
}
