"""Processes by Linux's /proc: CPU, context switches, memory and bytes of the server and of the lab.

See proc(5). `procfs` has the parsers.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.probe import FileReader, Probe, Reader, Target, per_transaction
from pgassay.bench.running import Clock
from pgassay.probe.procfs import ProcessTimes, children_of, parse_table, parse_times, read_text
from pgassay.study.responses import Scale

_TREE_METERS = (
    Meter("user_us", "us"),
    Meter("system_us", "us"),
    Meter("context_switches", "count"),
    Meter("processes", "count", cumulative=False),
    Meter("private_bytes", "bytes", cumulative=False),
)
_ATTEMPTS = 3


@dataclass
class _Seen:
    """A living descendant as it was at the last look."""

    cpu_us: float
    switches: int


@dataclass
class _Look:
    root: ProcessTimes
    user_us: float = 0.0
    system_us: float = 0.0
    private_bytes: int = 0
    living: dict[int, _Seen] = field(default_factory=dict)


class _TreeReader(FileReader):
    """Reads the process `pid` and its descendants as the source `source`, without the trees under `excluded`."""

    def __init__(
        self, source: str, pid: int, clock: Clock, *, excluded: frozenset[int] = frozenset(), proc: Path = Path("/proc")
    ) -> None:
        self._source = source
        self._pid = pid
        self._clock = clock
        self._excluded = excluded
        self._proc = proc

    def read(self) -> tuple[Reading, ...]:
        """One reading of the whole tree."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return (Reading(self._source, *now, self._values()),)

    def _values(self) -> Mapping[str, float | None]:
        raise NotImplementedError

    def _pids(self, pid: int | None = None) -> Iterator[int]:
        """`pid` (the root, unless given) and its living descendants, without the excluded trees."""
        pid = self._pid if pid is None else pid
        if pid in self._excluded:
            return
        yield pid
        for child in children_of(pid, self._proc):
            yield from self._pids(child)


class ProcessTree(_TreeReader):
    """CPU, context switches and memory of a process and its descendants; None throughout when the process is gone.

    CPU of children that have ended is exact, for the kernel hands it to the parent that waits for them. Their context
    switches are not handed on: those after the last look are estimated from the CPU time that they still used.
    """

    def __init__(
        self, source: str, pid: int, clock: Clock, *, excluded: frozenset[int] = frozenset(), proc: Path = Path("/proc")
    ) -> None:
        super().__init__(source, pid, clock, excluded=excluded, proc=proc)
        self._living: dict[int, _Seen] = {}
        self._reaped_us = 0.0
        self._switches_of_dead = 0.0

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """CPU, context switches, processes and memory of the tree."""
        return {self._source: _TREE_METERS}

    @property
    def per_second(self) -> bool:
        """Two small files a process."""
        return True

    def _values(self) -> Mapping[str, float | None]:
        look = self._look()
        if look is None:
            return {meter.name: None for meter in _TREE_METERS}
        self._count_the_dead(look)
        return {
            "user_us": look.user_us,
            "system_us": look.system_us,
            "context_switches": self._switches_of_dead + sum(seen.switches for seen in look.living.values()),
            "processes": float(len(look.living)),
            "private_bytes": float(look.private_bytes),
        }

    def _look(self) -> _Look | None:
        """All processes at one moment: looked at again when a child was reaped meanwhile, so that none counts twice."""
        look = None
        for _ in range(_ATTEMPTS):
            root = self._times(self._pid)
            if root is None:
                return None
            look = self._sum(root)
            after = self._times(self._pid)
            if after is not None and _reaped_us(after) == _reaped_us(root):
                return look
        return look

    def _sum(self, root: ProcessTimes) -> _Look:
        look = _Look(root)
        for pid in self._pids():
            times = root if pid == self._pid else self._times(pid)
            status = read_text(self._proc / str(pid) / "status")
            if times is None or status is None:
                continue
            table = parse_table(status)
            look.user_us += times.user_us + times.reaped_user_us
            look.system_us += times.system_us + times.reaped_system_us
            look.private_bytes += table.get("RssAnon", 0) * 1024
            switches = table.get("voluntary_ctxt_switches", 0) + table.get("nonvoluntary_ctxt_switches", 0)
            look.living[pid] = _Seen(times.user_us + times.system_us, switches)
        return look

    def _count_the_dead(self, look: _Look) -> None:
        dead = [seen for pid, seen in self._living.items() if pid not in look.living]
        reaped_us = _reaped_us(look.root)
        seen_us, switches = sum(each.cpu_us for each in dead), sum(each.switches for each in dead)
        if dead:
            grown = (reaped_us - self._reaped_us) / seen_us if seen_us > 0 else 1.0
            self._switches_of_dead += switches * max(grown, 1.0)
        self._living, self._reaped_us = look.living, reaped_us

    def _times(self, pid: int) -> ProcessTimes | None:
        text = read_text(self._proc / str(pid) / "stat")
        return parse_times(text) if text else None


