"""The few things that the record asks of a disk, by interface, so that every one of them can fail in a test.

What is durable when: the contents of a file after its fsync, a name after the fsync of its directory (fsync(2)); a
rename is atomic (rename(2)). After a failed fsync nothing may be assumed about the file, so it is never retried. At the
end are small steps over a `Disk` that must be right everywhere: replacing a file, walking a tree, hashing.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pgassay import untrusted
from pgassay.files import UntrustedError, accounts_of_ours
from pgassay.locks import unlock

BLOCK_BYTES = 1 << 20
_STANDING = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Of a file that is there: a FIFO in its place would keep us waiting."""


class HeldError(Exception):
    """A lock is held; `owner` is what its holder wrote into the file."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


class Lock(Protocol):
    """A lock that ends with its process, however that ends."""

    @property
    def former(self) -> str:
        """What the last holder left if it ended without `release` (killed, power loss); else empty."""

    def release(self) -> None:
        """Give it back; calling it twice is harmless."""


class Disk(Protocol):
    """Files and directories below absolute paths; every method raises `OSError` as the operating system does."""

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        """Make one directory, as mkdir(2); its name is durable after `sync_directory` of the parent."""

    def write_file(self, path: Path, data: bytes, mode: int = 0o644) -> None:
        """Make a new file with these contents and this mode, and fsync it; `FileExistsError` if there is one."""

    def append(self, path: Path, data: bytes) -> None:
        """Add to the end of an existing file and fsync it; a failure may leave a part of `data`."""

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to `size` bytes and fsync it."""

    def rename(self, old: Path, new: Path) -> None:
        """Rename atomically (a file in the way is replaced), then fsync the directories concerned."""

    def sync_tree(self, path: Path) -> None:
        """fsync every file and directory at and below `path`, written by us or not."""

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""

    def remove(self, path: Path) -> None:
        """Remove one file; `FileNotFoundError` if there is none."""

    def remove_tree(self, path: Path) -> None:
        """Remove a directory and all below it."""

    def read(self, path: Path) -> bytes:
        """The whole contents of a regular file, in memory; whatever else has that name is refused, also a link."""

    def blocks(self, path: Path) -> Iterator[bytes]:
        """A file in pieces of at most `BLOCK_BYTES`, for files of any size."""

    def list(self, path: Path) -> tuple[str, ...]:
        """The names of all entries in a directory, sorted, without their paths."""

    def exists(self, path: Path) -> bool:
        """Is there a file or directory of this name?"""

    def is_directory(self, path: Path) -> bool:
        """Is there a directory of this name?"""

    def is_link(self, path: Path) -> bool:
        """Is it a symbolic link, whatever it leads to?"""

    def source(self, path: Path) -> Path | bytes:
        """What a Parquet reader may be given: the path of a real file, the contents of a simulated one."""

    def lock(self, path: Path, owner: str) -> Lock:
        """Lock the file (made if missing) and write `owner` into it; raises `HeldError` at once when someone has it."""


class RealDisk:
    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        path.mkdir(mode)

    def write_file(self, path: Path, data: bytes, mode: int = 0o644) -> None:
        _write_and_sync(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), data)

    def append(self, path: Path, data: bytes) -> None:
        _write_and_sync(os.open(path, os.O_WRONLY | os.O_APPEND | _STANDING), data)

    def truncate(self, path: Path, size: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | _STANDING)
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)
        self.sync_directory(new.parent)
        if old.parent != new.parent:
            self.sync_directory(old.parent)

    def sync_tree(self, path: Path) -> None:
        for directory, _, files in os.walk(path, topdown=False):
            for name in files:
                file = Path(directory, name)
                if not file.is_symlink():
                    _sync(file)
            _sync(Path(directory))

    def sync_directory(self, path: Path) -> None:
        _sync(path)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path)

    def read(self, path: Path) -> bytes:
        return untrusted.read_bytes(path, links=False)

    def blocks(self, path: Path) -> Iterator[bytes]:
        with untrusted.open_file(path, links=False) as file:
            while block := file.read(BLOCK_BYTES):
                yield block

    def list(self, path: Path) -> tuple[str, ...]:
        return tuple(sorted(entry.name for entry in os.scandir(path)))

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: Path) -> bool:
        return path.is_dir()

    def is_link(self, path: Path) -> bool:
        return path.is_symlink()

    def source(self, path: Path) -> Path | bytes:
        untrusted.require_file(path, links=False)
        return path

    def lock(self, path: Path, owner: str) -> Lock:
        found = path.parent.stat().st_uid
        if os.geteuid() == 0 and found not in accounts_of_ours():  # who could put links into what root is to write
            raise UntrustedError(
                f'"{path.parent}" belongs to user {found}: root only writes into records of its own',
                f'go on with it as that user, or with a copy: cp -r "{path.parent}" COPY',
            )
        # flock(2): the kernel releases it when the process ends, and a stale lock is just a file.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 4096, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise HeldError(holder) from None
        former = os.pread(descriptor, 4096, 0).decode(errors="replace").strip()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{owner}\n".encode(), 0)
        return _FileLock(descriptor, former)


class _FileLock:
    """An open, locked file; emptied on release, so that what a killed holder left in it can be recognised."""

    def __init__(self, descriptor: int, former: str) -> None:
        self._descriptor: int | None = descriptor
        self.former = former

    def release(self) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            unlock(self._descriptor)
            self._descriptor = None


def _write_and_sync(descriptor: int, data: bytes) -> None:
    """Write all of it (write(2) may write less at a time), fsync, close."""
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(disk: Disk, path: Path, data: bytes, mode: int = 0o644) -> None:
    """Put `data` under `path` so that a crash leaves either the old file or the new one, whole."""
    fresh = path.with_name(f".{path.name}.new")
    if disk.exists(fresh):
        disk.remove(fresh)
    disk.write_file(fresh, data, mode)
    disk.rename(fresh, path)


def keep_file(disk: Disk, path: Path, data: bytes, *, private: bool = False) -> None:
    """As `replace_file`, in a directory that is made first where it is missing; a `private` one is its account's."""
    missing = [each for each in (path.parent, *path.parent.parents) if not disk.exists(each)]
    for folder in reversed(missing):
        disk.mkdir(folder, 0o700 if private else 0o777)
    replace_file(disk, path, data, 0o600 if private else 0o644)


def files_below(disk: Disk, directory: Path) -> Iterator[Path]:
    """Every file below a directory, sorted within each level."""
    for name in disk.list(directory):
        path = directory / name
        if disk.is_directory(path) and not disk.is_link(path):
            yield from files_below(disk, path)
        else:
            yield path


def sha256_of(disk: Disk, path: Path) -> str:
    digest = hashlib.sha256()
    for block in disk.blocks(path):
        digest.update(block)
    return digest.hexdigest()
