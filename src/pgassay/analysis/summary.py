"""The published form of results: average, standard deviation, min, median and max of each treatment.

Descriptive only: these numbers mix blocks, so their spread holds the drift that the block-wise effects take out. A
value of 0 counts here like any other, though an effect that is a ratio has to leave its block out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from pgassay.analysis.boundaries import Floats
from pgassay.analysis.observations import Observation, tables
from pgassay.study.levels import Place
from pgassay.study.responses import Scale


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
        numbers = _described([np.fromiter(column.values(), np.float64) for column in table.values.values()])
        rows += [
            Summary(treatment, cell.condition, cell.covariate, *described, left_out=table.left_out[treatment])
            for treatment, described in zip(table.values, numbers, strict=True)
        ]
    return tuple(rows)


def _described(columns: Sequence[Floats]) -> list[tuple[int, float, float, float, float, float]]:
    """n, avg, stdev, min, median and max of each column; columns of equal length are taken together."""
    found: list[tuple[int, float, float, float, float, float]] = [(0, nan, nan, nan, nan, nan)] * len(columns)
    for n in {len(column) for column in columns} - {0}:
        places = [place for place, column in enumerate(columns) if len(column) == n]
        values = np.stack([columns[place] for place in places])
        spread = values.std(axis=1, ddof=1) if n > 1 else np.full(len(places), nan)
        ranked = np.sort(values, axis=1)
        median = (ranked[:, (n - 1) // 2] + ranked[:, n // 2]) / 2.0
        parts = (values.mean(axis=1), spread, ranked[:, 0], median, ranked[:, -1])
        for place, row in zip(places, np.stack(parts, axis=1).tolist(), strict=True):
            found[place] = (n, *row)
    return found
