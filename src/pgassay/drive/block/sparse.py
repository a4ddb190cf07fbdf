"""Copying an image: by reference where the file system can, else its data and not its holes (lseek(2), SEEK_DATA).

The copy is on the drive when it is done, so that its write-back does not fall into the trial that follows.
"""

import errno
import os
from pathlib import Path

from pgassay.drive import reflink

_PIECE_BYTES = 1 << 30


def copy_image(source: Path, target: Path, *, share: bool) -> bool:
    """Copy to `target`, which must not exist; returns whether blocks are shared. Raises `OSError`, leaving nothing."""
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            shared = _shared(reading, writing) if share else False
            if not shared:
                _copy(reading, writing)
            os.fsync(writing)
        except BaseException:
            target.unlink()
            raise
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return shared


def _shared(reading: int, writing: int) -> bool:
    try:
        reflink.clone_contents(reading, writing)
    except OSError:
        return False
    return True


def _copy(reading: int, writing: int) -> None:
    size = os.fstat(reading).st_size
    os.ftruncate(writing, size)
    position = 0
    while position < size:
        try:
            start = os.lseek(reading, position, os.SEEK_DATA)
        except OSError as failure:
            if failure.errno == errno.ENXIO:  # a hole to the end
                return
            raise
        end = os.lseek(reading, start, os.SEEK_HOLE)
        position = start
        while position < end:
            count = os.copy_file_range(reading, writing, min(end - position, _PIECE_BYTES), position, position)
            if count == 0:
                break
            position += count
        position = max(position, end)
