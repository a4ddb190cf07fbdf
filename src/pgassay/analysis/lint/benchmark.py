"""A benchmark as it can be judged from outside: its runs in order, what is known of each, and which ended early.

Where no plan says how long a run should last, a run is short when it lasted less than 95 % of the median run of its
condition, and either another run of its own arm lasted longer by as much, or it lasted less than half. An arm whose
runs were all planned for another time is not short.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from statistics import median_high

from pgassay.analysis.lint.setup import Setup


@dataclass(frozen=True)
class Run:
    """One published value. `position` is its place in time over the whole benchmark, None when that is not known.

    `levels` are factor levels as typed; `seconds` how long it ran, `planned_s` how long it should have; `aborted` what
    the tool said when it gave up, empty when it did not. `condition` is what a comparison never crosses (a scale, a mix
    of statements); `place` where the run stands in its source; `setup` how it was loaded; `course` its transactions per
    second as they were reported while it ran, each with the second at which it was.
    """

    treatment: str
    value: float | None
    position: int | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    planned_s: float | None = None
    aborted: str = ""
    condition: str = ""
    place: str = ""
    setup: Setup = field(default_factory=Setup)
    course: tuple[tuple[float, float | None], ...] = ()

    @property
    def arm(self) -> str:
        """Treatment and condition: what repetitions are repetitions of."""
        return ", ".join(part for part in (self.treatment, self.condition) if part)


@dataclass(frozen=True)
class Benchmark:
    """All runs of one response. `replicate` is what one value is: a `run`, or a `second` of one.

    `response` is its name. `baseline` names the treatment that claims are made against, when one does; `resolution` is
    the smallest effect that somebody would act on, as a share. `ordered` says that the runs of an arm are listed in the
    order in which they ran even where no position is known; without it nothing is said about order.
    """

    runs: tuple[Run, ...]
    replicate: str = "run"
    response: str = ""
    baseline: str = ""
    resolution: float = 0.05
    ordered: bool = True

    @cached_property
    def short_of_s(self) -> tuple[float | None, ...]:
        """For each run the length that it did not reach; None for a whole one."""
        return fell_short_of([Length(run.arm, run.condition, run.seconds, run.planned_s) for run in self.runs])

    @cached_property
    def groups(self) -> Mapping[str, tuple[Run, ...]]:
        """Arm to its runs, in order of time where that is known, else as listed."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.arm, []).append(run)
        if all(run.position is not None for run in self.runs):
            for runs in found.values():
                runs.sort(key=lambda run: run.position or 0)
        return {treatment: tuple(runs) for treatment, runs in found.items()}

    def values(self, arm: str) -> tuple[float, ...]:
        """The values of an arm that can be results, in order: not those of aborted and truncated runs."""
        values = (run.value for run in self.groups[arm] if not run.aborted and id(run) not in self._truncated)
        return tuple(value for value in values if value is not None and isfinite(value))

    @cached_property
    def _truncated(self) -> frozenset[int]:
        return frozenset(id(run) for run, target in zip(self.runs, self.short_of_s, strict=True) if target is not None)

    @property
    def in_order(self) -> bool:
        """Is it known in which order the runs of an arm ran?"""
        return self.ordered or all(run.position is not None for run in self.runs)


SHORT = 0.95
"""A run shorter than this share of what was planned (or of its like) is short."""

HALF = 0.5
"""Below this share of the usual length even an arm's only run is no whole run."""


@dataclass(frozen=True)
class Length:
    """How long a run lasted, and should have; None where it is not known."""

    arm: str
    condition: str
    seconds: float | None
    planned_s: float | None


def fell_short_of(lengths: Sequence[Length]) -> tuple[float | None, ...]:
    """For each run the length in seconds that it did not reach; None for a whole run and for one of unknown length."""
    known = [each for each in lengths if each.seconds is not None]
    by_condition: dict[str, list[float]] = {}
    longest: dict[str, float] = {}
    for each in known:
        seconds = each.seconds or 0.0
        by_condition.setdefault(each.condition, []).append(seconds)
        longest[each.arm] = max(seconds, longest.get(each.arm, 0.0))
    usual = {condition: median_high(found) for condition, found in by_condition.items()}
    return tuple(_target(each, usual.get(each.condition), longest.get(each.arm)) for each in lengths)


def _target(each: Length, usual_s: float | None, longest_s: float | None) -> float | None:
    if each.seconds is None:
        return None
    if each.planned_s is not None:
        return each.planned_s if each.seconds < SHORT * each.planned_s else None
    if usual_s is None or longest_s is None or each.seconds >= SHORT * usual_s:
        return None
    alone = each.seconds >= SHORT * longest_s
    return None if alone and each.seconds >= HALF * usual_s else usual_s
