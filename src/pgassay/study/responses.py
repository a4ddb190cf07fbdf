"""What a trial yields: its status, its responses, and how two of them are compared.

A response declares its unit, which direction is better, and its scale: *ratio*, or *difference* where it can be 0 or is
a share. Every room of the bench declares its own responses; the run's record keeps the declarations, so that a report
needs no room to read it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

_QUANTILE = re.compile(r"p\d+_ms")


class Status(StrEnum):
    """How a trial ended: one word in its record, in the journal's decisions and in the analysis."""

    VALID = "valid"
    INVALID = "invalid"
    """Discarded because of something outside the treatment (steal, clock, foreign I/O): kept, named, run again."""
    OUTCOME = "outcome"
    """The treatment failed because of its settings (no space, crash, failed transactions): reported as a result."""


class Better(StrEnum):
    """Which direction of a response is an improvement."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Scale(StrEnum):
    """How a treatment is set against the baseline: by quotient or by subtraction."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class Response:
    """One declared response. `name` is lower_snake with its unit last; `title` is what a reader sees."""

    name: str
    title: str
    unit: str
    better: Better
    scale: Scale = Scale.RATIO
    cost: bool = False
    """True for a cost of a transaction (CPU µs, WAL bytes …): steadier than speed, and what explains it."""


def full_name(name: str, known: Collection[str] = ()) -> str:
    """A response as a user types it, by its name: `p99_ms` is `latency_p99_ms`, unless `known` has one called so."""
    return f"latency_{name}" if name not in known and _QUANTILE.fullmatch(name) else name


METRONOME = (
    Response("metronome_ns", "time for a fixed piece of arithmetic", "ns", Better.NEITHER),
    Response("metronome_memory_ns", "time for a fixed walk through memory", "ns", Better.NEITHER),
    Response("metronome_flush_us", "time for a flush beside the load", "us", Better.NEITHER),
)
"""What is measured of the machine between the slices of servers that take turns. It stands here because the bench
measures it, the design says what it may adjust, and the lab records it."""
