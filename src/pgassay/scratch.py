"""Folders for what a process needs only while it lives; what a kill leaves the next one removes.

Each is held by a lock (flock(2)) on a file in it, which the kernel frees however its process ends. So a folder whose
lock is free is nobody's, and only folders with such a file are ever removed.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "pgassay-scratch-"
_HELD = ".held"
_TAKING = ".taking"


@contextmanager
def folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder of our own until the `with` ends, named by its `kind`; removes first what killed processes left."""
    place = parent or Path(tempfile.gettempdir())
    remove_left(place)
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=place))
    lock = os.open(made / _TAKING, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (made / _TAKING).rename(made / _HELD)  # whoever looks finds it held, or not at all
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def remove_left(parent: Path | None = None) -> list[Path]:
    """Remove the folders of this user that nobody holds; returns those that are gone."""
    gone = []
    for each in sorted((parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*")):
        with suppress(OSError):
            if _left(each):
                shutil.rmtree(each)
                gone.append(each)
    return gone


def _left(each: Path) -> bool:
    """Is it a folder of ours, whose holder is gone? Raises `OSError` where that cannot be seen."""
    status = each.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    lock = os.open(each / _HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
