"""Simulated studies as arrays, and what pgassay would say of each at every look.

The intervals are those of `pgassay.analysis` written for arrays of studies; `agreement` holds the two to each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from benchmarks.validity.cells import Cell
from pgassay.analysis.boundaries import FIRST_LOOK, PRIOR_MAX, criticals, with_more_freedom

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
        order[:, 1::2] = cell.treatments - 1 - mirrored  # as `design.schedule.order` does
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

    `half` is infinite where there is no interval (fewer than five pairs).
    """

    pairs: npt.NDArray[np.int64]
    mean: Floats
    half: Floats

    def different(self) -> npt.NDArray[np.bool_]:
        """Looks at which the interval leaves out no effect."""
        return np.abs(self.mean) > self.half

    def equivalent(self, margin: float) -> npt.NDArray[np.bool_]:
        """Looks at which the interval lies within ±margin."""
        return np.abs(self.mean) + self.half < margin

    def settled_at(self, margin: float) -> Floats:
        """Block of the first verdict, shape (studies, comparisons); infinite where there is none by the horizon."""
        settled = self.different() | self.equivalent(margin)
        return np.where(settled.any(axis=1), settled.argmax(axis=1) + FIRST_LOOK, np.inf)


def look(values: Floats, horizon: int, level: float = 0.95, *, stage: int | None = None) -> Paths:
    """The paths of a table of studies (see `logs`), as seen after each block from the fifth on.

    Variances are moderated by the treatments that have every block that a treatment has so far (`effects.Peers`).
    """
    contrasts = values[:, :, 1:] - values[:, :, :1]
    have = ~np.isnan(contrasts)
    kept = np.where(have, contrasts, 0.0)
    treatments = contrasts.shape[2]
    alpha = (1.0 - level) / treatments
    found = list(_looks(kept, have.astype(np.float64)))
    pairs, mean, own, moderated, freedom = (np.stack(each, axis=1) for each in zip(*found, strict=True))
    n, prior = pairs.astype(np.int64), freedom.astype(np.int64)
    alone = _critical(horizon, alpha, stage)
    shared = np.stack([_shared(alone, extra) for extra in range(PRIOR_MAX + 1)])
    guard = _critical(horizon, alpha * treatments, stage)[n] * own if treatments > 1 else 0.0
    half = np.where(prior > 0, np.maximum(shared[prior, n] * moderated, guard), alone[n] * own)
    return Paths(n, mean, np.where(n >= FIRST_LOOK, half, np.inf))


def _looks(kept: Floats, have: Floats) -> Iterator[tuple[Floats, ...]]:
    """Of each look and contrast: pairs, mean, its own error, the moderated error and the freedom of the prior."""
    studies, blocks, treatments = kept.shape
    # Entry (j, i): the contrasts of i over the blocks of j.
    shared, total, squares = (np.zeros((studies, treatments, treatments)) for _ in range(3))
    for block in range(blocks):
        mine, theirs = have[:, block, :, None], kept[:, block, None, :]
        shared += mine * have[:, block, None, :]
        total += mine * theirs
        squares += mine * theirs * theirs
        if block + 1 < FIRST_LOOK:
            continue
        count = np.diagonal(shared, axis1=1, axis2=2)
        n = np.maximum(count, 2.0)
        variance = np.maximum(squares - total * total / n[:, :, None], 0.0) / (n[:, :, None] - 1.0)
        peers = shared == count[:, :, None]
        together = peers.sum(axis=2)
        pooled = np.where(peers, variance, 0.0).sum(axis=2) / together
        own = np.diagonal(variance, axis1=1, axis2=2)
        prior = np.minimum(together - 1, PRIOR_MAX)
        moderated = (prior * pooled + (n - 1.0) * own) / (prior + n - 1.0)
        mean = np.diagonal(total, axis1=1, axis2=2) / n
        yield count.copy(), mean, np.sqrt(own / n), np.sqrt(moderated / n), prior


def _critical(horizon: int, alpha: float, stage: int | None = None) -> Floats:
    """Critical value by number of pairs, from 0; those before the first look are never used."""
    return np.concatenate((np.zeros(FIRST_LOOK), criticals(horizon, alpha, stage)))


def _shared(values: Floats, prior: int) -> Floats:
    """The same for a variance that `prior` more degrees of freedom know."""
    pairs = enumerate(values.tolist())
    return np.asarray([with_more_freedom(value, n, prior) if n >= FIRST_LOOK else 0.0 for n, value in pairs])
