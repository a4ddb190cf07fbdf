"""One response of each trial, and tables of blocks by treatments: the only way that data enter the analysis.

Nothing is dropped silently: each value that cannot be used is named with its reason, and the effect carries the list.
Runs may have ten thousand trials and a hundred responses, so `Layout` finds once which trial belongs to which cell,
treatment and block, and `ResponseColumn` makes the tables of all cells from it at once.

A summary is the published form of results, descriptive only: its numbers mix blocks, so their spread holds the drift
that the block-wise effects take out. A value of 0 counts there like any other, though an effect that is a ratio has to
leave its block out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, nan
from typing import NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Scale, Status


class Observation(NamedTuple):
    """The value of one response in one trial. `value` is None (or NaN) when the trial did not yield it."""

    block: int
    treatment: str
    condition: str
    covariate: str
    value: float | None
    host: str = ""
    """Of a study over several hosts: the one that the block ran on."""

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
    @property
    def host(self) -> str: ...


def observe(trials: Iterable[Trial], response: str) -> tuple[Observation, ...]:
    """The valid trials' values of `response`, in the order of the trials."""
    return tuple(_observation(trial, trial.responses.get(response)) for trial in trials if trial.status is Status.VALID)


def _observation(trial: Trial, value: float | None) -> Observation:
    return Observation(trial.block, trial.treatment, trial.condition, trial.covariate, value, trial.host)


@dataclass(frozen=True)
class Table:
    """Usable values of one cell: treatment → block → value, with the reasons for what was left out."""

    values: Mapping[str, Mapping[int, float]]
    left_out: Mapping[str, tuple[str, ...]]
    unusable: Mapping[str, frozenset[int]]
    """Treatment → blocks whose trial is named in `left_out` already."""
    hosts: Mapping[int, str] = field(default_factory=dict)
    """Block → the host that it ran on, where the study says so: all of a block runs on one."""

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


def arrange(observations: Sequence[Observation], cell: Cell, scale: Scale) -> Table:
    """The usable values of `cell`. On a ratio scale a value must be positive."""
    values: dict[str, dict[int, float]] = {}
    left_out: dict[str, list[str]] = {}
    unusable: dict[str, set[int]] = {}
    hosts: dict[int, str] = {}
    for seen in observations:
        if seen.condition != cell.condition or seen.covariate != cell.covariate:
            continue
        if seen.host:
            hosts[seen.block] = seen.host
        column = values.setdefault(seen.treatment, {})
        reasons = left_out.setdefault(seen.treatment, [])
        reason = _unusable(seen, scale)
        if reason is not None:
            reasons.append(reason)
            unusable.setdefault(seen.treatment, set()).add(seen.block)
        elif seen.value is not None:
            if seen.block in column:
                reasons.append(
                    f"block {seen.block}: {seen.treatment or 'baseline'} has more than one value, the last is used"
                )
            column[seen.block] = float(seen.value)
    return Table(
        values,
        {treatment: tuple(reasons) for treatment, reasons in left_out.items()},
        {treatment: frozenset(blocks) for treatment, blocks in unusable.items()},
        hosts,
    )


def _unusable(seen: Observation, scale: Scale) -> str | None:
    if seen.value is None:
        return f"block {seen.block}: {seen.treatment or 'baseline'} has no value"
    if not isfinite(seen.value):
        return f"block {seen.block}: {seen.treatment or 'baseline'} has the value {seen.value}"
    if scale is Scale.RATIO and seen.value <= 0.0:
        return (
            f"block {seen.block}: {seen.treatment or 'baseline'} has the value {seen.value:g}, "
            "and a ratio needs a positive one"
        )
    return None


@dataclass(frozen=True)
class Contrasts:
    """Contrasts of a treatment with the baseline, shape (blocks,): log-ratios, or differences."""

    blocks: tuple[int, ...]
    values: npt.NDArray[np.float64]
    baseline: npt.NDArray[np.float64]
    left_out: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    """Of each block, its host; empty where the record names none."""


