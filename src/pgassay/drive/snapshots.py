"""Golden snapshots: whole or absent, found by their key, never started and never changed.

A snapshot is put together as `.taking-…`, written back to the drive, and put in place by one rename; its facts are in
`snapshot.json` next to the data, whose time of modification is that of the last use. File names are hashes, since keys
are free text.

Nothing is removed without a request, and nothing while a run is active below the same directory: its next trial may
need any of them. A run that finds its snapshot gone makes it again.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay.copying import copy_tree, size_bytes, sync_filesystem
from pgassay.drive.root import Root, alone, remove_tree, sessions_held, sync_directory, write_durably
from pgassay.interfaces.errors import DriveError

FACTS_FILE = "snapshot.json"
DATA = "data"
FORMAT = 1
TAKING, FORGOTTEN = ".taking-", ".forgotten-"


@dataclass(frozen=True)
class Snapshot:
    """A whole snapshot: where its data are and the room that they take."""

    data: Path
    size_bytes: int


def find(root: Root, key: str) -> Snapshot | None:
    """The snapshot of this key; None where there is no whole one."""
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
        raise DriveError(f'there is no snapshot for key "{key}"')
    return found


def take(root: Root, key: str, directory: Path, session: str, what: str) -> None:
    """Move `directory` in as the snapshot of `key`; if another lab was quicker, its snapshot stays and ours goes.

    From another file system it is copied; raises `OSError`, and nothing half copied is taken for a snapshot.
    """
    final = _path(root, key)
    taking = root.snapshots / f"{TAKING}{session}-{final.name}"
    taking.mkdir(mode=0o700)
    if directory.stat().st_dev == taking.stat().st_dev:
        directory.rename(taking / DATA)
    else:
        copy_tree(directory, taking / DATA, share=False)
        remove_tree(directory)
    facts = {"format": FORMAT, "key": key, "bytes": size_bytes(taking / DATA), "what": what}
    write_durably(taking / FACTS_FILE, json.dumps(facts) + "\n")
    sync_filesystem(taking)
    with alone(root.path):
        if find(root, key) is None:
            if final.exists():  # unreadable facts: not a snapshot that anyone could use
                remove_tree(final)
            taking.rename(final)
        else:
            remove_tree(taking)
    sync_directory(root.snapshots)


def used(root: Root, key: str) -> None:
    with suppress(OSError):  # only removing the least recently used needs it
        os.utime(_path(root, key) / FACTS_FILE)


def forget(root: Root, key: str) -> None:
    """Remove the snapshot of this key; harmless when there is none."""
    with alone(root.path):
        path = _path(root, key)
        if path.exists():
            remove(path)


def remove(path: Path) -> None:
    """Remove a snapshot whole, even if we are killed meanwhile; the caller is alone in its root."""
    gone = path.with_name(f"{FORGOTTEN}{path.name}")
    remove_tree(gone)
    path.rename(gone)
    remove_tree(gone)


def remove_unfinished(snapshots: Path, prefix: str) -> list[str]:
    """Remove what a killed process was still taking (`TAKING`, its session) or removing (`FORGOTTEN`); returns names.

    Of those that were being removed the caller is alone in the root.
    """
    found = sorted(snapshots.glob(f"{prefix}*"))
    for path in found:
        remove_tree(path)
    return [path.name for path in found]


def _path(root: Root, key: str) -> Path:
    return root.snapshots / hashlib.sha256(key.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class StoredSnapshot:
    """A snapshot. `what` is empty where it is not recorded; `used_s` counts from the epoch."""

    path: Path
    what: str
    size_bytes: int
    used_s: float


def all_stored(roots: Sequence[Root]) -> list[StoredSnapshot]:
    """All of them, the latest used first."""
    found = [each for root in roots for each in _below(root)]
    return sorted(found, key=lambda each: each.used_s, reverse=True)


def trim(roots: Sequence[Root], limit_bytes: int) -> list[StoredSnapshot]:
    """Remove the least recently used until the others take at most `limit_bytes`; returns what is gone.

    Raises `DriveError` while a run is active in one of the roots.
    """
    removed = []
    with ExitStack() as held:
        for root in roots:
            held.enter_context(alone(root.path))
            if sessions_held(root, held=True):
                raise DriveError(
                    f'a run is active in "{root.path}" and may need its snapshots', "wait until it has ended"
                )
        kept = all_stored(roots)
        total_bytes = sum(each.size_bytes for each in kept)
        while kept and total_bytes > limit_bytes:
            least_recent = kept.pop()
            remove(least_recent.path)
            total_bytes -= least_recent.size_bytes
            removed.append(least_recent)
    return removed


def _below(root: Root) -> Iterator[StoredSnapshot]:
    for path in sorted(root.snapshots.iterdir()):
        if path.name.startswith("."):
            continue  # being taken, or being removed
        facts = path / FACTS_FILE
        try:
            kept = json.loads(facts.read_text())
            yield StoredSnapshot(path, str(kept.get("what", "")), int(kept["bytes"]), facts.stat().st_mtime)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            with suppress(FileNotFoundError):  # a run has removed it since it was listed
                yield StoredSnapshot(path, "unreadable, so no run can use it", size_bytes(path), path.stat().st_mtime)
