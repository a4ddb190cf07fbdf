"""The trials: by place and treatment, as tables ask for them, and each as a row with what became of it.

A place is a condition with a covariate point, both names empty where the study has none. A page carries at most `SHOWN`
rows, those first that do not plainly count; JSON and `pgassay export --csv` have all. Covariate points are in a
reader's order: by number where they are numbers, else as the study has them.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from pgassay.analysis.seconds import Steadiness, TrialCourse
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.seconds import has_seconds
from pgassay.report.section import Brief, Folded, Part, Section, Sentences, Surface, Table, Values
from pgassay.study.levels import Arm, Cell, Place
from pgassay.study.model import Study
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def number_of(covariate: str) -> float | None:
    """`load.clients=8` as 8; None for a label with several covariates, or without a number."""
    _, _, value = covariate.partition("=")
    try:
        return float(value)
    except ValueError:
        return None


def in_order(covariates: Sequence[str]) -> tuple[str, ...]:
    """The labels in order; they are given in the study's."""
    numbers = {name: number_of(name) for name in covariates}
    if any(number is None for number in numbers.values()):
        return tuple(covariates)
    return tuple(sorted(covariates, key=lambda name: numbers[name] or 0.0))


class Remaining:
    """What a run may still take at most, by what its trials took so far and what is left of its budget.

    Empty where nothing is left, or nothing is known yet.
    """

    def __init__(self, study: Study) -> None:
        self.design = study.design
        self._arms = len(study.arms)
        self._lengths_s: list[float] = []
        self.used_s = 0.0  # of the budget, preparations included
        self._block = self._in_block = 0

    def add(self, record: TrialRecord) -> None:
        """A trial has ended."""
        self._lengths_s.append(record.length_s)
        self.used_s += record.length_s
        self._in_block = self._in_block + 1 if record.block == self._block else 1
        self._block = record.block

    def drop(self) -> None:
        """An arm has left."""
        self._arms -= 1

    @property
    def left_s(self) -> float:
        """Seconds at most, by the blocks and by the budget; infinite while nothing is known of either."""
        trials = self._arms * (self.design.blocks_max - self._block) + max(0, self._arms - self._in_block)
        lengths_s, budget_s = self._lengths_s, self.design.budget_s
        by_blocks = trials * sum(lengths_s) / len(lengths_s) if lengths_s else inf
        return by_blocks if budget_s is None else min(by_blocks, max(0.0, budget_s - self.used_s))

    def __str__(self) -> str:
        return f"at most {formatting.duration(self.left_s)} left" if 0.0 < self.left_s < inf else ""


SHOWN = 400
_SERVER_SAYS = re.compile(r"\b(ERROR|FATAL|PANIC):.*", re.DOTALL)
"""What stands before it is the client's: `error: client 0 script 0 aborted in command 1 query 0: `."""


def valid_by_place(trials: Iterable[TrialRecord], arms: Iterable[Arm] = ()) -> Mapping[Cell, Sequence[TrialRecord]]:
    """The valid trials of each condition and covariate point: places as in `arms`, others as their first trials ran."""
    found: dict[Cell, list[TrialRecord]] = {arm.place.cell: [] for arm in arms}
    for trial in trials:
        if trial.status is Status.VALID:
            found.setdefault(trial.place.cell, []).append(trial)
    return {place: mine for place, mine in found.items() if mine}


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items by what they have in common, groups in the order of their first ones."""
    found: dict[K, list[T]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def by_treatment(trials: Iterable[TrialRecord]) -> Mapping[str, Sequence[TrialRecord]]:
    """The trials of each treatment."""
    return grouped(trials, lambda trial: trial.treatment)


def failures(trials: Sequence[TrialRecord]) -> Mapping[Place, str]:
    """Why each treatment that never worked did not; none that worked once, or that only other programs disturbed."""
    last: dict[Place, TrialRecord] = {}
    worked: set[Place] = set()
    for trial in trials:
        place = trial.place
        if trial.status is Status.VALID:
            worked.add(place)
        elif trial.status is Status.OUTCOME:
            last[place] = trial
    reasons = {
        place: "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)
        for place, trial in last.items()
        if place not in worked
    }
    return {place: text for place, text in reasons.items() if text}


def cause(trials: Sequence[TrialRecord], place: Place) -> str:
    """Why the last trial that failed there did: its first reason, in the server's own words where it has any."""
    last = next(trial for trial in reversed(trials) if trial.place == place and trial.status is Status.OUTCOME)
    detail = last.reasons[0].detail
    said = _SERVER_SAYS.search(detail)
    return " ".join((said.group() if said else detail).split())


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def median_s(trials: Iterable[TrialRecord], name: str) -> float | None:
    """The median of a time of the trials' regimes: `window_s`, `warmup_s`; None where no trial has it."""
    return middle(of_regime(trials, name))


