"""`pgassay drive snapshots`: prepared data kept below a directory, when they last served, and making room.

Those of calibrations that were not finished count too; they live in a corner of their own.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgassay.cli import messages
from pgassay.drive import kept_snapshots
from pgassay.drive.kept_snapshots import Kept
from pgassay.drive.root import find_root
from pgassay.record.calibrations import STUDY
from pgassay.study.units import format_size, parse_memory


def look(directory: Path, keep: str | None) -> tuple[dict[str, Any], str]:
    """The snapshots as plain values and as text, after removing what does not fit in `keep` (`20GB`, `0`; None: all).

    Raises `UsageError` for no size, `DriveError` while a run lives there.
    """
    roots = [root for place in (directory, directory / STUDY) if (root := find_root(place)) is not None]
    removed = [] if keep is None else kept_snapshots.trim(roots, _limit_bytes(keep))
    kept = kept_snapshots.every(roots)
    lines = [f"removed: {_line(each)}" for each in removed] + [_line(each) for each in kept]
    total = format_size(sum(each.size_bytes for each in kept))
    lines.append(f"{len(kept)} kept in {directory}, {total}" if kept else f"no snapshots in {directory}")
    return {"snapshots": [_row(each) for each in kept], "removed": [_row(each) for each in removed]}, "\n".join(lines)


def _limit_bytes(keep: str) -> int:
    limit = 0 if keep.strip() == "0" else parse_memory(keep)
    if limit < 0:
        raise messages.negative_size("--keep", keep)
    return limit


def _line(kept: Kept) -> str:
    return f"{_used(kept):%Y-%m-%d %H:%M} UTC  {format_size(kept.size_bytes):>8}  {kept.what}".rstrip()


def _row(kept: Kept) -> dict[str, Any]:
    used = f"{_used(kept):%Y-%m-%dT%H:%M:%SZ}"
    return {"what": kept.what, "bytes": kept.size_bytes, "last_used_utc": used, "path": str(kept.path)}


def _used(kept: Kept) -> datetime:
    return datetime.fromtimestamp(kept.used_s, UTC)
