"""What is known of a trial: its assignment before it runs, what it learns on its way.

A trial that fails half-way leaves what it knows by then.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Clock
from pgassay.interfaces.store import Trait
from pgassay.record import counts
from pgassay.record.errors import as_record_error
from pgassay.record.values import Reason
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
        run = self.staging.parents[2 if self.staging.name == counts.FOLDER else 1]
        return as_record_error(run, f"keep {what} of trial {self.number}")


@dataclass(frozen=True)
class HostState:
    """What a host of a fleet does: a block, for so many seconds, or none. `late`: blocks here take far less.

    `failed`: why it takes none any more, where others did what it could not.
    """

    host: str
    block: int | None = None
    seconds: float = 0.0
    usual_s: float | None = None
    late: bool = False
    failed: str = ""


class Laps:
    """`with laps("clone"): …` adds the step's length to `timings_s`, however the step ends.

    Steps do not nest, so their sum is the trial's length: what a trial costs besides its load is seen.
    """

    def __init__(self, clock: Clock) -> None:
        self.timings_s: dict[str, float] = {}
        self._clock = clock

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        started_ns = self._clock.monotonic_ns()
        try:
            yield
        finally:
            seconds = (self._clock.monotonic_ns() - started_ns) / 1e9
            self.timings_s[name] = self.timings_s.get(name, 0.0) + seconds


@dataclass(frozen=True)
class Window:
    """When the measured load ran: its beginning by the monotonic clock, its length by both clocks; all in ns."""

    started_monotonic_ns: int
    length_monotonic_ns: int
    length_wall_ns: int

    @classmethod
    def of(cls, result: LoadResult) -> "Window":
        return cls(
            started_monotonic_ns=result.started_monotonic_ns,
            length_monotonic_ns=result.finished_monotonic_ns - result.started_monotonic_ns,
            length_wall_ns=result.finished_wall_ns - result.started_wall_ns,
        )


@dataclass
class TrialState:
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
    """What changed in them between their being obtained and the server's start, if anything."""
    traits: dict[str, Trait] = field(default_factory=dict)
    """What the drives say that they are."""
    samples: tuple[Sample, ...] = ()
    window: Window | None = None
    """None until the load has run and every counter is read; `responses` and `counters` are empty until then."""
    responses: dict[str, float | None] = field(default_factory=dict)
    """The load's own, the costs of a transaction, and what was asked for besides them."""
    counters: dict[str, float | None] = field(default_factory=dict)
    """Differences over the window by `source.name` (gauges: the last value)."""
    page_space: dict[str, float | None] = field(default_factory=dict)
    """What was read of the tables' pages (see `page_space`)."""
    alive: bool = True
    problems: dict[str, str] = field(default_factory=dict)
    client_lost: str = ""
    """Why nothing is known of the window, where the host of the load's program has gone."""
    visitors: str = ""
    """Who else used the server during the window, where it is not ours."""
    pairing: dict[str, str | float | None] = field(default_factory=dict)
    """How its block was played where servers took turns; empty where it had the machine to itself."""
    disturbed: tuple[Reason, ...] = ()
    """What disturbed too many rounds of a block whose servers took turns: its slices were judged one by one."""
