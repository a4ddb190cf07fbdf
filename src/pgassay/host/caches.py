"""The page cache beneath a server, for our own files only: dropped or filled file by file, never machine-wide.

`posix_fadvise(POSIX_FADV_DONTNEED)` after an fsync drops a file's clean pages and needs no privilege, so nobody else's
cache is touched; see posix_fadvise(2).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_CHUNK_BYTES = 1 << 20


class PageCache:
    """Makes the files under a directory cold or warm in the page cache."""

    def make_cold(self, directory: Path) -> str:
        """Write back and drop every page of the files under `directory`."""
        for path in _files(directory):
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue  # A running server removes files while we look.
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
        return "posix_fadvise dropped our files' pages"

    def make_warm(self, directory: Path) -> str:
        """Read every relation file once, so that the page cache holds what it can."""
        buffer = bytearray(_CHUNK_BYTES)
        for path in _files(directory / "base"):
            with contextlib.suppress(FileNotFoundError), path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
        return "files read through once"


def _files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path
