"""Control groups that limit memory, version 1 or 2 (the kernel's "Memory Resource Controller", "Control Group v2").

Groups are made at the top of the visible hierarchy: in a container that is the container's own, so its limits hold too.
Only servers join them, and a load that works on files in an idle server's place; never the lab or a drive's daemon, for
whose memory the server's pages would wait (deadlock).
"""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgassay.host.changes import GROUP_PREFIX
from pgassay.interfaces.hosting import HostChanges
from pgassay.interfaces.places import parse_mounts

V1 = 1
V2 = 2


@dataclass(frozen=True)
class Hierarchy:
    """Where groups that limit memory are made, and by which version's files."""

    version: int
    top: Path


def memory_hierarchy(root: Path = Path("/")) -> Hierarchy | None:
    """The one with the memory controller, by /proc/mounts; None where neither version has it."""
    mounts = _mounts(root)
    for where, kind, options in mounts:
        if kind == "cgroup" and "memory" in options:
            return Hierarchy(V1, root / where.lstrip("/"))
    for where, kind, _ in mounts:
        top = root / where.lstrip("/")
        if kind == "cgroup2" and "memory" in _words(top / "cgroup.controllers"):
            return Hierarchy(V2, top)
    return None


def counts_huge_pages(root: Path = Path("/")) -> bool:
    """Version 2 counts huge pages as memory if it is mounted so (memory_hugetlb_accounting, from Linux 6.6)."""
    return any(kind == "cgroup2" and "memory_hugetlb_accounting" in options for _, kind, options in _mounts(root))


def _mounts(root: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    try:
        return parse_mounts((root / "proc/mounts").read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError:
        return []


def limit_memory(changes: HostChanges, hierarchy: Hierarchy, limit_bytes: int) -> Path:
    """A new group in which processes have `limit_bytes` for everything, page cache included, and no swap."""
    if hierarchy.version == V2 and "memory" not in _words(hierarchy.top / "cgroup.subtree_control"):
        changes.write(hierarchy.top / "cgroup.subtree_control", "+memory", "-memory")
    group = hierarchy.top / f"{GROUP_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    changes.make_group(group)
    # What stood in a group of our own need not be given back: it goes with the group.
    limit, swap = ("limit_in_bytes", "swappiness") if hierarchy.version == V1 else ("max", "swap.max")
    for name, value in ((f"memory.{limit}", str(limit_bytes)), (f"memory.{swap}", "0")):
        if (group / name).exists():
            (group / name).write_text(value, encoding="ascii")  # ours: a file of the kernel
    return group


def own_limit_bytes() -> int | None:
    """The least memory limit of the groups that this process is in, ours or anybody's; None where there is none."""
    hierarchy = memory_hierarchy()
    if hierarchy is None:
        return None
    name = "memory.limit_in_bytes" if hierarchy.version == V1 else "memory.max"
    found = [
        _words(hierarchy.top / each / name)
        for inner in _groups_of("self", hierarchy, Path("/"))
        for each in (inner, *inner.parents)
    ]
    limits = [int(words[0]) for words in found if words and words[0].isdecimal()]
    return min(limits, default=None)


def limit_of(pid: int, root: Path = Path("/")) -> int | None:
    """The limit of the group of ours that a process is in, in bytes; None if it is in none."""
    hierarchy = memory_hierarchy(root)
    if hierarchy is None:
        return None
    ours = (each for each in _groups_of(pid, hierarchy, root) if each.name.startswith(GROUP_PREFIX))
    group = next((hierarchy.top / each for each in ours), None)
    if group is None:
        return None
    name = "memory.limit_in_bytes" if hierarchy.version == V1 else "memory.max"
    try:
        return int((group / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _groups_of(process: int | str, hierarchy: Hierarchy, root: Path) -> Iterator[Path]:
    """The groups of a process in this hierarchy, by their places below its top."""
    try:
        text = (root / f"proc/{process}/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    for line in filter(None, text.split("\n")):
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(",") if hierarchy.version == V1 else number == "0":
            yield Path(path.lstrip("/"))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []
