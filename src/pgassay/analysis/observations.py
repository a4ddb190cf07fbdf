"""One response of one trial, and tables of blocks by treatments: the only way that data enter the analysis.

Nothing is dropped in silence: each value that cannot be used is named with its reason, and the effect carries the list.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pgassay.analysis import messages
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Scale, Status


class Observation(NamedTuple):
    """The value of one response in one trial. `value` is None (or NaN) when the trial did not yield it."""

    block: int
    treatment: str
    condition: str
    covariate: str
    value: float | None

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point."""
        return Place(self.treatment, self.condition, self.covariate)

    @property
    def cell(self) -> Cell:
        """Where the baseline is compared: the condition and the covariate point."""
        return Cell(self.condition, self.covariate)


class Trial(Protocol):
    """What `observe` needs of a trial; the record's `TrialRecord` has it."""

    @property
    def block(self) -> int: ...
    @property
    def treatment(self) -> str: ...
    @property
    def condition(self) -> str: ...
    @property
    def covariate(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def responses(self) -> Mapping[str, float | None]: ...


def observe(trials: Iterable[Trial], response: str) -> tuple[Observation, ...]:
    """The valid trials' values of `response`, in the order of the trials."""
    return tuple(
        Observation(trial.block, trial.treatment, trial.condition, trial.covariate, trial.responses.get(response))
        for trial in trials
        if trial.status is Status.VALID
    )


@dataclass(frozen=True)
class Table:
    """Usable values of one cell: treatment → block → value, with the reasons for what was left out."""

    values: Mapping[str, Mapping[int, float]]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def treatments(self) -> tuple[str, ...]:
        """Every treatment seen, in the order of its first trial."""
        return tuple(self.values)

    def array(self) -> tuple[tuple[int, ...], npt.NDArray[np.float64]]:
        """Block numbers and an array of shape (blocks, treatments); NaN where there is no usable value."""
        blocks = tuple(sorted({block for column in self.values.values() for block in column}))
        rows = [[column.get(block, nan) for column in self.values.values()] for block in blocks]
        return blocks, np.asarray(rows, dtype=np.float64).reshape(len(blocks), len(self.values))


def cells(observations: Sequence[Observation]) -> tuple[Cell, ...]:
    """Every cell in the order of its first trial."""
    return tuple(dict.fromkeys(observation.cell for observation in observations))


def by_cell(observations: Sequence[Observation]) -> dict[Cell, list[Observation]]:
    """The observations of each cell, in one pass: a run may have ten thousand trials in a hundred cells."""
    found: dict[Cell, list[Observation]] = {}
    for seen in observations:
        found.setdefault(seen.cell, []).append(seen)
    return found


def arrange(observations: Sequence[Observation], cell: Cell, scale: Scale) -> Table:
    """The usable values of `cell`. On a ratio scale a value must be positive."""
    values: dict[str, dict[int, float]] = {}
    left_out: dict[str, list[str]] = {}
    for seen in observations:
        if seen.condition != cell.condition or seen.covariate != cell.covariate:
            continue
        column = values.setdefault(seen.treatment, {})
        reasons = left_out.setdefault(seen.treatment, [])
        reason = _unusable(seen, scale)
        if reason is not None:
            reasons.append(reason)
        elif seen.value is not None:
            if seen.block in column:
                reasons.append(messages.twice(seen.block, seen.treatment))
            column[seen.block] = float(seen.value)
    return Table(values, {treatment: tuple(reasons) for treatment, reasons in left_out.items()})


def _unusable(seen: Observation, scale: Scale) -> str | None:
    if seen.value is None:
        return messages.no_value(seen.block, seen.treatment)
    if not isfinite(seen.value):
        return messages.not_finite(seen.block, seen.treatment, seen.value)
    if scale is Scale.RATIO and seen.value <= 0.0:
        return messages.not_positive(seen.block, seen.treatment, seen.value)
    return None


@dataclass(frozen=True)
class Contrasts:
    """Contrasts of a treatment with the baseline, shape (blocks,): log-ratios, or differences."""

    blocks: tuple[int, ...]
    values: npt.NDArray[np.float64]
    baseline: npt.NDArray[np.float64]
    left_out: tuple[str, ...]


def contrast(table: Table, treatment: str, baseline: str, scale: Scale) -> Contrasts:
    """Set `treatment` against `baseline` in each block that has both."""
    ours, theirs = table.values.get(treatment, {}), table.values.get(baseline, {})
    left_out = [*table.left_out.get(treatment, ()), *table.left_out.get(baseline, ())]
    left_out += [
        messages.no_valid_trial(name, tried=name in table.values)
        for name, column in ((treatment, ours), (baseline, theirs))
        if not column
    ]
    both = tuple(sorted(ours.keys() & theirs.keys()))
    if ours and theirs and not len(both) == len(ours) == len(theirs):
        # The baseline runs on after a treatment has been settled, which leaves no gap worth naming.
        left_out += [messages.no_partner(block, baseline) for block in sorted(ours.keys() - theirs.keys())]
        last = max(ours)
        gaps = sorted(block for block in theirs.keys() - ours.keys() if block < last)
        left_out += [messages.no_partner(block, treatment) for block in gaps]
    mine = np.fromiter(map(ours.__getitem__, both), np.float64, len(both))
    base = np.fromiter(map(theirs.__getitem__, both), np.float64, len(both))
    values = np.log(mine) - np.log(base) if scale is Scale.RATIO else mine - base
    return Contrasts(both, values, base, tuple(dict.fromkeys(left_out)))
