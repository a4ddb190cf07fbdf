"""What a trial yields: its status, its responses, and how two of them are compared.

A response declares its unit, which direction is better, and its scale: *ratio*, or *difference* where it can be 0 or is
a share. Every room of the bench declares its own responses; the run's record keeps the declarations, so that a report
needs no room to read it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

_QUANTILE = re.compile(r"(p\d+)(_ms)?")
_MEANT: Mapping[str, tuple[str, ...]] = {
    "tps": ("throughput",),
    "server_cpu_us_per_transaction": ("cpu", "server_cpu", "cpu_per_transaction", "server_cpu_per_transaction"),
    "wal_bytes_per_transaction": ("wal", "wal_bytes", "wal_per_transaction"),
    "nand_bytes_per_transaction": ("nand", "nand_bytes", "nand_writes", "nand_per_transaction"),
    "disk_written_bytes_per_transaction": ("disk_written", "disk_written_bytes", "disk_written_per_transaction"),
    "disk_flushes_per_transaction": ("flushes", "flushes_per_transaction"),
    "full_page_images_per_transaction": ("full_page_images",),
    "database_bytes": ("space",),
    "crash_recovery_max_ms": ("recovery", "recovery_ms", "crash_recovery"),
}
ALIASES: Mapping[str, str] = {word: name for name, words in _MEANT.items() for word in words}
"""What a response is called for short, by its name; thresholds take any other unmistakable part of a name, too."""


class Status(StrEnum):
    """How a trial ended: one word in its record, in the journal's decisions and in the analysis."""

    VALID = "valid"
    INVALID = "invalid"
    """Discarded because of something outside the treatment (steal, clock, foreign I/O): kept, named, run again."""
    OUTCOME = "outcome"
    """The treatment failed because of its settings (no space, crash, failed transactions): reported as a result."""


class Better(StrEnum):
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
    """A response as a user types it, by its name, unless `known` has one called so.

    `p99_ms` and `p99` are `latency_p99_ms`; `cpu`, `wal`, `space` and so on are what `ALIASES` says.
    """
    if name in known:
        return name
    quantile = _QUANTILE.fullmatch(name)
    return f"latency_{quantile[1]}_ms" if quantile else ALIASES.get(name.casefold(), name)


METRONOME = (
    Response("metronome_ns", "time for a fixed piece of arithmetic", "ns", Better.NEITHER),
    Response("metronome_memory_ns", "time for a fixed walk through memory", "ns", Better.NEITHER),
    Response("metronome_flush_us", "time for a flush beside the load", "us", Better.NEITHER),
)
"""What is measured of the machine between the slices of servers that take turns. It stands here because the bench
measures it, the design says what it may adjust, and the lab records it."""
