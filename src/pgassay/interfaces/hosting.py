"""What the host stage does for one server before it starts, by interface: changes that are given back, and a place.

Every change of the machine is journalled before it is made, so that it is given back on every way out: at the end of
the trial, and after SIGKILL by the next lab or by `pgassay doctor --repair`.

CPUs are in the kernel's list format (cpuset(7)): servers and the programs of loads are placed by the same words.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Placement:
    """Where a program runs: the CPUs that it may use (empty: all of them) and the control groups that it joins.

    `under`: the words before its own command, of an instrument that runs it.
    """

    cpus: tuple[int, ...] = ()
    groups: tuple[Path, ...] = ()
    under: tuple[str, ...] = ()


ANYWHERE = Placement()


class HostChanges(Protocol):
    """Changes of this machine that outlive a process, each undone by `give_back`, the latest first."""

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        """Write a value of the kernel's (/proc/sys, /sys); raises `HostError`.

        Given back by writing `back`, or what stood there before.
        """

    def make_group(self, path: Path) -> None:
        """Make a control group of ours; whatever still runs in it is ended when it is given back; `HostError`."""

    def give_back(self) -> None:
        """Undo everything that was changed since the last time; harmless when nothing was."""


@dataclass
class Hosting:
    """One server's host stage: factors write into it what the server's start shall respect.

    `ask` is `postgres -C NAME` on the very cluster and settings that will start; `peak_bytes` starts that server once
    without huge pages and returns its greatest virtual size (VmPeak), in bytes.
    """

    changes: HostChanges
    ask: Callable[[str], str]
    peak_bytes: Callable[[], int]
    major: int
    """PostgreSQL's major version."""
    cpus: tuple[int, ...] = ()
    groups: list[Path] = field(default_factory=list)
    huge_page_bytes: int = 0
    """Bytes that the server will have in huge pages, which no memory limit counts."""
    cold: bool = False
    """The cluster's pages must leave the page cache before the start: they were charged to us, not to the server."""
    obtain: Callable[[], int] = lambda: 0
    """What others may take from under us is had last, right before the start; returns how many pages were asked for.

    Once more after a start that failed for want of them, it returns how many had been taken.
    """

    @property
    def placement(self) -> Placement:
        return Placement(self.cpus, tuple(self.groups))


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
