"""Which CPUs a server may use: a list as taskset(1) takes it, or a number chosen by the machine's topology.

Of a number, siblings of simultaneous multithreading are used last (`4`, `4:apart`: each CPU on a core of its own while
there are cores left) or first (`4:together`: both siblings of a core, then the next). See the kernel's "CPU topology".
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.interfaces.hosting import parse_list, show_list
from pgassay.study.units import parse_whole

ALL = "all"
APART = "apart"
TOGETHER = "together"


@dataclass(frozen=True)
class Selection:
    """A parsed level: a list of CPUs, or a number with how siblings are used; none for all of them."""

    cpus: tuple[int, ...] = ()
    count: int = 0
    together: bool = False

    def __str__(self) -> str:
        if self.cpus:
            return f"cpu:{show_list(self.cpus)}"
        return f"{self.count}:{TOGETHER if self.together else APART}" if self.count else ALL


def parse_selection(text: str) -> Selection | None:
    """`all`, `4`, `4:together`, `0-3,6`, `cpu:2`; None for anything else."""
    stripped = text.strip()
    if stripped == ALL:
        return Selection()
    number, _, how = stripped.partition(":")
    if (count := parse_whole(number)) and how in ("", APART, TOGETHER):
        return Selection(count=count, together=how == TOGETHER)
    listed = stripped.removeprefix("cpu:")
    if listed != stripped or "-" in listed or "," in listed:
        cpus = parse_list(listed)
        return Selection(cpus=cpus) if cpus else None
    return None


def cores(usable: Collection[int], root: Path = Path("/")) -> list[tuple[int, ...]]:
    """The usable CPUs by physical core, siblings together, in order of their first CPU."""
    found: dict[tuple[int, ...], list[int]] = {}
    for cpu in sorted(usable):
        path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        try:
            siblings = parse_list(path.read_text(encoding="ascii")) or (cpu,)
        except OSError:
            siblings = (cpu,)
        found.setdefault(siblings, []).append(cpu)
    return [tuple(each) for each in found.values()]


def choose(selection: Selection, by_core: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The CPUs that a selection means on this machine, in order of their numbers; all of them for `all`."""
    everything = [cpu for core in by_core for cpu in core]
    if selection.cpus:
        return selection.cpus
    if selection.together or not selection.count:
        order = everything
    else:
        depth = max(map(len, by_core), default=0)
        order = [core[turn] for turn in range(depth) for core in by_core if turn < len(core)]
    return tuple(sorted(order[: selection.count or None]))


def usable() -> frozenset[int]:
    return frozenset(os.sched_getaffinity(0))