def _reaped_us(times: ProcessTimes) -> float:
    return times.reaped_user_us + times.reaped_system_us


_IO_FIELDS = {
    "read_calls": ("syscr", "count"),
    "write_calls": ("syscw", "count"),
    "passed_read_bytes": ("rchar", "bytes"),
    "passed_written_bytes": ("wchar", "bytes"),
    "storage_read_bytes": ("read_bytes", "bytes"),
}
_IO_METERS = tuple(Meter(name, unit) for name, (_, unit) in _IO_FIELDS.items())


class ProcessIo(_TreeReader):
    """Bytes that a process and its descendants passed to the file system, from /proc/PID/io.

    None throughout where we may not read that file. Read at the window's edges. The kernel adds the counters of
    children that have been waited for to their parent's, so nothing is lost when backends or a load's program end; the
    tree is looked at again when one ended meanwhile, for neither it nor its parent may have had its bytes when they
    were read. The file's `write_bytes` is left out: it counts a whole large folio for every page dirtied in it, for
    WAL on a current ext4 twenty times too much. Asynchronous I/O (libaio, io_uring) is in none of its counters.
    """

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Calls and bytes of the tree."""
        return {self._source: _IO_METERS}

    @property
    def per_second(self) -> bool:
        """Another file a process: not worth it."""
        return False

    def _values(self) -> Mapping[str, float | None]:
        tables: list[dict[str, int]] = []
        for _ in range(_ATTEMPTS):
            if self._io(self._pid) is None:
                return dict.fromkeys(_IO_FIELDS)
            pids = [*self._pids()]
            tables = [*filter(None, map(self._io, pids))]
            if set(pids) <= set(self._pids()):
                break
        return {name: float(sum(table.get(field, 0) for table in tables)) for name, (field, _) in _IO_FIELDS.items()}

    def _io(self, pid: int) -> dict[str, int] | None:
        text = read_text(self._proc / str(pid) / "io")
        return parse_table(text) if text else None


SERVER_CPU = ("process_tree.user_us", "process_tree.system_us")
LAB_CPU = ("lab_tree.user_us", "lab_tree.system_us")


class ServerProcesses(Probe):
    """CPU, switches and memory of the postmaster and all that it started."""

    name = "process_tree"
    summary = "CPU, context switches and private memory of the server's processes"
    costs = (
        per_transaction("server_cpu_us", "server CPU", "us", SERVER_CPU, Scale.RATIO),
        per_transaction(
            "context_switches", "context switches of the server", "count", "process_tree.context_switches", Scale.RATIO
        ),
    )

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Those of the tree, as source `process_tree`."""
        return {self.name: _TREE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """A reader of the tree under the postmaster."""
        return (ProcessTree(self.name, target.server.postmaster_pid, target.clock),)


class LabProcesses(Probe):
    """Our own process tree: the lab, the load's program, and programs that emulate drives."""

    name = "lab_tree"
    summary = "CPU, context switches and private memory of the load program and the lab"
    costs = (per_transaction("client_cpu_us", "CPU of the load program and the lab", "us", LAB_CPU, Scale.RATIO),)

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Those of the tree, as source `lab_tree`."""
        return {self.name: _TREE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """From ourselves down, without the server."""
        excluded = frozenset({target.server.postmaster_pid})
        return (ProcessTree(self.name, os.getpid(), target.clock, excluded=excluded),)


class ServerFiles(Probe):
    """What the server's processes handed to the file system."""

    name = "process_io"
    summary = "bytes that the server's processes passed to files"
    costs = (
        per_transaction(
            "file_written_bytes", "written to files by the server", "bytes", "process_io.passed_written_bytes"
        ),
    )

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Calls and bytes, as source `process_io`."""
        return {self.name: _IO_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """A reader of the tree under the postmaster."""
        return (ProcessIo(self.name, target.server.postmaster_pid, target.clock),)


class LabFiles(Probe):
    """What the lab and the load's program handed to the file system: their own work, not that of other programs.

    `load.written_bytes` comes from the load itself (`LoadResult.written_bytes`): the kernel's counters leave
    asynchronous I/O out.
    """

    name = "lab_io"
    summary = "bytes that the load program and the lab passed to files"

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Calls and bytes, as source `lab_io`, and what the load says that it wrote."""
        return {self.name: _IO_METERS, "load": (Meter("written_bytes", "bytes"),)}

    def readers(self, target: Target) -> Sequence[Reader]:
        """From ourselves down, without the server."""
        excluded = frozenset({target.server.postmaster_pid})
        return (ProcessIo(self.name, os.getpid(), target.clock, excluded=excluded),)
