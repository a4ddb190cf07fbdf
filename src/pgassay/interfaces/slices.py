"""A load that is played in slices: opened, closed and drained by order, so that live servers can take turns.

A slice is a second or so of one server's work. It lasts from the order until the last transaction has ended, and all of
that time counts, because what was begun in it is part of it. Latencies come as histograms, which can be added up.

Between two slices a metronome measures how fast the machine itself is, by work that no treatment can touch.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pgassay.study.responses import METRONOME


@dataclass(frozen=True)
class LatencyHistogram:
    """Latencies in nanoseconds: exact count, sum and extremes, and (upper edge, count) of three-digit buckets."""

    count: int = 0
    sum_ns: int = 0
    least_ns: int = 0
    most_ns: int = 0
    buckets: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: "LatencyHistogram") -> "LatencyHistogram":
        if not self.count or not other.count:
            return self if self.count else other
        counts = Counter(dict(self.buckets))
        counts.update(dict(other.buckets))
        return LatencyHistogram(
            self.count + other.count,
            self.sum_ns + other.sum_ns,
            min(self.least_ns, other.least_ns),
            max(self.most_ns, other.most_ns),
            tuple(sorted(counts.items())),
        )

    def quantile_ns(self, share: float) -> int | None:
        """The latency that this share of transactions did not exceed, to 0.1 %; None without a transaction."""
        wanted, seen = share * self.count, 0
        for edge_ns, count in self.buckets:
            seen += count
            if seen >= wanted:
                return edge_ns
        return self.most_ns if self.count else None


@dataclass(frozen=True)
class StatementTimes:
    """One statement of a script: how often it was answered, and how long answers took, in nanoseconds.

    `rows` are those that it returned or changed, as the server counted them.
    """

    count: int
    sum_ns: int
    least_ns: int
    most_ns: int
    rows: int = 0


@dataclass(frozen=True)
class CallFailure:
    """A way in which calls of a log's statement failed that did not fail in the source; the first one's words."""

    statement: int
    code: str
    message: str
    count: int


@dataclass(frozen=True)
class ReplayedSecond:
    """A second of a log that is played: calls answered and sent in it, their latencies and latenesses together."""

    answered: int
    latency_sum_ns: int
    sent: int
    lateness_sum_ns: int


@dataclass(frozen=True)
class Slice:
    """What one slice yielded; moments by CLOCK_MONOTONIC in nanoseconds.

    `failed` counts transactions that were given up, by SQLSTATE; `aborted` says why clients ended. `cpu_ns` is the
    player's own processor time. `scripts` are the latencies of each script in their order, `statements` in the order of
    the scripts and of the statements in them. `parts` are the transactions that ended in each tenth of a timed slice;
    what ended while it drained is in none of them. Of a log that is replayed, `lateness` is how long after it was due
    each call was sent, `failed_alike` counts calls that failed in the source, too, `failures` names the others,
    `unsent` are calls that were due and never sent or never answered, and `seconds` lie from the opening on.
    """

    opened_ns: int
    closed_ns: int
    drained_ns: int
    latencies: LatencyHistogram
    scripts: tuple[LatencyHistogram, ...] = ()
    statements: tuple[StatementTimes, ...] = ()
    failed: Mapping[str, int] = field(default_factory=dict)
    retries: int = 0
    late: int = 0
    parts: tuple[int, ...] = ()
    lateness: LatencyHistogram = LatencyHistogram()
    failed_alike: int = 0
    failures: tuple[CallFailure, ...] = ()
    unsent: int = 0
    seconds: tuple[ReplayedSecond, ...] = ()
    aborted: tuple[str, ...] = ()
    cpu_ns: int = 0

    @property
    def transactions(self) -> int:
        return self.latencies.count

    def between(self, asked_ns: int, answered_ns: int) -> "Slice":
        """The same slice of another host by our clock: in the middle between order and answer, as NTP has it."""
        way_ns = (answered_ns - asked_ns) - (self.drained_ns - self.opened_ns)
        return self.later(asked_ns + way_ns // 2 - self.opened_ns)

    def later(self, by_ns: int) -> "Slice":
        """The same with its moments by a clock that is ahead by so much."""
        opened_ns, closed_ns, drained_ns = (each + by_ns for each in (self.opened_ns, self.closed_ns, self.drained_ns))
        return replace(self, opened_ns=opened_ns, closed_ns=closed_ns, drained_ns=drained_ns)

    @property
    def tps(self) -> float:
        return self.transactions / max(1, self.drained_ns - self.opened_ns) * 1e9


class SlicePlayer(Protocol):
    """A load on one server, connected and standing still between its slices."""

    @property
    def paired(self) -> bool:
        """Does each of its threads share one CPU with the backends of its clients?"""

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice: until the time is over, or until each client has ended so many transactions; then drained.

        Raises `LoadError` if the player itself is gone; what the server does is in the slice.
        """

    def close(self) -> None:
        """Disconnect and end; calling it twice is harmless."""


@dataclass(frozen=True)
class Beat:
    """How fast the machine was at one moment; CLOCK_MONOTONIC in nanoseconds, values by core in the order of `cores`.

    `arithmetic_ns` is a fixed chain of multiplications, `memory_ns` a fixed walk through memory larger than the caches,
    `flush_ns` the mean of a few flushes of a page to the directory's device; None where no directory was given.
    """

    began_ns: int
    ended_ns: int
    cores: tuple[int, ...]
    arithmetic_ns: tuple[int, ...]
    memory_ns: tuple[int, ...]
    flush_ns: int | None = None

    def covariates(self) -> dict[str, float]:
        """By the names that records have: means over the cores, in the units of the names."""
        values = (
            sum(self.arithmetic_ns) / len(self.cores),
            sum(self.memory_ns) / len(self.cores),
            None if self.flush_ns is None else self.flush_ns / 1000,
        )
        return {each.name: value for each, value in zip(METRONOME, values, strict=True) if value is not None}


class Metronome(Protocol):
    """Measures the machine between slices, a few milliseconds at a time."""

    def beat(self) -> Beat:
        """Measure now: all cores at once, then the flush. Raises `LoadError` if the program is gone."""

    def close(self) -> None:
        """End it and leave nothing behind; calling it twice is harmless."""
