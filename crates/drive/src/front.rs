//! The FUSE side: one folder with the file `disk` and one for each crash state, and requests passed on to the drive.
//!
//! The file is opened with FOPEN_DIRECT_IO and FOPEN_PARALLEL_DIRECT_WRITES: no page cache lies between the loop device
//! and the drive, and writes to the one file do not wait for each other. Its length never changes.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use flash::trace::Operation;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    Request, WriteFlags,
};

use crate::disk::{Clearing, Disk};
use crate::error::DriveError;
use crate::safety::Pulse;
use crate::timing::{Clock, waiting::stay_sharp};

/// The one file's name.
pub const FILE_NAME: &str = "disk";

/// The largest request: 256 pages, the kernel's usual limit.
const MAX_WRITE: u32 = 1 << 20;

const DISK: INodeNo = INodeNo(2);
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// What the file of a crash state is called.
pub fn cut_name(number: u64) -> String {
    format!("cut-{number}")
}

/// The inode of a crash state's file; the number of a cut is above that of the disk.
fn cut_of(name: &OsStr) -> Option<INodeNo> {
    let number: u64 = name.to_str()?.strip_prefix("cut-")?.parse().ok()?;
    DISK.0.checked_add(number).map(INodeNo)
}

/// The crash state that an inode is the file of.
fn cut_number(inode: INodeNo) -> Option<u64> {
    inode.0.checked_sub(DISK.0).filter(|&number| number > 0)
}

/// What the kernel talks to.
pub struct Front {
    disk: Arc<Disk>,
    clock: Option<Arc<Clock>>,
    pulse: Pulse,
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; MAX_WRITE as usize]);
}

impl Front {
    /// Passes requests on to `disk`, answers at the times of `clock` and tells the watchdog of each one answered.
    pub fn new(disk: Arc<Disk>, clock: Option<Arc<Clock>>, pulse: Pulse) -> Self {
        Self { disk, clock, pulse }
    }

    /// When a request comes, if that matters; then its thread goes before those of the host.
    fn now_ns(&self) -> u64 {
        let Some(clock) = &self.clock else { return 0 };
        stay_sharp();
        clock.now_ns()
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 2, 0),
            INodeNo(number) if self.serves(number) => (FileType::RegularFile, 0o600, 1, self.disk.capacity_bytes()),
            _ => return None,
        };
        let never = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: never,
            mtime: never,
            ctime: never,
            crtime: never,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Whether an inode is the disk or a crash state that has not been discarded.
    fn serves(&self, inode: u64) -> bool {
        inode == DISK.0 || (inode > DISK.0 && self.disk.cuts().contains(&(inode - DISK.0)))
    }

    /// Answers what a crash state did at once: it has no service times.
    fn answer_cut(&self, what: &str, outcome: Result<(), DriveError>, reply: ReplyEmpty) {
        self.pulse.answered();
        match outcome {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(self.failed(what, &error)),
        }
    }

    /// The errno of a failed request, which is counted; defects are logged.
    fn failed(&self, what: &str, error: &DriveError) -> Errno {
        self.disk.tallies.errors.add(1);
        self.disk.tallies.store_full.add(u64::from(matches!(error, DriveError::StoreFull)));
        if error.errno() == libc::EIO {
            eprintln!("pgassay-drive: {what}: {error}");
        }
        Errno::from_i32(error.errno())
    }

    /// Answers a request that came at `arrived_ns` and has been done: now, or when the modelled device would.
    fn answer(
        &self,
        operation: Operation,
        range: (u64, u64),
        arrived_ns: u64,
        outcome: Result<(), DriveError>,
        reply: ReplyEmpty,
    ) {
        match (outcome, &self.clock) {
            (Ok(()), Some(clock)) => {
                let pulse = self.pulse;
                let reply = Box::new(move || {
                    pulse.answered();
                    reply.ok();
                });
                clock.wrote(&self.disk, operation, range, arrived_ns, reply);
            }
            (Ok(()), None) => {
                self.pulse.answered();
                reply.ok();
            }
            (Err(error), _) => {
                self.pulse.answered();
                reply.error(self.failed(&format!("{operation:?}").to_lowercase(), &error));
            }
        }
    }
}

