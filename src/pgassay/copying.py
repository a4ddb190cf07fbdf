"""A cluster's files, copied whole: by reference where possible, else by copy_file_range(2) in a few threads.

Modes, owners and symbolic links within the tree are kept; the copy is on the drive when it is done (syncfs(2)), so that
its write-back does not fall into the trial that follows. Servers' accounts may write to what is copied, so every level
is opened by descriptor (see `files`). The copy is closed to them until it is whole: its top directory is handed over
last.
"""

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from pgassay.files import Directory, UntrustedError, libc

THREADS = 4
_PID_FILE = "postmaster.pid"
_PIECE_BYTES = 1 << 30
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CANNOT = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF})


@dataclass(frozen=True)
class Copied:
    """What a copy did: how many files, and how many of them share their blocks with the original."""

    files: int
    shared: int


def copy_tree(source: Path, target: Path, share: bool) -> Copied:
    """Copy the directory `source` to `target`, which must not exist; raises as `copy_into`, and `target` is partial.

    Nothing is flushed: a clone is often removed before the kernel would write it.
    """
    with Directory.open(source) as original, Directory.open(target.parent) as parent:
        parent.mkdir(target.name)
        with parent.inner(target.name) as copy:
            return copy_into(original, copy, share, written_back=False)


def copy_into(
    source: Directory,
    target: Directory,
    share: bool,
    *,
    written_back: bool = True,
) -> Copied:
    """Fill the empty directory `target` with what is in `source`, except a server's `postmaster.pid`.

    Raises `OSError`, and `UntrustedError` for a link that leads out, or for a hard link to a file that does not
    belong to the owner of `source`; what lies elsewhere is not changed.
    """
    target.give_self((os.geteuid(), os.getegid()) if os.geteuid() == 0 else None, 0o700)
    if target.names():
        raise UntrustedError(f'"{target.path}" is not empty')
    with ThreadPoolExecutor(THREADS) as pool:
        copying = _Copying(source, share, pool, written_back)
        copying.directory(source.descriptor, target.descriptor, "")
    if written_back:
        _sync(target.descriptor, target.path)
    return Copied(copying.files, copying.shared)


def size_bytes(directory: Path) -> int:
    """The room that a tree takes on its drive; links are not followed."""
    blocks = os.lstat(directory).st_blocks
    for _, folders, files, descriptor in os.fwalk(directory, follow_symlinks=False):
        for name in (*folders, *files):
            blocks += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks
    return blocks * 512


