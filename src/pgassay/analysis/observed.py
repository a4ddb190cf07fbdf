"""One response of every trial of a run in columns: tables of all cells at once, for runs of ten thousand trials.

Which trial belongs to which cell, treatment and block is found once (`Layout`) and shared by all responses. The tables
are those of `observations.arrange`, which any other sequence of observations gets.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from pgassay.analysis.observations import Observation, Table, Trial, arrange, by_cell
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Scale, Status


@dataclass(frozen=True)
class Group:
    """A treatment's trials in one cell: their rows and blocks. `once`: no block has two of them."""

    rows: npt.NDArray[np.intp]
    blocks: tuple[int, ...]
    once: bool


class Layout:
    """The valid trials of a run, in the order given."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.trials = tuple(trial for trial in trials if trial.status is Status.VALID)

    @cached_property
    def groups(self) -> Mapping[Cell, Mapping[str, Group]]:
        """Cell to treatment to its trials, each in the order of first trials."""
        rows: dict[tuple[str, str], dict[str, list[int]]] = {}
        for row, trial in enumerate(self.trials):
            place = rows.setdefault((trial.condition, trial.covariate), {})
            place.setdefault(trial.treatment, []).append(row)
        return {
            Cell(*place): {treatment: self._group(mine) for treatment, mine in members.items()}
            for place, members in rows.items()
        }

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

    def _group(self, rows: Sequence[int]) -> Group:
        blocks = tuple(self.trials[row].block for row in rows)
        return Group(np.asarray(rows, dtype=np.intp), blocks, len(set(blocks)) == len(blocks))


class Observed(Sequence[Observation]):
    """The values of one response, a row a valid trial."""

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
        trial = self.layout.trials[row]
        return Observation(trial.block, trial.treatment, trial.condition, trial.covariate, self._values[row])

    def __iter__(self) -> Iterator[Observation]:
        return (self[row] for row in range(len(self)))

    def of_treatments(self) -> Mapping[str, list[float]]:
        """What each treatment's trials yielded, in all cells, without what is missing."""
        found: dict[str, list[float]] = {}
        for members in self.layout.groups.values():
            for treatment, group in members.items():
                told = (self._values[row] for row in group.rows.tolist())
                found.setdefault(treatment, []).extend(value for value in told if value is not None)
        return found

    def tables(self, scale: Scale) -> dict[Cell, Table]:
        """See the function of this name; arranged once, since effects, summaries and claims all ask for them."""
        if scale not in self._tables:
            self._tables[scale] = self._arranged(scale)
        return self._tables[scale]

    def _arranged(self, scale: Scale) -> dict[Cell, Table]:
        numbers = np.array(self._values, dtype=np.float64)  # None becomes NaN
        usable = np.isfinite(numbers)
        if scale is Scale.RATIO:
            usable &= numbers > 0.0
        return {cell: self._table(cell, groups, numbers, usable, scale) for cell, groups in self.layout.groups.items()}

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
        for treatment, group in groups.items():
            if group.once and usable[group.rows].all():
                values[treatment] = dict(zip(group.blocks, numbers[group.rows].tolist(), strict=True))
                left_out[treatment] = ()
            else:  # something has to be named
                named = arrange([self[row] for row in group.rows.tolist()], cell, scale)
                values[treatment], left_out[treatment] = named.values[treatment], named.left_out[treatment]
        return Table(values, left_out)


def tables(observations: Sequence[Observation], scale: Scale) -> dict[Cell, Table]:
    """The table of every cell, in the order of first trials."""
    if isinstance(observations, Observed):
        return observations.tables(scale)
    return {cell: arrange(mine, cell, scale) for cell, mine in by_cell(observations).items()}


def arms(observations: Sequence[Observation]) -> tuple[Place, ...]:
    """Every (treatment, condition, covariate) that occurs."""
    if isinstance(observations, Observed):
        groups = observations.layout.groups.items()
        return tuple(Place(treatment, *cell) for cell, members in groups for treatment in members)
    return tuple(dict.fromkeys(seen.place for seen in observations))
