"""A file, or a list in one, that one process at a time has: flock(2), which the kernel ends with its process."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class FileLock:
    """The lock on the file at `path`, which is made when it is taken first, and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def take(self) -> bool:
        """Take it for this process, with its directory; False while another has it. Taking it twice is harmless.

        Raises `OSError` where the file cannot be made.
        """
        if self._descriptor is not None:
            return True
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_lock(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            unlock(self._descriptor)
            self._descriptor = None


class LockedList:
    """A list to which one process at a time adds; its directory is made when something is written first."""

    def __init__(self, path: Path, lock: Path) -> None:
        self.path = path
        self.lock = FileLock(lock)

    def append(self, line: Mapping[str, Any], head: Mapping[str, Any] | None = None) -> None:
        """Add one line, to a new list after its `head`; on disk, with the file's name, when this returns."""
        new = not self.path.exists()
        text = json.dumps(line) + "\n"
        if new and head is not None:
            text = json.dumps(head) + "\n" + text
        elif not new and self.path.stat().st_size and not self.path.read_bytes().endswith(b"\n"):
            text = "\n" + text  # a crash cut the last line short
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if new:
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)  # ours: in the state directory


def open_lock(path: Path) -> int:
    """Open the file of a lock, which is made if it is not there; raises `OSError`, and follows no link in its place."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def unlock(descriptor: int) -> None:
    """Give a lock back and close its file.

    Said and not left to the closing: a program that another thread starts just now has a copy of the descriptor until
    it is that program, and the lock would be held so long.
    """
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait for the lock on the file at `path`, and hold it for a few steps that must not cross with another process's.

    Raises `OSError` where the file cannot be made.
    """
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        unlock(descriptor)
