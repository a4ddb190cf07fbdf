"""Small steps over a `Disk` that must be right everywhere: replacing a file, walking a tree, hashing."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pgassay.record.disk import Disk


def replace_file(disk: Disk, path: Path, data: bytes) -> None:
    """Put `data` under `path` so that a crash leaves either the old file or the new one, whole."""
    fresh = path.with_name(f".{path.name}.new")
    if disk.exists(fresh):
        disk.remove(fresh)
    disk.write_file(fresh, data)
    disk.rename(fresh, path)


def files_below(disk: Disk, directory: Path) -> Iterator[Path]:
    """Every file below a directory, sorted within each level."""
    for name in disk.list(directory):
        path = directory / name
        if disk.is_directory(path):
            yield from files_below(disk, path)
        else:
            yield path


def sha256_of(disk: Disk, path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    for block in disk.blocks(path):
        digest.update(block)
    return digest.hexdigest()