impl Filesystem for Front {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // The kernel answers with what it would allow; less is fine, too.
        let _ = config.set_max_write(MAX_WRITE);
        let _ = config.set_max_background(64);
        // Without it the kernel turns the loop device's asynchronous requests into one after another.
        let _ = config.add_capabilities(fuser::InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let wanted = if name == FILE_NAME { Some(DISK) } else { cut_of(name) };
        match wanted.and_then(|inode| self.attributes(inode)) {
            Some(attributes) if parent == INodeNo::ROOT => reply.entry(&FOR_EVER, &attributes, Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FOR_EVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.serves(inode.0) {
            let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
            reply.opened(FileHandle(0), flags);
        } else {
            reply.error(Errno::EISDIR);
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        BUFFER.with_borrow_mut(|buffer| {
            // A read past the end is short, as of any file.
            let there = self.disk.capacity_bytes().saturating_sub(offset).min(u64::from(size)) as usize;
            if buffer.len() < there {
                buffer.resize(there, 0);
            }
            if let Some(number) = cut_number(inode) {
                let outcome = self.disk.read_cut(number, offset, &mut buffer[..there]);
                self.pulse.answered();
                return match outcome {
                    Ok(()) => reply.data(&buffer[..there]),
                    Err(error) => reply.error(self.failed("read of a crash state", &error)),
                };
            }
            let arrived_ns = self.now_ns();
            let length = there as u64;
            let ticket = self.clock.as_ref().map(|clock| clock.read(&self.disk, offset, length, arrived_ns));
            let outcome = self.disk.read(offset, &mut buffer[..there]);
            match (outcome, self.clock.as_ref().zip(ticket)) {
                (Ok(()), Some((clock, ticket))) => {
                    let (pulse, data) = (self.pulse, buffer[..there].to_vec());
                    let reply = Box::new(move || {
                        pulse.answered();
                        reply.data(&data);
                    });
                    clock.done(ticket, reply);
                }
                (Ok(()), None) => {
                    self.pulse.answered();
                    reply.data(&buffer[..there]);
                }
                (Err(error), timed) => {
                    if let Some((clock, ticket)) = timed {
                        clock.failed(ticket);
                    }
                    self.pulse.answered();
                    reply.error(self.failed("read", &error));
                }
            }
        });
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if let Some(number) = cut_number(inode) {
            let outcome = self.disk.write_cut(number, offset, data);
            self.pulse.answered();
            return match outcome {
                Ok(()) => reply.written(data.len() as u32),
                Err(error) => reply.error(self.failed("write of a crash state", &error)),
            };
        }
        let arrived_ns = self.now_ns();
        let outcome = self.disk.write(offset, data);
        let written = data.len() as u32;
        if let (Ok(()), Some(clock)) = (&outcome, &self.clock) {
            let pulse = self.pulse;
            let reply = Box::new(move || {
                pulse.answered();
                reply.written(written);
            });
            return clock.wrote(&self.disk, Operation::Write, (offset, written.into()), arrived_ns, reply);
        }
        std::thread::sleep(self.disk.throttled_for());
        self.pulse.answered();
        match outcome {
            Ok(()) => reply.written(written),
            // Past the end there is no space, to programs that write to a device.
            Err(DriveError::PastEnd) => reply.error(Errno::ENOSPC),
            Err(error) => reply.error(self.failed("write", &error)),
        }
    }

    fn fsync(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        if cut_number(inode).is_some() {
            return self.answer_cut("flush of a crash state", Ok(()), reply);
        }
        let arrived_ns = self.now_ns();
        self.disk.flush();
        self.answer(Operation::Flush, (0, 0), arrived_ns, Ok(()), reply);
    }

    fn flush(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        // Closing a descriptor asks nothing of a drive.
        reply.ok();
    }

    fn fallocate(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // The loop device sends discards as PUNCH_HOLE and write-zeroes as ZERO_RANGE, both with KEEP_SIZE.
        let (clearing, operation) = match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE => (Clearing::Discard, Operation::Trim),
            libc::FALLOC_FL_ZERO_RANGE => (Clearing::Zeroes, Operation::WriteZeroes),
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        let there = self.disk.capacity_bytes().saturating_sub(offset).min(length);
        if let Some(number) = cut_number(inode) {
            let outcome = self.disk.clear_cut(number, offset, there, clearing);
            return self.answer_cut("clearing of a crash state", outcome, reply);
        }
        let arrived_ns = self.now_ns();
        let outcome = self.disk.clear(offset, there, clearing);
        self.answer(operation, (offset, there), arrived_ns, outcome, reply);
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if inode != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let mut entries = vec![
            (INodeNo::ROOT, FileType::Directory, ".".to_owned()),
            (INodeNo::ROOT, FileType::Directory, "..".to_owned()),
            (DISK, FileType::RegularFile, FILE_NAME.to_owned()),
        ];
        let cuts = self.disk.cuts();
        entries.extend(cuts.iter().map(|&cut| (INodeNo(DISK.0 + cut), FileType::RegularFile, cut_name(cut))));
        for (next, (inode, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.disk.capacity_bytes() / 4096, 0, 0, 1, 0, 4096, 255, 4096);
    }
}
