"""How like the source's load the load of a run was: `likeness.json`, written by `pgassay ask` before the run begins.

A verdict is for the load that was played, so where that is unlike the load that the user asks about, every verdict says
so. The figures are `capture.likeness`'s. A run of another command has no such file.
"""

from dataclasses import dataclass

import msgspec

from pgassay.record import formats
from pgassay.record.errors import CHECK, as_record_error
from pgassay.record.reading import Run

FILE = "likeness.json"
FORMAT = 1


@dataclass(frozen=True)
class Part:
    """One figure of both loads, in `unit`; None where a server does not tell it. `likeness` is from 0 to 1.

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
        """From 0 to 1."""
        counted = [each.likeness for each in self.parts if each.counts and each.likeness is not None]
        caps = [each.likeness for each in self.parts if each.caps and each.likeness is not None]
        return min((sum(counted) / len(counted), *caps)) if counted else None

    @property
    def unlike(self) -> bool:
        """Is it another load than the source's?"""
        return self.score is not None and self.score < self.enough


@dataclass(frozen=True)
class _File:
    format: int
    likeness: Likeness


def encode(found: Likeness) -> bytes:
    """The file's contents."""
    return msgspec.json.format(msgspec.json.encode(_File(FORMAT, found)), indent=1) + b"\n"


def likeness(run: Run) -> Likeness | None:
    """That of a run; None where nobody compared its load with another. Raises `DamagedError`."""
    path = run.path / FILE
    if not run.disk.exists(path):
        return None
    with as_record_error(run.path, "read the likeness", CHECK):
        return formats.decode(_File, run.disk.read(path), run.path, FILE).likeness
