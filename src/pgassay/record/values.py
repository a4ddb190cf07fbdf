"""A trial as the record keeps it.

`trial.json` is exactly `TrialRecord`. Per-trial files are the truth of a run; everything else can be rebuilt from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from pgassay.study.levels import Place
from pgassay.study.responses import Status
from pgassay.study.work import COUNTED_ALONG

FORMAT = 1
"""The version of every file of a run directory."""

UNKNOWN_TIME_NS = 0
"""Stands for a moment that is not known, in runs that others made; it is exported as empty."""

SHORT = "short"
"""Code of the reason that an imported run ended early."""
NO_VALUE = "no_value"
"""Code of the reason that an imported run has no number."""

CHUNK_TRIALS = 500
"""How many trials' series are compacted into one file."""

TRIALS_MAX = 999_999
"""The greatest number of a trial, of a block and of an attempt."""
Count = Annotated[int, Meta(ge=0, le=TRIALS_MAX)]
Moment = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""In ns since the epoch: to the year 2262."""
AMOUNT_MAX = 1e30
"""What can be squared and summed; greater values were not measured."""
Amount = Annotated[float, Meta(ge=-AMOUNT_MAX, le=AMOUNT_MAX)]
Seconds = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""A length of up to three centuries; a clock that was set back makes it negative."""


@dataclass(frozen=True)
class LevelRecord:
    """A level as typed, in canonical form and as read back from the running system (None: nothing can show it).

    Of `host.memory` in a scale model the canonical form is what was set: with what the server's processes take.
    `adopt` is what it takes to put the level into practice: of a setting `reload` or `restart`, as the server says,
    else the steps in words, one a line.
    """

    typed: str
    canonical: str
    read_back: str | None = None
    adopt: str | None = None


@dataclass(frozen=True)
class Reason:
    """Why a trial is not valid: a `code` for scripts, a sentence for people."""

    code: str
    detail: str


@dataclass(frozen=True)
class TrialRecord:
    """One trial. Times in ns since the epoch (wall), `UNKNOWN_TIME_NS` where that is not known.

    `responses` by name, None where not available.

    `counters` holds `source.name` to the difference over the measured window (gauges: the last value); `settings` the
    server's effective configuration that is not the built-in default; `regime` what the numbers are true for
    (window_s, checkpoint_cycles, warmup_s, cache, age …); `timings_s` the length of each step of the trial's life.
    `host` names the machine that its block ran on, where a study runs on several.
    """

    number: Count
    block: Count
    attempt: Count
    treatment: str
    condition: str
    covariate: str
    levels: Mapping[str, LevelRecord]
    status: Status
    started_wall_ns: Moment
    finished_wall_ns: Moment
    responses: Mapping[str, Amount | None]
    reasons: tuple[Reason, ...] = ()
    counters: Mapping[str, Amount | None] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    regime: Mapping[str, str | Amount | None] = field(default_factory=dict)
    timings_s: Mapping[str, Seconds] = field(default_factory=dict)
    seed: int = 0
    host: str = ""
    format: int = FORMAT

    @property
    def place(self) -> Place:
        return Place(self.treatment, self.condition, self.covariate)

    @property
    def arm(self) -> str:
        return self.place.name

    @property
    def length_s(self) -> float:
        """All of its life: the sum of its steps, since a wall clock may jump; by that only if no step was timed.

        Budgets and forecasts go by it, so a counted trial that follows it is no part.
        """
        if self.timings_s:
            return sum(self.timings_s.values()) - self.timings_s.get(COUNTED_ALONG, 0.0)
        return (self.finished_wall_ns - self.started_wall_ns) / 1e9