class _Copying:
    """One call of `copy_into`; counts what it copies."""

    def __init__(
        self,
        source: Directory,
        share: bool,
        pool: ThreadPoolExecutor,
        written_back: bool,
    ) -> None:
        self.files = 0
        self.shared = 0
        self._path = source.path
        self._top = os.fstat(source.descriptor)
        self._share = share
        self._pool = pool
        self._written_back = written_back
        self._root = os.geteuid() == 0

    def directory(self, source: int, target: int, where: str) -> None:
        """Copy what is in one directory; `where` is its path from the top, with a slash behind it."""
        jobs: list[Future[None]] = []
        try:
            with os.scandir(source) as listed:
                entries = list(listed)
            for entry in entries:
                path = where + entry.name
                if path == _PID_FILE:
                    continue
                if entry.is_symlink():
                    destination = os.readlink(entry.name, dir_fd=source)
                    if destination.startswith("/") or ".." in destination.split("/"):
                        raise UntrustedError(
                            f'symbolic link "{self._path / path}" leads out of the cluster: it cannot be cloned'
                        )
                    os.symlink(destination, entry.name, dir_fd=target)
                elif entry.is_dir(follow_symlinks=False):
                    inner = os.open(entry.name, _DIRECTORY, dir_fd=source)
                    try:
                        os.mkdir(entry.name, 0o700, dir_fd=target)
                        made = os.open(entry.name, _DIRECTORY, dir_fd=target)
                        try:
                            self.directory(inner, made, f"{path}/")
                        finally:
                            os.close(made)
                    finally:
                        os.close(inner)
                elif entry.is_file(follow_symlinks=False):
                    self.files += 1
                    if self._share:
                        self.shared += self._share_file(source, target, entry.name, path)
                    else:
                        jobs.append(self._pool.submit(self._copy_file, source, target, entry.name, path))
        finally:
            wait(jobs)  # they use the descriptors, which are closed next
        for job in jobs:
            job.result()
        facts = os.fstat(source)
        if self._root:
            os.fchown(target, facts.st_uid, facts.st_gid)
        os.fchmod(target, stat.S_IMODE(facts.st_mode))

    def _open_pair(self, source: int, target: int, name: str, path: str) -> tuple[int, int, os.stat_result]:
        """Open a file and its copy-to-be, which has the mode and owner already."""
        reading = os.open(name, _FILE, dir_fd=source)
        try:
            facts = os.fstat(reading)
            if not stat.S_ISREG(facts.st_mode):
                raise UntrustedError(f'"{self._path / path}" is not a regular file any more')
            _require_own(facts, self._top, self._path / path)
            writing = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target)
        except BaseException:
            os.close(reading)
            raise
        try:
            if self._root:
                os.fchown(writing, facts.st_uid, facts.st_gid)
            mode = stat.S_IMODE(facts.st_mode)
            if mode != 0o600:
                os.fchmod(writing, mode)
        except BaseException:
            os.close(reading)
            os.close(writing)
            raise
        return reading, writing, facts

    def _share_file(self, source: int, target: int, name: str, path: str) -> bool:
        """Clone one file by reference, or copy it if just this one cannot be (no-copy-on-write files on btrfs)."""
        reading, writing, facts = self._open_pair(source, target, name, path)
        try:
            clone_contents(reading, writing)
        except OSError:
            _copy_contents(reading, writing, facts.st_size)
            return False
        else:
            return True
        finally:
            os.close(reading)
            os.close(writing)

    def _copy_file(self, source: int, target: int, name: str, path: str) -> None:
        reading, writing, facts = self._open_pair(source, target, name, path)
        try:
            _copy_contents(reading, writing, facts.st_size)
            if self._written_back:
                begin(writing)
        finally:
            os.close(reading)
            os.close(writing)


def _require_own(facts: os.stat_result, top: os.stat_result, path: Path) -> None:
    if facts.st_nlink > 1 and facts.st_uid != top.st_uid:
        raise UntrustedError(
            f'"{path}" is a hard link to a file of user {facts.st_uid}, while the directory belongs to user'
            f" {top.st_uid}: it is not copied",
            "look who made it, and remove it",
        )


def _copy_contents(reading: int, writing: int, size: int) -> None:
    """In the kernel where it can (not between all file systems, and not outside Linux), else through memory."""
    done = 0
    if hasattr(os, "copy_file_range"):
        try:
            while done < size:
                count = os.copy_file_range(reading, writing, min(size - done, _PIECE_BYTES))
                if count == 0:
                    break
                done += count
        except OSError as failure:
            if done or failure.errno not in _CANNOT:
                raise
    if done < size:
        with os.fdopen(os.dup(reading), "rb") as source, os.fdopen(os.dup(writing), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)


_FICLONE = 0x40049409


def clone_contents(source: int, target: int) -> None:
    """Give the open file `target` the contents of `source`, sharing blocks; raises `OSError` where that cannot be."""
    fcntl.ioctl(target, _FICLONE, source)


def supported(directory: Path, origin: Path | None = None) -> bool:
    """Can files in this directory be cloned by reference (from `origin`, if they lie elsewhere)?

    Tried on two small files, which are gone afterwards.
    """
    with tempfile.TemporaryFile(dir=origin or directory) as source, tempfile.TemporaryFile(dir=directory) as target:
        source.write(os.urandom(1 << 16))
        source.flush()
        try:
            clone_contents(source.fileno(), target.fileno())
        except OSError:
            return False
        source.seek(0)
        target.seek(0)
        return source.read() == target.read()


_BEGIN = 2  # SYNC_FILE_RANGE_WRITE


def begin(descriptor: int) -> None:
    """Let the kernel begin to write an open file back, without waiting; where it cannot, nothing is lost but time."""
    if hasattr(libc(), "sync_file_range"):
        libc().sync_file_range(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_uint(_BEGIN))


def sync_filesystem(path: Path) -> None:
    """Write back all that the file system under `path` holds in memory; raises `OSError` if that failed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(descriptor, path)
    finally:
        os.close(descriptor)


def _sync(descriptor: int, path: Path) -> None:
    if not hasattr(libc(), "syncfs"):
        os.sync()
    elif libc().syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
