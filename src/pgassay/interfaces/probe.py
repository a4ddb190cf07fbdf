"""A probe: one small object that says what it reads, when it can, and what it makes of a window's counters.

Adding a probe means adding one object: to the list in `probe.registry`, or in another package under the entry point
group `pgassay.probes`. It is then sampled with the load, its counters land in the record, and its responses in the
report. A probe is a description only; on a server it opens `Reader`s, which hold connections and files.

A probe reads everything that it knows in one go; cumulative counters stay raw (differences are made later, so that a
reset or a gap stays visible), gauges are values as they stand. None means "not available here", never 0.

An instrument counts a server's work instead of timing it: that of the processes that began and ended in a window, the
load's backends and their parallel workers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Server
from pgassay.study.responses import Better, Response, Scale


@dataclass(frozen=True)
class Meter:
    """One thing that a probe reads: `name` with its unit last, cumulative or a gauge."""

    name: str
    unit: str
    cumulative: bool = True


@dataclass(frozen=True)
class Reading:
    """One reading of one probe: meter name to value, with both times of the moment."""

    source: str
    monotonic_ns: int
    wall_ns: int
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Sample:
    """One row of a series: `monotonic_ns`, `wall_ns`, `source`, `name`, `unit`, `value` (None where missing)."""

    monotonic_ns: int
    wall_ns: int
    source: str
    name: str
    unit: str
    value: float | None


Differences = Mapping[str, float | None]
"""`source.name` to what was counted in the window (gauges: the last value); None where not available."""


@dataclass(frozen=True)
class Cost:
    """A response made of a window's counters: `value` takes these and the number of transactions.

    It returns None where a counter that it needs is missing, never 0.
    """

    response: Response
    value: Callable[[Differences, int], float | None]


@dataclass(frozen=True)
class Target:
    """What is probed: a running server, its data directory, and the drives that count for themselves, by source."""

    server: Server
    directory: Path
    clock: Clock
    drives: Mapping[str, DriveCounters] = field(default_factory=dict)
    guarded: bool = False
    """May the server refuse what a probe asks, for want of rights? Then every view is tried before it is sampled."""


class Reader(Protocol):
    """Reads one or more sources of counters in one go (all pg_stat views by one statement, /proc, diskstats …)."""

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """What it reads on this server and machine, by source: `wal`, `process_tree`, `diskstats` …"""

    @property
    def per_second(self) -> bool:
        """Cheap enough for once a second? Else it is read at the window's edges only."""

    def settle(self) -> None:
        """Wait until what has happened can be read (statistics are flushed); called before a reading at an edge."""

    def read(self) -> tuple[Reading, ...]:
        """Read now, one reading a source. Never raises: values that are not available are None."""

    def rest(self) -> None:
        """The server is about to stand still: no question of ours is under way when it returns, and none is begun."""

    def wake(self) -> None:
        """The server goes on, and may be asked again."""

    def close(self) -> None:
        """Give back connections and files; calling it twice is harmless."""


class FileReader:
    """The base of readers of kernel files and drives: these are always up to date, and nothing is held open."""

    def settle(self) -> None:
        """Nothing to wait for: PostgreSQL's statistics reach their views late, the kernel's counters do not."""

    def rest(self) -> None:
        """Nothing to do: it reads files of the kernel and asks no server."""

    def wake(self) -> None:
        """Nothing to do, since `rest` stopped nothing."""

    def close(self) -> None:
        """Nothing is held open, so nothing is given back."""


class Probe:
    """The base of all probes; a subclass overrides what differs."""

    name: str = ""
    summary: str = ""
    costs: tuple[Cost, ...] = ()
    """What it makes of the counters of a window, its own and those of other probes."""
    asks_server: bool = False
    """Its readers ask the server: they are read after the kernel's files, for a question costs the server something."""

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """All that it may read, by source; on a given server and machine some are None, or whole sources absent."""
        raise NotImplementedError

    def unavailable(self, target: Target) -> str | None:
        """Why it cannot read here (version, rights, kind of drive), in a phrase; None if it can."""
        return None

    def readers(self, target: Target) -> Sequence[Reader]:
        """Open it on a server; the caller closes the readers."""
        return ()