def contrast(table: Table, treatment: str, baseline: str, scale: Scale) -> Contrasts:
    """Set `treatment` against `baseline` in each block that has both."""
    ours, theirs = table.values.get(treatment, {}), table.values.get(baseline, {})
    left_out = [*table.left_out.get(treatment, ()), *table.left_out.get(baseline, ())]
    left_out += [
        f"{name or 'baseline'} has no {'usable value' if name in table.values else 'valid trial'}"
        for name, column in ((treatment, ours), (baseline, theirs))
        if not column
    ]
    both = tuple(sorted(ours.keys() & theirs.keys()))
    if ours and theirs and not len(both) == len(ours) == len(theirs):
        # The baseline runs on after a treatment has been settled, which leaves no gap worth naming.
        # A trial whose value cannot be used is named above, and has no second reason.
        known = table.unusable.get(baseline, frozenset())
        alone = sorted(ours.keys() - theirs.keys() - known)
        last, known = max(ours), table.unusable.get(treatment, frozenset())
        gaps = sorted(block for block in theirs.keys() - ours.keys() - known if block < last)
        for missing, blocks in ((baseline or "baseline", alone), (treatment or "baseline", gaps)):
            left_out += [f"block {block}: {missing} is missing, so there is nothing to compare" for block in blocks]
    mine = np.fromiter(map(ours.__getitem__, both), np.float64, len(both))
    base = np.fromiter(map(theirs.__getitem__, both), np.float64, len(both))
    values = np.log(mine) - np.log(base) if scale is Scale.RATIO else mine - base
    hosts = tuple(table.hosts.get(block, "") for block in both) if table.hosts else ()
    return Contrasts(both, values, base, tuple(dict.fromkeys(left_out)), hosts)


@dataclass(frozen=True)
class Group:
    """A treatment's trials in one cell: their rows in the layout and their blocks. `once`: no block has two of them."""

    rows: npt.NDArray[np.intp]
    blocks: tuple[int, ...]
    once: bool


class Layout:
    """The valid trials of a run, in the order given, and which of them belong to each cell and treatment."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.trials = tuple(trial for trial in trials if trial.status is Status.VALID)

    @cached_property
    def groups(self) -> Mapping[Cell, Mapping[str, Group]]:
        """Cell to treatment to its trials, each in the order of first trials."""
        rows: dict[tuple[str, str], dict[str, list[int]]] = {}
        for row, trial in enumerate(self.trials):
            place = rows.setdefault((trial.condition, trial.covariate), {})
            place.setdefault(trial.treatment, []).append(row)
        found: dict[Cell, dict[str, Group]] = {}
        for (condition, covariate), members in rows.items():
            cell = found[Cell(condition, covariate)] = {}
            for treatment, mine in members.items():
                blocks = tuple(self.trials[row].block for row in mine)
                cell[treatment] = Group(np.asarray(mine, dtype=np.intp), blocks, len(set(blocks)) == len(blocks))
        return found

    @cached_property
    def hosts(self) -> Mapping[Cell, Mapping[int, str]]:
        """The host of each block of a cell; a block of one machine's study has none."""
        found: dict[Cell, dict[int, str]] = {}
        for trial in self.trials:
            if trial.host:
                found.setdefault(Cell(trial.condition, trial.covariate), {})[trial.block] = trial.host
        return found

    @cached_property
    def _columns(self) -> Mapping[str, tuple[float | None, ...]] | None:
        """Every response as a column where all trials tell the same ones in one order; None where they do not."""
        names = tuple(self.trials[0].responses) if self.trials else ()
        if any(tuple(trial.responses) != names for trial in self.trials):
            return None
        columns = zip(*(trial.responses.values() for trial in self.trials), strict=True)
        return dict(zip(names, columns, strict=True))

    def column(self, response: str) -> Sequence[float | None]:
        """Each trial's value of a response, None where it has none."""
        if self._columns is None:
            return [trial.responses.get(response) for trial in self.trials]
        return self._columns.get(response) or (None,) * len(self.trials)


