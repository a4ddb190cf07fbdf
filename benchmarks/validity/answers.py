"""How soon the answer comes, and whether the forecast knew: from the true noise, and from what a calibration finds."""

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from benchmarks.validity.cells import Cell
from benchmarks.validity.simulate import logs, look
from pgassay.analysis.calibration import variance_components
from pgassay.analysis.forecast import blocks_to_verdict

RESOLUTION = 0.02
ANSWER_BLOCKS = 8
FORECAST_SHARE = 0.25
CALIBRATION = (3, 5, 2)
"""Clusters, blocks and runs after each restart: what `pgassay calibrate` measures at least."""
CALIBRATIONS = 200


@dataclass(frozen=True)
class Answer:
    """Blocks to the verdict on one contrast: simulated median and quartiles, and what the forecast said.

    `calibrated` are the quartiles of the forecasts that so many simulated calibrations lead to.
    """

    treatments: int
    cv: float
    effect: float
    blocks_max: int
    quartiles: tuple[float, float, float]
    forecast: int | None
    bound: int | None
    calibrated: tuple[float, float, float] | None = None

    @property
    def failures(self) -> tuple[str, ...]:
        """Which bounds are broken: the median of a true contrast, the forecast's distance from the median."""
        found = []
        median = self.quartiles[1]
        if self.bound is not None and median > self.bound:
            found.append("time to answer")
        if _astray(self.forecast, median, self.blocks_max):
            found.append("forecast")
        if self.calibrated is not None and _astray(self.calibrated[1], median, self.blocks_max):
            found.append("forecast after calibration")
        return tuple(found)


def _astray(forecast: float | None, median: float, blocks_max: int) -> bool:
    """More than the share away from the median; where most studies never settle, short of the horizon."""
    said = inf if forecast is None else forecast
    if not np.isfinite(median):
        return said < (1.0 - FORECAST_SHARE) * blocks_max
    return abs(said - median) > FORECAST_SHARE * median


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


def answer(row: int, studies: int, seed: int) -> Answer:
    """Simulate a row of `ASKED`: half of the contrasts have the effect, the others none."""
    treatments, cv, effect, blocks_max, bound = ASKED[row]
    cell = Cell("log-normal", cv, "blocks", treatments, blocks_max)
    true = np.zeros(treatments)
    true[1 : 1 + (treatments + 1) // 2] = log(1.0 + effect)
    paths = look(logs(cell, studies, true, np.random.default_rng([seed, row])), blocks_max)
    settled = paths.settled_at(log(1.0 + RESOLUTION))[:, true[1:] == true[1]]
    low, median, high = np.quantile(settled, [0.25, 0.5, 0.75], method="inverted_cdf")
    noise = sqrt(log(1.0 + cv * cv))
    forecast = _forecast(cell, noise, float(true[1]))
    calibrated = _calibrated(cell, noise, float(true[1]), np.random.default_rng([seed, row, 1]))
    quartiles = (float(low), float(median), float(high))
    return Answer(treatments, cv, effect, blocks_max, quartiles, forecast, bound, calibrated)


def _forecast(cell: Cell, noise: float, effect: float) -> int | None:
    """As a plan makes it: a contrast has the square root of two times the noise of a trial."""
    return blocks_to_verdict(
        sqrt(2.0) * noise,
        effect,
        log(1.0 + RESOLUTION),
        comparisons=cell.comparisons,
        blocks_max=cell.blocks,
        together=cell.comparisons,
    )


def _calibrated(cell: Cell, noise: float, effect: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Quartiles of the forecasts after calibrations of a machine with this noise."""
    said = []
    for values in rng.normal(0.0, noise, (CALIBRATIONS, *CALIBRATION)):
        blocks = _forecast(cell, variance_components(values).deviation()[0], effect)
        said.append(inf if blocks is None else float(blocks))
    low, median, high = np.quantile(said, [0.25, 0.5, 0.75], method="inverted_cdf")
    return float(low), float(median), float(high)
