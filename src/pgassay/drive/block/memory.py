"""Memory cgroups, as far as an emulated drive's safety depends on them.

cgroup v1: the reclaim of a limited group waits for write-back, which waits for the drive, which waits for the reclaim:
everybody hangs (provoked and seen). So the daemon goes to the root group, and is refused where even that has a limit.
"""

from dataclasses import dataclass
from pathlib import Path

from pgassay.drive.block.tables import MountEntry, mounts

UNLIMITED_BYTES = 1 << 60
"""v1 writes no limit as a number near the largest."""


@dataclass(frozen=True)
class Group:
    """The root memory cgroup that we can see: the file that takes process ids, and its limit in bytes or None."""

    processes: Path
    limit_bytes: int | None


def root_group(entries: list[MountEntry] | None = None) -> Group | None:
    """The group to move a daemon into; None where there is no memory controller (then there is nothing to leave)."""
    for entry in mounts() if entries is None else entries:
        if entry.filesystem == "cgroup" and "memory" in entry.options:
            return Group(entry.point / "cgroup.procs", _limit(entry.point / "memory.limit_in_bytes"))
    for entry in mounts() if entries is None else entries:
        if entry.filesystem == "cgroup2" and _controls_memory(entry.point):
            return Group(entry.point / "cgroup.procs", _limit(entry.point / "memory.max"))
    return None


def _controls_memory(point: Path) -> bool:
    try:
        return "memory" in (point / "cgroup.controllers").read_text(encoding="utf-8").split()
    except OSError:
        return False


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return None if text == "max" or int(text) >= UNLIMITED_BYTES else int(text)
