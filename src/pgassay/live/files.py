"""The files of a run, to look through and to download: nothing above the run's directory, whatever a path says.

What a path names is resolved with all its links first, and only then compared with the run's own place. A file is sent
up to the length that it had when it was asked for.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgassay import untrusted

_PIECE_BYTES = 1 << 18


@dataclass(frozen=True)
class Item:
    """A file or a folder of a run; `bytes` is None for a folder."""

    name: str
    bytes: int | None


def inside(run: Path, path: str) -> Path | None:
    """What `path` names below the run; None where it is not there, or not below it, or neither file nor folder."""
    parts = path.split("/") if path else []
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        return None
    try:
        root = run.resolve(strict=True)
        found = root.joinpath(*parts).resolve(strict=True)
        mode = found.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        return None
    if not found.is_relative_to(root) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return None
    return found


def items(folder: Path) -> list[Item]:
    """What is in a folder, folders first; links and other things that are neither file nor folder are left out."""
    found = []
    with os.scandir(folder) as entries:
        for each in entries:
            try:
                if each.is_dir(follow_symlinks=False):
                    found.append(Item(each.name, None))
                elif each.is_file(follow_symlinks=False):
                    found.append(Item(each.name, each.stat(follow_symlinks=False).st_size))
            except OSError:
                continue  # gone meanwhile, as a staged trial goes
    return sorted(found, key=lambda item: (item.bytes is not None, item.name))


def pieces(path: Path) -> Iterator[bytes]:
    """The contents of a file up to the length that it has now."""
    with untrusted.open_file(path, links=False) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (piece := file.read(min(_PIECE_BYTES, left))):
            left -= len(piece)
            yield piece
