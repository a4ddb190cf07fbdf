"""Writing back what the kernel still holds in memory: begun early for one file, waited for on a whole file system.

A clone's write-back must not fall into the trial that follows (sync_file_range(2), syncfs(2)).
"""

import ctypes
import functools
import os
from pathlib import Path

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
