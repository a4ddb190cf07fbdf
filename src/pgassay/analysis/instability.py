"""How unsteady a treatment is: its spread from block to block against the baseline's, with an interval.

A result of its own (TUNA, EuroSys 2025: unstable configurations): a treatment that is 3 % faster and three times as
unsteady is another answer. The interval is Pitman's and Morgan's (Biometrika 1939) for the ratio of two correlated
standard deviations; exact for normal logarithms. Wandering that both share pulls the ratio towards 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np

from pgassay.analysis.boundaries import FIRST_LOOK, fixed_critical
from pgassay.analysis.effects import few_blocks
from pgassay.analysis.observations import Observation, tables
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Response, Scale


@dataclass(frozen=True)
class Instability:
    """`ratio` of standard deviations, treatment over baseline (2 is twice as unsteady), of logarithms or values."""

    treatment: str
    condition: str
    covariate: str
    blocks: int
    ratio: float
    low: float
    high: float
    level: float
    left_out: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point."""
        return Place(self.treatment, self.condition, self.covariate)


def instabilities(
    observations: Sequence[Observation], response: Response, baseline: str, level: float = 0.95
) -> tuple[Instability, ...]:
    """One for each treatment but the baseline, over the blocks that have both."""
    found: list[Instability] = []
    for cell, table in tables(observations, response.scale).items():
        theirs = table.values.get(baseline, {})
        for treatment, ours in table.values.items():
            if treatment == baseline:
                continue
            both = sorted(ours.keys() & theirs.keys())
            x = np.asarray([ours[block] for block in both], dtype=np.float64)
            y = np.asarray([theirs[block] for block in both], dtype=np.float64)
            if response.scale is Scale.RATIO:
                x, y = np.log(x), np.log(y)
            found.append(_instability(x, y, treatment, cell, level))
    return tuple(found)


def _instability(x: np.ndarray, y: np.ndarray, treatment: str, cell: Cell, level: float) -> Instability:
    n = len(x)

    def result(ratio: float, low: float, high: float, *reasons: str) -> Instability:
        return Instability(treatment, cell.condition, cell.covariate, n, ratio, low, high, level, reasons)

    if n < FIRST_LOOK:
        return result(nan, 0.0, inf, few_blocks(n, FIRST_LOOK))
    ours, theirs = float(x.std(ddof=1)), float(y.std(ddof=1))
    if ours == 0.0 or theirs == 0.0:
        return result(
            inf if ours > 0.0 else nan if theirs == 0.0 else 0.0,
            0.0,
            inf,
            "one of the two has no spread at all, so their ratio has no interval",
        )
    correlation = float(np.corrcoef(x, y)[0, 1])
    t = fixed_critical(n - 1, 1.0 - level)  # n - 2 degrees of freedom
    k = 1.0 + 2.0 * max(0.0, 1.0 - correlation**2) * t * t / (n - 2)
    stretch = sqrt(k + sqrt(k * k - 1.0))
    ratio = ours / theirs
    return result(ratio, ratio / stretch, ratio * stretch)
