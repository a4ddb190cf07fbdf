"""A file that one process at a time has: flock(2), which the kernel ends with its process however that ends."""

import fcntl
import os
from pathlib import Path


class FileLock:
    """The lock on the file at `path`, which is made when it is taken first, and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Do we have it?"""
        return self._descriptor is not None

    def take(self) -> bool:
        """Take it for this process, with its directory; False while another has it. Taking it twice is harmless.

        Raises `OSError` where the file cannot be made.
        """
        if self._descriptor is not None:
            return True
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
