"""Control groups of an emulated host: they find its processes, and limit what it has of memory and of processors.

Version 1 has a hierarchy for each controller, version 2 one for all; there only controllers count that its top hands
down (`cgroup.subtree_control`; systemd has it so), since a test changes nothing that others use. An emulated drive's
daemon must never be in such a group: its servers would wait for memory that only it can free.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 4 << 30
"""More than a host of a test ever uses, page cache included, so that nothing becomes slower."""
_PERIOD_US = 100_000
_QUOTA_US = 150_000
"""One and a half processors: a server and its one client hardly have more at a time."""
_PROGRAMS = 4
"""A group has the weight of one program beside others, unless it is given more; a host is several programs."""
V1 = {
    "memory": (("memory.limit_in_bytes", str(MEMORY_BYTES)), ("memory.swappiness", "0")),
    "cpu": (
        ("cpu.shares", str(1024 * _PROGRAMS)),
        ("cpu.cfs_period_us", str(_PERIOD_US)),
        ("cpu.cfs_quota_us", str(_QUOTA_US)),
    ),
}
V2 = {
    "memory": (("memory.max", str(MEMORY_BYTES)), ("memory.swap.max", "0")),
    "cpu": (("cpu.weight", str(100 * _PROGRAMS)), ("cpu.max", f"{_QUOTA_US} {_PERIOD_US}")),
}
_PATIENCE_S = 300.0


@dataclass(frozen=True)
class Place:
    """Where a group of a host is made, and what is written into its files."""

    top: Path
    settings: tuple[tuple[str, str], ...]


def places(root: Path = Path("/")) -> tuple[Place, ...]:
    """By /proc/mounts; none where this machine lets us make no groups."""
    found: dict[Path, tuple[tuple[str, str], ...]] = {}
    mounts = [line.split() for line in (root / "proc/mounts").read_text(encoding="utf-8").splitlines()]
    for controller, settings in V1.items():
        for _, where, kind, options, *_ in mounts:
            if kind == "cgroup" and controller in options.split(","):
                top = root / where.lstrip("/")
                found[top] = found.get(top, ()) + settings
                break
    for _, where, kind, *_ in mounts:
        top = root / where.lstrip("/")
        if kind == "cgroup2":
            handed_down = (top / "cgroup.subtree_control").read_text(encoding="ascii").split()
            settings = tuple(pair for name in V2 if name in handed_down for pair in V2[name])
            if settings or not found:
                found[top] = settings
    return tuple(Place(top, settings) for top, settings in found.items() if os.access(top, os.W_OK))


@contextmanager
def made(name: str, root: Path = Path("/")) -> Iterator[tuple[Path, ...]]:
    """The groups of a host, until its last process has ended. Their name is none that the product would take for its
    own: it would read their limit as the server's."""
    groups: list[Path] = []
    try:
        for place in places(root):
            group = place.top / f"emulated-{name}"
            group.mkdir()
            groups.append(group)
            for file, value in place.settings:
                if (group / file).exists():  # a kernel may be without quotas (CONFIG_CFS_BANDWIDTH)
                    (group / file).write_text(value, encoding="ascii")
        yield tuple(groups)
    finally:
        for group in groups:
            _remove(group)


def processes(groups: tuple[Path, ...]) -> set[int]:
    """What runs in any of them."""
    return {int(each) for group in groups for each in (group / "cgroup.procs").read_text(encoding="ascii").split()}


def _remove(group: Path) -> None:
    """A group is busy for a moment after its last process has ended."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return