class ResponseColumn(Sequence[Observation]):
    """One response of all valid trials of a run: a sequence of observations that makes the tables of all cells at once.

    The tables are those that `arrange` gives for any other sequence of observations.
    """

    def __init__(self, layout: Layout, response: str) -> None:
        self.layout = layout
        self._values = layout.column(response)
        self._tables: dict[Scale, dict[Cell, Table]] = {}

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, row: int) -> Observation: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Observation]: ...
    def __getitem__(self, row: int | slice) -> Observation | Sequence[Observation]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        return _observation(self.layout.trials[row], self._values[row])

    def of_treatments(self) -> Mapping[str, list[float]]:
        """Treatment to its values in all cells together, without missing ones."""
        found: dict[str, list[float]] = {}
        for members in self.layout.groups.values():
            for treatment, group in members.items():
                values = (self._values[row] for row in group.rows.tolist())
                found.setdefault(treatment, []).extend(value for value in values if value is not None)
        return found

    def tables(self, scale: Scale) -> dict[Cell, Table]:
        """See the function of this name; arranged once, since effects, summaries and claims all ask for them."""
        if scale not in self._tables:
            numbers = np.array(self._values, dtype=np.float64)  # None becomes NaN
            usable = np.isfinite(numbers)
            if scale is Scale.RATIO:
                usable &= numbers > 0.0
            groups = self.layout.groups.items()
            self._tables[scale] = {cell: self._table(cell, mine, numbers, usable, scale) for cell, mine in groups}
        return self._tables[scale]

    def _table(
        self,
        cell: Cell,
        groups: Mapping[str, Group],
        numbers: npt.NDArray[np.float64],
        usable: npt.NDArray[np.bool_],
        scale: Scale,
    ) -> Table:
        values: dict[str, Mapping[int, float]] = {}
        left_out: dict[str, tuple[str, ...]] = {}
        unusable: dict[str, frozenset[int]] = {}
        for treatment, group in groups.items():
            if group.once and usable[group.rows].all():
                values[treatment] = dict(zip(group.blocks, numbers[group.rows].tolist(), strict=True))
                left_out[treatment] = ()
            else:  # something has to be named
                named = arrange([self[row] for row in group.rows.tolist()], cell, scale)
                values[treatment], left_out[treatment] = named.values[treatment], named.left_out[treatment]
                unusable |= named.unusable
        return Table(values, left_out, unusable, self.layout.hosts.get(cell, {}))


def tables(observations: Sequence[Observation], scale: Scale) -> dict[Cell, Table]:
    """The table of every cell, in the order of first trials."""
    if isinstance(observations, ResponseColumn):
        return observations.tables(scale)
    found: dict[Cell, list[Observation]] = {}
    for seen in observations:  # in one pass: a run may have ten thousand trials in a hundred cells
        found.setdefault(seen.cell, []).append(seen)
    return {cell: arrange(mine, cell, scale) for cell, mine in found.items()}


def places(observations: Sequence[Observation]) -> tuple[Place, ...]:
    """Every place (treatment, condition, covariate) that has an observation, in the order of first trials."""
    if isinstance(observations, ResponseColumn):
        groups = observations.layout.groups.items()
        return tuple(Place(treatment, *cell) for cell, members in groups for treatment in members)
    return tuple(dict.fromkeys(seen.place for seen in observations))


@dataclass(frozen=True)
class Summary:
    """One row of the table, in the response's unit. `stdev` is the sample's (n - 1); NaN where it is not defined."""

    treatment: str
    condition: str
    covariate: str
    n: int
    avg: float
    stdev: float
    min: float
    median: float
    max: float
    left_out: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point."""
        return Place(self.treatment, self.condition, self.covariate)


def summarise(observations: Sequence[Observation]) -> tuple[Summary, ...]:
    """A row for each treatment, condition and covariate point, in the order of first trials."""
    rows: list[Summary] = []
    for cell, table in tables(observations, Scale.DIFFERENCE).items():
        columns = [np.fromiter(column.values(), np.float64) for column in table.values.values()]
        numbers: list[tuple[int, float, float, float, float, float]] = [(0, nan, nan, nan, nan, nan)] * len(columns)
        for n in {len(column) for column in columns} - {0}:  # columns of equal length are taken together
            places = [place for place, column in enumerate(columns) if len(column) == n]
            values = np.stack([columns[place] for place in places])
            spread = values.std(axis=1, ddof=1) if n > 1 else np.full(len(places), nan)
            ranked = np.sort(values, axis=1)
            median = (ranked[:, (n - 1) // 2] + ranked[:, n // 2]) / 2.0
            parts = (values.mean(axis=1), spread, ranked[:, 0], median, ranked[:, -1])
            for place, row in zip(places, np.stack(parts, axis=1).tolist(), strict=True):
                numbers[place] = (n, *row)
        rows += [
            Summary(treatment, cell.condition, cell.covariate, *described, left_out=table.left_out[treatment])
            for treatment, described in zip(table.values, numbers, strict=True)
        ]
    return tuple(rows)
