"""Golden snapshots: whole or absent, found by their key, never started and never changed.

A snapshot is put together as `.taking-…`, written back to the drive, and put in place by one rename; its facts are in
`snapshot.json` beside the data, whose time of modification is that of the last use. File names are hashes, since keys
are free text.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from pgassay.copying import copy_tree, size_bytes, sync_filesystem
from pgassay.drive import messages
from pgassay.drive.root import Root, alone, sync_directory, write_durably
from pgassay.files import Directory

FACTS_FILE = "snapshot.json"
DATA = "data"
FORMAT = 1
_FORGOTTEN = ".forgotten-"


@dataclass(frozen=True)
class Snapshot:
    """A whole snapshot: where its data are and the room that they take."""

    data: Path
    size_bytes: int


def find(root: Root, key: str) -> Snapshot | None:
    """The snapshot of this key, if there is a whole one."""
    path = _path(root, key)
    try:
        facts = json.loads((path / FACTS_FILE).read_text())
        if facts["key"] != key or facts["format"] != FORMAT:
            return None
        return Snapshot(path / DATA, int(facts["bytes"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def require(root: Root, key: str) -> Snapshot:
    """The snapshot of this key; raises `DriveError` if there is none."""
    found = find(root, key)
    if found is None:
        raise messages.no_snapshot(key)
    return found


def take(root: Root, key: str, directory: Path, session: str, what: str) -> None:
    """Move `directory` in as the snapshot of `key`; if another lab was quicker, its snapshot stays and ours goes.

    From another file system it is copied; raises `OSError`, and nothing half copied is taken for a snapshot.
    """
    final = _path(root, key)
    taking = root.snapshots / f".taking-{session}-{final.name}"
    taking.mkdir(mode=0o700)
    if directory.stat().st_dev == taking.stat().st_dev:
        directory.rename(taking / DATA)
    else:
        copy_tree(directory, taking / DATA, share=False)
        _remove_tree(directory)
    facts = {"format": FORMAT, "key": key, "bytes": size_bytes(taking / DATA), "what": what}
    write_durably(taking / FACTS_FILE, json.dumps(facts) + "\n")
    sync_filesystem(taking)
    with alone(root.path):
        if find(root, key) is None:
            if final.exists():  # unreadable facts: not a snapshot that anyone could use
                _remove_tree(final)
            taking.rename(final)
        else:
            _remove_tree(taking)
    sync_directory(root.snapshots)


def used(root: Root, key: str) -> None:
    """The snapshot of this key has just served."""
    with contextlib.suppress(OSError):  # only removing the least recently used needs it
        os.utime(_path(root, key) / FACTS_FILE)


def forget(root: Root, key: str) -> None:
    """Remove the snapshot of this key; harmless when there is none."""
    with alone(root.path):
        path = _path(root, key)
        if path.exists():
            remove(path)


def remove(path: Path) -> None:
    """Remove a snapshot whole, even if we are killed meanwhile; the caller is alone in its root."""
    gone = path.with_name(f"{_FORGOTTEN}{path.name}")
    _remove_tree(gone)
    path.rename(gone)
    _remove_tree(gone)


def remove_half_taken(snapshots: Path, session: str) -> list[str]:
    """Remove what a killed lab's session was still taking; returns the names."""
    return _swept(snapshots, f".taking-{session}-*")


def remove_half_forgotten(snapshots: Path) -> list[str]:
    """Remove what a killed process was still removing; returns the names. The caller is alone in the root."""
    return _swept(snapshots, f"{_FORGOTTEN}*")


def _swept(snapshots: Path, pattern: str) -> list[str]:
    found = sorted(snapshots.glob(pattern))
    for path in found:
        _remove_tree(path)
    return [path.name for path in found]


def _remove_tree(path: Path) -> None:
    with Directory.open(path.parent) as parent:
        parent.remove_tree(path.name)


def _path(root: Root, key: str) -> Path:
    return root.snapshots / hashlib.sha256(key.encode()).hexdigest()[:32]
