"""A benchmark as it can be judged from outside: its runs in order, and what is known of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite


@dataclass(frozen=True)
class Run:
    """One published value. `position` is its place in time over the whole benchmark, None when that is not known.

    `levels` are factor levels as typed; `seconds` how long it ran, `planned_s` how long it should have; `aborted` what
    the tool said when it gave up, empty when it did not.
    """

    treatment: str
    value: float | None
    position: int | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    planned_s: float | None = None
    aborted: str = ""


@dataclass(frozen=True)
class Benchmark:
    """All runs of one response. `replicate` is what one value is: a `run`, or a `second` of one.

    `baseline` names the treatment that claims are made against, when one does.
    """

    runs: tuple[Run, ...]
    replicate: str = "run"
    baseline: str = ""

    @cached_property
    def groups(self) -> Mapping[str, tuple[Run, ...]]:
        """Treatment to its runs, in order of time where that is known, else as listed."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.treatment, []).append(run)
        if all(run.position is not None for run in self.runs):
            for runs in found.values():
                runs.sort(key=lambda run: run.position or 0)
        return {treatment: tuple(runs) for treatment, runs in found.items()}

    def values(self, treatment: str) -> tuple[float, ...]:
        """The finite values of a treatment, in order."""
        values = (run.value for run in self.groups[treatment])
        return tuple(value for value in values if value is not None and isfinite(value))


@dataclass(frozen=True)
class Finding:
    """A reason. `code` for machines, the others are sentences: what is wrong, the numbers that show it, what helps."""

    code: str
    what: str
    evidence: str
    remedy: str
