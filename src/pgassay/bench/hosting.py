"""What the host stage does for one server before it starts, by interface: changes that are given back, and a place.

Every change of the machine is journalled before it is made, so that it is given back on every way out: at the end of
the trial, and after SIGKILL by the next lab or by `pgassay doctor --repair`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pgassay.bench.errors import HostError


@dataclass(frozen=True)
class Placement:
    """Where a program runs: the CPUs that it may use (empty: all of them) and the control groups that it joins.

    `realtime`: before every other program that wants the same CPU (SCHED_RR, sched(7)). `nodes`: the NUMA nodes from
    which all of its memory comes (empty: wherever the kernel finds some).
    """

    cpus: tuple[int, ...] = ()
    groups: tuple[Path, ...] = ()
    realtime: bool = False
    nodes: tuple[int, ...] = ()


ANYWHERE = Placement()


class HostChanges(Protocol):
    """Changes of this machine that outlive a process, each undone by `give_back`, the latest first."""

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        """Write a value of the kernel's (/proc/sys, /sys); raises `HostError`.

        Given back by writing `back`, or what stood there before.
        """

    def make_group(self, path: Path) -> None:
        """Make a control group of ours; whatever still runs in it is ended when it is given back; `HostError`."""

    def hold(self, path: Path, data: bytes) -> None:
        """Write into a file of the kernel's that asks for something while it is open; closed when given back.

        The kernel closes it, too, however this process ends. Raises `HostError`.
        """

    def give_back(self) -> None:
        """Undo everything that was changed since the last time; harmless when nothing was."""


class _NothingChanges:
    """A machine that changes nothing."""

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        raise HostError(f'"{path}" cannot be changed here')

    def make_group(self, path: Path) -> None:
        raise HostError(f'"{path}" cannot be made here')

    def hold(self, path: Path, data: bytes) -> None:
        raise HostError(f'"{path}" cannot be held here')

    def give_back(self) -> None:
        return


NOTHING_CHANGES: HostChanges = _NothingChanges()


@dataclass
class Hosting:
    """One server's host stage: factors write into it what the server's start shall respect.

    `ask` is `postgres -C NAME` on the very cluster and settings that will start; `peak_bytes` starts that server once
    without huge pages and returns its greatest virtual size (VmPeak), in bytes.
    """

    changes: HostChanges
    ask: Callable[[str], str]
    peak_bytes: Callable[[], int]
    settings: Mapping[str, str]
    major: int
    """PostgreSQL's major version."""
    cpus: tuple[int, ...] = ()
    groups: list[Path] = field(default_factory=list)
    realtime: bool = False
    """The server's processes go before those of other programs."""
    nodes: tuple[int, ...] = ()
    """The NUMA nodes from which the server's memory comes; empty for all."""
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
        """CPUs, control groups and NUMA nodes that the server gets, and whether it goes before other programs."""
        return Placement(self.cpus, tuple(self.groups), self.realtime, self.nodes)
