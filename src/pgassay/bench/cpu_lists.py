"""CPUs and NUMA nodes in the kernel's list format, and which CPUs a node has (sysfs, "NUMA Memory"; cpuset(7)).

Servers and the programs of loads are placed by the same words, so both rooms read them here.
"""

import re
from collections.abc import Collection
from pathlib import Path

_NODES = "sys/devices/system/node"


def parse_list(text: str) -> tuple[int, ...]:
    """`0-3,6` as numbers in order; empty for what is no such list."""
    found: set[int] = set()
    for part in text.strip().split(","):
        span = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())
        if span is None:
            return ()
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first:
            return ()
        found |= set(range(first, last + 1))
    return tuple(sorted(found))


def show_list(cpus: Collection[int]) -> str:
    """CPU numbers in the kernel's list format, such as `0-3,6`."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def nodes(root: Path = Path("/")) -> frozenset[int]:
    """The NUMA nodes that are there; none on a kernel that knows no nodes."""
    return _listed(root / _NODES / "online")


def memory_nodes(root: Path = Path("/")) -> frozenset[int]:
    """The NUMA nodes that have memory."""
    return _listed(root / _NODES / "has_memory")


def node_cpus(node: int, root: Path = Path("/")) -> frozenset[int]:
    """The CPUs of a NUMA node; none for a node that is not there."""
    return _listed(root / _NODES / f"node{node}/cpulist")


def _listed(path: Path) -> frozenset[int]:
    try:
        return frozenset(parse_list(path.read_text(encoding="ascii")))
    except OSError:
        return frozenset()
