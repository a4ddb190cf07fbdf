"""How soon the answer comes, and whether the forecast knew."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from benchmarks.validity.cells import Cell
from benchmarks.validity.simulate import logs, look
from pgassay.analysis.forecast import blocks_to_settle

RESOLUTION = 0.02
ANSWER_BLOCKS = 8
FORECAST_SHARE = 0.25


@dataclass(frozen=True)
class Answer:
    """Blocks to the verdict on one contrast: simulated median and quartiles, and what the forecast said."""

    treatments: int
    cv: float
    effect: float
    blocks_max: int
    quartiles: tuple[float, float, float]
    forecast: int | None
    bound: int | None

    @property
    def failures(self) -> tuple[str, ...]:
        """Which bounds are broken: the median of a true contrast, the forecast's distance from the median."""
        found = []
        median = self.quartiles[1]
        if self.bound is not None and median > self.bound:
            found.append("time to answer")
        if np.isfinite(median) and (self.forecast is None or abs(self.forecast - median) > FORECAST_SHARE * median):
            found.append("forecast")
        return tuple(found)


ASKED = (
    # treatments, CV, effect, horizon, bound on the median
    *((treatments, 0.03, 0.10, 30, ANSWER_BLOCKS) for treatments in (2, 3, 4, 5, 6)),
    (6, 0.03, 0.10, 100, ANSWER_BLOCKS),
    (3, 0.01, 0.10, 30, None),
    (3, 0.03, 0.05, 30, None),
    (3, 0.03, 0.05, 100, None),
    (3, 0.10, 0.10, 100, None),
    (6, 0.10, 0.20, 60, None),
    (2, 0.01, 0.0, 30, None),
    (3, 0.01, 0.0, 30, None),
    (6, 0.01, 0.0, 60, None),
    (2, 0.03, 0.0, 120, None),
    (3, 0.03, 0.0, 120, None),
)


def answers(studies: int, seed: int) -> list[Answer]:
    """Simulate each row of `ASKED`: half of the contrasts have the effect, the others none."""
    found = []
    margin = log(1.0 + RESOLUTION)
    for row, (treatments, cv, effect, blocks_max, bound) in enumerate(ASKED):
        cell = Cell("log-normal", cv, "blocks", treatments, blocks_max)
        true = np.zeros(treatments)
        true[1 : 1 + (treatments + 1) // 2] = log(1.0 + effect)
        paths = look(logs(cell, studies, true, np.random.default_rng([seed, row])), blocks_max)
        settled = paths.settled_at(margin)[:, true[1:] == true[1]]
        low, median, high = np.quantile(settled, [0.25, 0.5, 0.75], method="inverted_cdf")
        forecast = blocks_to_settle(
            sqrt(2.0 * log(1.0 + cv * cv)), float(true[1]), margin, comparisons=cell.comparisons, blocks_max=blocks_max
        )
        quartiles = (float(low), float(median), float(high))
        found.append(Answer(treatments, cv, effect, blocks_max, quartiles, forecast, bound))
    return found
