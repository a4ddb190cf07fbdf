"""Simulated studies as arrays, and what pgassay would say of each at every look.

The intervals are those of `pgassay.analysis` written for arrays of studies; `agreement` holds the two to each other.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from benchmarks.validity.cells import Cell
from pgassay.analysis.boundaries import FIRST_LOOK, criticals

Floats = npt.NDArray[np.float64]
LEAST_VALUE = 0.05  # additive noise may not make a response negative: a trial below this would not be one
DRIFT = 0.2
BLOCK_SPREAD = 0.1


def logs(cell: Cell, studies: int, effects: Floats, rng: np.random.Generator) -> Floats:
    """Logarithms of the response, shape (studies, blocks, treatments); NaN where a trial is missing.

    `effects` are the treatments' true log-ratios (first: the baseline, 0), of medians: the noise has median 1 (stalls:
    geometric mean 1). For additive noise that is the ratio of means too.
    """
    shape = (studies, cell.blocks, cell.treatments)
    cvs = np.full(cell.treatments, cell.cv)
    if cell.situation == "3x spread":
        cvs[-1] *= 3.0
    values = np.stack([_noise(cell.noise, float(cv), shape[:2], rng) for cv in cvs], axis=2) + effects
    if cell.situation == "drift":
        order = rng.random(shape).argsort(axis=2)
        mirrored = order[:, : cell.blocks - cell.blocks % 2 : 2]
        order[:, 1::2] = cell.treatments - 1 - mirrored  # as `design.blocks.order` does
        position = (np.arange(cell.blocks)[:, None] * cell.treatments + order) / (cell.blocks * cell.treatments)
        values += log(1.0 - DRIFT) * position
    elif cell.situation == "blocks":
        values += rng.normal(0.0, BLOCK_SPREAD, shape[:2])[:, :, None]
    elif cell.situation == "dropped":
        values[rng.random(shape) < 0.1] = np.nan
        leaves = rng.integers(FIRST_LOOK, 2 * cell.blocks, (studies, 1, cell.treatments))
        leaves[:, :, 0] = 2 * cell.blocks  # the baseline stays
        values[np.arange(cell.blocks)[:, None] >= leaves] = np.nan
    return values


def _noise(kind: str, cv: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Noise on the log scale."""
    if kind == "normal":
        return np.log(np.maximum(1.0 + cv * rng.standard_normal(shape), LEAST_VALUE))
    if kind == "t3":
        return cv * rng.standard_t(3, shape) / sqrt(3.0)
    noise = sqrt(log(1.0 + cv * cv)) * rng.standard_normal(shape)
    if kind == "stalls":
        noise += 10.0 * cv * (0.05 - (rng.random(shape) < 0.05))
    return noise


@dataclass(frozen=True)
class Paths:
    """Every look of every comparison, shape (studies, looks, comparisons), on the log scale.

    `half` is infinite where there is no interval (fewer than five pairs); `inner` is that of two one-sided tests.
    """

    pairs: npt.NDArray[np.int64]
    mean: Floats
    half: Floats
    inner: Floats

    def different(self) -> npt.NDArray[np.bool_]:
        """Looks at which the interval leaves out no effect."""
        return np.abs(self.mean) > self.half

    def equivalent(self, margin: float) -> npt.NDArray[np.bool_]:
        """Looks at which the inner interval lies within ±margin."""
        return np.abs(self.mean) + self.inner < margin

    def settled_at(self, margin: float) -> Floats:
        """Block of the first verdict, shape (studies, comparisons); infinite where there is none by the horizon."""
        settled = self.different() | self.equivalent(margin)
        return np.where(settled.any(axis=1), settled.argmax(axis=1) + FIRST_LOOK, np.inf)


def look(values: Floats, horizon: int, level: float = 0.95) -> Paths:
    """The paths of a table of studies (see `logs`), as seen after each block from the fifth on."""
    contrasts = values[:, :, 1:] - values[:, :, :1]
    have = ~np.isnan(contrasts)
    kept = np.where(have, contrasts, 0.0)
    n = have.cumsum(axis=1)[:, FIRST_LOOK - 1 :]
    total = kept.cumsum(axis=1)[:, FIRST_LOOK - 1 :]
    squares = (kept * kept).cumsum(axis=1)[:, FIRST_LOOK - 1 :]
    count = np.maximum(n, 2)
    mean = total / count
    error = np.sqrt(np.maximum(squares - count * mean * mean, 0.0) / (count - 1) / count)
    alpha = (1.0 - level) / contrasts.shape[2]
    enough = n >= FIRST_LOOK
    half, inner = (np.where(enough, _critical(horizon, each)[n] * error, np.inf) for each in (alpha, 2.0 * alpha))
    return Paths(n, mean, half, inner)


def _critical(horizon: int, alpha: float) -> Floats:
    """Critical value by number of pairs, from 0; those before the first look are never used."""
    return np.concatenate((np.zeros(FIRST_LOOK), criticals(horizon, alpha)))
