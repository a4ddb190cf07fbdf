"""What `pgassay ask` keeps of a load before a run begins: how like the source's load it is, and what its statements do.

`likeness.json`: a verdict is for the load that was played, so where that is unlike the load that the user asks about,
every verdict says so. The figures are `capture.likeness`'s. `statements.json`: what a statement is, by which plan each
variant answers it, and how many rows, on clones of the same data with the same values. A run of another command has
neither. How long each takes comes from the trials: `pgbench_latency.json` has sketches of single latencies
(docs/record.md).
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pgassay import untrusted
from pgassay._core import LatencySketch
from pgassay.record import formats
from pgassay.record.reading import Run

LIKENESS_FILE, STATEMENTS_FILE = "likeness.json", "statements.json"
LATENCIES_FILE = "pgbench_latency.json"
FORMAT = 1


@dataclass(frozen=True)
class Part:
    """One figure of both loads, in `unit`; None where a server does not report it. `likeness` is from 0 to 1.

    One that `caps` does not count in the mean, which is never above it.
    """

    name: str
    source: float | None
    here: float | None
    unit: str
    likeness: float | None
    counts: bool = True
    caps: bool = False


@dataclass(frozen=True)
class StatementPair:
    """A statement in both loads: its shares of all calls and of all time, and the mean of a call (None without any)."""

    text: str
    source_calls: float
    here_calls: float
    source_time: float
    here_time: float
    source_ms: float | None
    here_ms: float | None

    @property
    def distance(self) -> float:
        """By how much its share of the time differs."""
        return abs(self.source_time - self.here_time)


@dataclass(frozen=True)
class Likeness:
    """All parts, and their mean over those that count, at most what caps it; None where nothing can be compared.

    `statements` has those of either load, the one first whose share of the time differs most. A score below `enough` is
    that of a load unlike the source's.
    """

    parts: tuple[Part, ...]
    statements: tuple[StatementPair, ...] = ()
    enough: float = 0.8

    @property
    def score(self) -> float | None:
        counted = [each.likeness for each in self.parts if each.counts and each.likeness is not None]
        caps = [each.likeness for each in self.parts if each.caps and each.likeness is not None]
        return min((sum(counted) / len(counted), *caps)) if counted else None

    @property
    def unlike(self) -> bool:
        return self.score is not None and self.score < self.enough


@dataclass(frozen=True)
class _LikenessFile:
    format: int
    likeness: Likeness


def encode_likeness(found: Likeness) -> bytes:
    return formats.encode(_LikenessFile(FORMAT, found))


def likeness(run: Run) -> Likeness | None:
    """That of a run; None where nobody compared its load with another. Raises `DamagedError`."""
    data = run.optional(LIKENESS_FILE, "the likeness")
    return None if data is None else formats.decode(_LikenessFile, data, run.path, LIKENESS_FILE).likeness


@dataclass(frozen=True)
class StatementRecord:
    """One statement: `script` is the name of its script's file, `text` its own.

    By arm: `plans` as the server explained one call, with its rows and blocks, and `rows` that `calls` calls returned
    or changed. Not `repeats`: the baseline itself gave other rows when it was asked again, so rows tell nothing.
    """

    script: str
    text: str
    calls: int = 0
    plans: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    repeats: bool = True

    def differs(self, arm: str, baseline: str) -> bool:
        """Does this arm give another number of rows than the baseline, although the same was asked of both?"""
        known = arm in self.rows and baseline in self.rows
        return self.repeats and known and self.rows[arm] != self.rows[baseline]


@dataclass(frozen=True)
class _StatementsFile:
    format: int
    statements: tuple[StatementRecord, ...]


def encode_statements(statements: Sequence[StatementRecord]) -> bytes:
    return formats.encode(_StatementsFile(FORMAT, tuple(statements)))


def statements(run: Run) -> tuple[StatementRecord, ...]:
    """The statements of a run; empty where none were tried. Raises `DamagedError`."""
    data = run.optional(STATEMENTS_FILE, "the statements")
    return () if data is None else formats.decode(_StatementsFile, data, run.path, STATEMENTS_FILE).statements


def mean_latencies_us(run: Run, number: int) -> Mapping[int, float]:
    """The mean latency of each script of a trial, by its place from 0.

    Empty where its load has one script or keeps no single latencies, or where the file cannot be read.
    """
    path = run.trial_directory(number) / LATENCIES_FILE
    if not run.disk.exists(path):
        return {}
    try:
        kept = untrusted.json(run.disk.read(path)).get("scripts", {})
        sketches = {int(place): LatencySketch.from_bytes(base64.b64decode(each)) for place, each in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # a table may lack a trial; results do not hang on it
    return {place: mean_us for place, each in sketches.items() if (mean_us := each.mean_us) is not None}
