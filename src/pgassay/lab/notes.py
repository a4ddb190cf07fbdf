"""What is known of a trial: its assignment before it runs, and what it learns on its way.

A trial that fails half-way leaves what it knows by then.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.running import Clock
from pgassay.bench.store import Trait
from pgassay.lab.laps import Laps
from pgassay.lab.measures import Measures
from pgassay.record.errors import saying
from pgassay.study.levels import Arm


@dataclass(frozen=True)
class Assignment:
    """Which trial this is, and where its raw outputs go (a staging directory of the record)."""

    number: int
    block: int
    attempt: int
    arm: Arm
    seed: int
    staging: Path

    def keeping(self, what: str) -> AbstractContextManager[None]:
        """Around whatever writes to the record: its disk being full is no outcome of the treatment."""
        return saying(self.staging.parents[1], f"keep {what} of trial {self.number}")


@dataclass
class Notes:
    """Filled in step by step. `problems` is what the treatment did to itself, code to detail."""

    laps: Laps
    started_wall_ns: int
    settings: dict[str, str] = field(default_factory=dict)
    read_back: dict[str, str | None] = field(default_factory=dict)
    adopt: dict[str, str | None] = field(default_factory=dict)
    """Of varied levels: what it takes to put them into practice, as the server says."""
    cache: str = ""
    how_cloned: str = ""
    huge_pages: str = ""
    """What became of them between the moment they were there and the server's start, if anything."""
    traits: dict[str, Trait] = field(default_factory=dict)
    """What the drives are, by their own word."""
    samples: tuple[Sample, ...] = ()
    measures: Measures | None = None
    upkeep: dict[str, float | None] = field(default_factory=dict)
    """What timed maintenance yielded (see `upkeep`)."""
    page_space: dict[str, float | None] = field(default_factory=dict)
    """What was read of the tables' pages (see `page_space`)."""
    alive: bool = True
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, clock: Clock) -> "Notes":
        """An empty page, with the time on it."""
        return cls(Laps(clock), clock.wall_ns())