def quotient(part: float | None, whole: float | None) -> float | None:
    """`part / whole`; None where one is missing or `whole` is 0."""
    return None if part is None or not whole else part / whole


def product(one: float | None, other: float | None) -> float | None:
    """`one * other`; None where one is missing."""
    return None if one is None or other is None else one * other


def total(counters: Differences, names: Sequence[str]) -> float | None:
    """The sum of counters (`source.name`); None where one is missing."""
    values = [counters.get(name) for name in names]
    return None if any(value is None for value in values) else sum(value for value in values if value is not None)


def per_transaction(
    name: str,
    title: str,
    unit: str,
    counted: str | Sequence[str] | Callable[[Differences], float | None],
    scale: Scale = Scale.DIFFERENCE,
) -> Cost:
    """The cost `NAME_per_transaction`: counters added up (or a function of them), divided by transactions.

    `scale` is RATIO for what no transaction goes without, else DIFFERENCE.
    """
    measured = counted
    if not callable(measured):
        measured = partial(total, names=(measured,) if isinstance(measured, str) else tuple(measured))
    response = Response(f"{name}_per_transaction", f"{title}, per transaction", unit, Better.LOWER, scale, cost=True)
    return Cost(response, lambda counters, transactions: quotient(measured(counters), transactions))


def share(
    name: str, title: str, part: Sequence[str], whole: Sequence[str], better: Better, *, cost: bool = False
) -> Cost:
    """A share from 0 to 1: some counters' sum divided by that of others."""
    response = Response(name, title, "share", better, Scale.DIFFERENCE, cost)
    return Cost(response, lambda counters, _: quotient(total(counters, part), total(counters, whole)))


def value_at_end(name: str, title: str, unit: str, counter: str, better: Better = Better.LOWER) -> Cost:
    """A counter's value at the window's end, as it stands."""
    return Cost(Response(name, title, unit, better), lambda counters, _: counters.get(counter))


BACKEND, PARALLEL, OTHER = "backend", "parallel_worker", "other"
"""Kinds of processes."""
MISSES = ("first_level_cache", "last_level_cache", "branch")
"""Kinds of modelled misses."""


@dataclass(frozen=True)
class Executed:
    """What one process executed in user space, or all of a window where the instrument cannot tell them apart.

    Valgrind's begin at the main function, and leave out what depends on how long that took: waits for the client and
    reports of statistics, with all that they call.
    """

    kind: str
    instructions: float
    functions: Mapping[str, tuple[float, float]]
    """A function's own instructions and how often it was called, by its name; `postgres+0x1ea7b0` for one without."""
    system_calls: Mapping[str, float]
    """How many a function made, by its name: those of libc are called after the system call. No waits, no clocks."""
    modelled_misses: Mapping[str, float] = field(default_factory=dict)
    """By a kind of `MISSES`: those of a model of caches and branches, not of the processor; empty unless asked for."""


class Instrument(Protocol):
    """Counts what the servers execute that are started with its words."""

    @property
    def name(self) -> str:
        """As the record names it, with its version."""

    def require(self) -> None:
        """Raise `UsageError` where it cannot count on this machine."""

    def begin(self) -> tuple[str, ...]:
        """Forget all counts; returns the words that go before the next server's own command."""

    def window(
        self, postmaster_pid: int, there: Collection[int]
    ) -> AbstractContextManager[Callable[[], tuple[Executed, ...]]]:
        """Begin a window, without the processes that are `there`; what it gives says, once those that began in it
        have ended, what they executed. Both raise `BenchError` where that cannot be counted or read."""
