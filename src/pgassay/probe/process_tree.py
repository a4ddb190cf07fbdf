"""A process and all of its descendants: CPU time, context switches, private memory, from /proc; read-only.

CPU of children that have ended is exact, for the kernel hands it to the parent that waits for them. Their context
switches are not handed on: those after the last look are estimated from the CPU time that they still used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce
from pgassay.probe.procfs import ProcessTimes, children_of, parse_table, parse_times, read_text

_METERS = (
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


class ProcessTree(AtOnce):
    """The tree under `pid` as the source `source`, without the trees under `excluded`."""

    def __init__(
        self, source: str, pid: int, clock: Clock, *, excluded: frozenset[int] = frozenset(), proc: Path = Path("/proc")
    ) -> None:
        self._source = source
        self._pid = pid
        self._clock = clock
        self._excluded = excluded
        self._proc = proc
        self._living: dict[int, _Seen] = {}
        self._reaped_us = 0.0
        self._switches_of_dead = 0.0

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {self._source: _METERS}

    @property
    def per_second(self) -> bool:
        """Two small files a process."""
        return True

    def read(self) -> tuple[Reading, ...]:
        """Read the whole tree; all None when the root is gone."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        look = self._look()
        if look is None:
            return (Reading(self._source, *now, {meter.name: None for meter in _METERS}),)
        self._count_the_dead(look)
        values = {
            "user_us": look.user_us,
            "system_us": look.system_us,
            "context_switches": self._switches_of_dead + sum(seen.switches for seen in look.living.values()),
            "processes": float(len(look.living)),
            "private_bytes": float(look.private_bytes),
        }
        return (Reading(self._source, *now, values),)

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
        for pid in self._pids(self._pid):
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

    def _pids(self, pid: int) -> Iterator[int]:
        if pid in self._excluded:
            return
        yield pid
        for child in children_of(pid, self._proc):
            yield from self._pids(child)


def _reaped_us(times: ProcessTimes) -> float:
    return times.reaped_user_us + times.reaped_system_us
