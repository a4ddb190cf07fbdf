"""The published form of results: average, standard deviation, min, median and max of each treatment.

Descriptive only: these numbers mix blocks, so their spread holds the drift that the block-wise effects take out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from pgassay.analysis.observations import Observation
from pgassay.analysis.observed import tables
from pgassay.study.responses import Response


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


def summarise(observations: Sequence[Observation], response: Response) -> tuple[Summary, ...]:
    """A row per treatment, condition and covariate point, in the order of first trials."""
    rows: list[Summary] = []
    for cell, table in tables(observations, response.scale).items():
        for treatment, column in table.values.items():
            values = np.asarray(list(column.values()), dtype=np.float64)
            n = len(values)
            rows.append(
                Summary(
                    treatment=treatment,
                    condition=cell.condition,
                    covariate=cell.covariate,
                    n=n,
                    avg=float(values.mean()) if n else nan,
                    stdev=float(values.std(ddof=1)) if n > 1 else nan,
                    min=float(values.min()) if n else nan,
                    median=float(np.median(values)) if n else nan,
                    max=float(values.max()) if n else nan,
                    left_out=table.left_out[treatment],
                )
            )
    return tuple(rows)