def of_regime(trials: Iterable[TrialRecord], name: str) -> list[float]:
    """A number of the regime of these trials, of those that have it."""
    values = (trial.regime.get(name) for trial in trials)
    return [float(value) for value in values if isinstance(value, int | float)]


def load_level(trial: TrialRecord, option: str, default: str) -> str:
    """The canonical level of `load.OPTION`, or the `default` of a trial that names none."""
    level = trial.levels.get(f"load.{option}")
    return level.canonical if level is not None else default


@dataclass(frozen=True)
class TrialRow:
    """One trial. `error` is the standard error of `value` by its own seconds, for transactions per second only."""

    number: int
    block: int
    attempt: int
    place: str
    status: Status
    value: float | None
    error: float | None
    steadiness: Steadiness
    truncation_s: float | None
    cycle_s: float | None

    @property
    def doubtful(self) -> bool:
        """Not valid, or known not to be flat."""
        return self.status is not Status.VALID or self.steadiness not in (Steadiness.FLAT, Steadiness.UNKNOWN)


def rows_of(trials: Iterable[TrialRecord], courses: Mapping[int, TrialCourse], primary: str) -> tuple[TrialRow, ...]:
    """Every trial as a row, in order of number."""
    found = []
    for trial in trials:
        course = courses[trial.number]
        found.append(
            TrialRow(
                number=trial.number,
                block=trial.block,
                attempt=trial.attempt,
                place=trial.arm,
                status=trial.status,
                value=trial.responses.get(primary),
                error=course.error if primary == "tps" else None,
                steadiness=course.kind,
                truncation_s=course.truncation_s,
                cycle_s=course.cycle_s,
            )
        )
    return tuple(found)


def shown(rows: Sequence[TrialRow]) -> tuple[TrialRow, ...]:
    """What a page shows: all, or the doubtful ones and then the first ones, in order of number."""
    if len(rows) <= SHOWN:
        return tuple(rows)
    first = sorted(rows, key=lambda row: (not row.doubtful, row.number))[:SHOWN]
    return tuple(sorted(first, key=lambda row: row.number))


def _describe(findings: "Findings") -> Iterator[Part]:
    every = rows_of(findings.trials, findings.courses, findings.primary.name)
    yield Values({"courses": every})
    statuses = Counter(str(trial.status) for trial in findings.trials)
    yield Brief(f"every trial: {', '.join(f'{count} {status}' for status, count in statuses.items())}")
    rows, course = shown(every), has_seconds(findings.run.responses)
    fewer = (
        f"{len(rows)} of {len(every)} trials: those that do not count or were not steady come first;"
        " pgassay export RUN --csv gives all"
    )
    head = ["trial", "block", "treatment", "status", findings.primary.title]
    head += ["± error by its seconds", "course", "settled from"] if course else []
    cells = []
    for row in rows:
        value = formatting.quantity(row.value, findings.primary)
        mine = [str(row.number), str(row.block), row.place, str(row.status), value]
        if course:
            cycle = f" ({formatting.duration(row.cycle_s)})" if row.cycle_s else ""
            mine += [formatting.number(row.error), f"{row.steadiness}{cycle}", formatting.duration(row.truncation_s)]
        cells.append(mine)
    marked = [place for place, row in enumerate(rows) if row.doubtful]
    summary = f"Every trial{', and how it went second by second' if course else ''}"
    notes = (Sentences((fewer,), small=True),) if len(rows) < len(every) else ()
    yield Folded(summary, (*notes, Table(head, cells, marked=marked)))


SECTION = Section("trials", "Trials", _describe, on=Surface.PAGE)
