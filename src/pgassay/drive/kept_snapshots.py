"""Snapshots that are kept for later runs: what each holds, when it was last used, and removing the least recently used.

Nothing is removed without a request, and nothing while a run is active below the same directory: its next trial may
need any of them. A run that finds its snapshot gone makes it again.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay.copying import size_bytes
from pgassay.drive import messages, snapshots
from pgassay.drive.root import Root, alone
from pgassay.drive.sessions import living


@dataclass(frozen=True)
class Kept:
    """A snapshot. `what` is empty where it is not recorded; `used_s` counts from the epoch."""

    path: Path
    what: str
    size_bytes: int
    used_s: float


def all_kept(roots: Sequence[Root]) -> list[Kept]:
    """All of them, the latest used first."""
    found = [each for root in roots for each in _below(root)]
    return sorted(found, key=lambda each: each.used_s, reverse=True)


def trim(roots: Sequence[Root], limit_bytes: int) -> list[Kept]:
    """Remove the least recently used until the others take at most `limit_bytes`; returns what is gone.

    Raises `DriveError` while a run is active in one of the roots.
    """
    removed = []
    with ExitStack() as held:
        for root in roots:
            held.enter_context(alone(root.path))
            if living(root):
                raise messages.snapshots_in_use(root.path)
        kept = all_kept(roots)
        total_bytes = sum(each.size_bytes for each in kept)
        while kept and total_bytes > limit_bytes:
            least_recent = kept.pop()
            snapshots.remove(least_recent.path)
            total_bytes -= least_recent.size_bytes
            removed.append(least_recent)
    return removed


def _below(root: Root) -> Iterator[Kept]:
    for path in sorted(root.snapshots.iterdir()):
        if path.name.startswith("."):
            continue  # being taken, or being removed
        facts = path / snapshots.FACTS_FILE
        try:
            kept = json.loads(facts.read_text())
            yield Kept(path, str(kept.get("what", "")), int(kept["bytes"]), facts.stat().st_mtime)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            with suppress(FileNotFoundError):  # a run has removed it since it was listed
                yield Kept(path, "unreadable, so no run can use it", size_bytes(path), path.stat().st_mtime)
