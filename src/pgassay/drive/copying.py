"""A cluster's files, copied whole: by reference where possible, else by copy_file_range(2) in a few threads.

Modes, owners and symbolic links within the tree are kept; postmaster.pid is not. The copy is on the drive when it is
done (syncfs(2)), so that its write-back does not fall into the trial that follows.
"""

import ctypes
import errno
import fcntl
import functools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pgassay.drive import messages

THREADS = 4
SKIPPED = frozenset({"postmaster.pid"})
_PIECE_BYTES = 1 << 30
_CANNOT = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF})


@dataclass(frozen=True)
class Copied:
    """What a copy did: how many files, and how many of them share their blocks with the original."""

    files: int
    shared: int

    @property
    def by_reference(self) -> bool:
        """Does every file share its blocks?"""
        return self.shared == self.files


def copy_tree(source: Path, target: Path, share: bool) -> Copied:
    """Copy the directory `source` to `target`, which must not exist; raises `OSError`, and `target` is then partial."""
    files: list[tuple[str, str]] = []
    _directories(str(source), str(target), files)
    if share:
        shared = sum(_share_file(*pair) for pair in files)
    else:
        shared = 0
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(lambda pair: _copy_file(*pair), files):
                pass
    sync_filesystem(target)
    return Copied(len(files), shared)


def size_bytes(directory: Path) -> int:
    """The room that a tree takes on its drive."""
    return sum(os.lstat(path).st_blocks * 512 for path in _walk(str(directory)))


def _walk(directory: str) -> Iterator[str]:
    yield directory
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            else:
                yield entry.path


def _directories(source: str, target: str, files: list[tuple[str, str]]) -> None:
    """Make the directories and links of the tree, and gather its files as (source, target) pairs."""
    facts = os.lstat(source)
    os.mkdir(target, 0o700)  # noqa: PTH102 (plain strings: this walk is what a reflink clone spends its time on)
    _own(target, facts)
    with os.scandir(source) as entries:
        for entry in entries:
            copy = f"{target}/{entry.name}"
            if entry.is_symlink():
                _link(Path(entry.path), Path(copy))
            elif entry.is_dir(follow_symlinks=False):
                _directories(entry.path, copy, files)
            elif entry.is_file(follow_symlinks=False) and entry.name not in SKIPPED:
                files.append((entry.path, copy))
    os.chmod(target, stat.S_IMODE(facts.st_mode))  # noqa: PTH101


def _link(source: Path, target: Path) -> None:
    destination = source.readlink()
    if destination.is_absolute() or ".." in destination.parts:
        raise messages.points_outside(source)
    target.symlink_to(destination)


def _own(path: str, facts: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(path, facts.st_uid, facts.st_gid)


def _open_pair(source: str, target: str) -> tuple[int, int, os.stat_result]:
    """Open a file and its copy-to-be, which has the mode and owner already."""
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        facts = os.fstat(reading)
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except BaseException:
        os.close(reading)
        raise
    try:
        if os.geteuid() == 0:
            os.fchown(writing, facts.st_uid, facts.st_gid)
        os.fchmod(writing, stat.S_IMODE(facts.st_mode))
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    return reading, writing, facts


def _share_file(source: str, target: str) -> bool:
    """Clone one file by reference, or copy it if just this one cannot be (no-copy-on-write files on btrfs)."""
    reading, writing, facts = _open_pair(source, target)
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


def _copy_file(source: str, target: str) -> None:
    reading, writing, facts = _open_pair(source, target)
    try:
        _copy_contents(reading, writing, facts.st_size)
        begin(writing)
    finally:
        os.close(reading)
        os.close(writing)


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
    libc = _libc()
    if hasattr(libc, "sync_file_range"):
        libc.sync_file_range(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_uint(_BEGIN))


def sync_filesystem(path: Path) -> None:
    """Write back all that the file system under `path` holds in memory; raises `OSError` if that failed."""
    libc = _libc()
    if not hasattr(libc, "syncfs"):
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
