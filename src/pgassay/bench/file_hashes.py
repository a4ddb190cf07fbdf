"""Hashes of the user's own files, each read once as long as it is the same file.

A `load.init` may be a dump of many gigabytes, and its hash is part of the snapshot's key, which is asked for several
times a trial. To read it each time would cost minutes and fill the page cache right before a measurement.
"""

import hashlib
from pathlib import Path

_Identity = tuple[int, int, int, int]


class FileHashes:
    """Kept for as long as a workbench; a file is read again when its size, time of change or inode is another."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_Identity, str]] = {}

    def sha256(self, path: Path) -> str:
        """SHA-256 of a file's contents, in hexadecimal; raises `OSError` where it cannot be read."""
        found = path.stat()
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != identity:
            with path.open("rb") as file:
                known = identity, hashlib.file_digest(file, "sha256").hexdigest()
            self._known[path] = known
        return known[1]
