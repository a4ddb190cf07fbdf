"""How likely each treatment is the best one, over all of them at once.

A Bayesian bootstrap over blocks (Rubin 1981): blocks get random weights, common to all treatments, so that what they
share cancels. Weighted means are drawn apart by sqrt((n + 1) / (n - 1)), which gives them the variance s^2 / n.
"""

from functools import lru_cache

import numpy as np

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.observations import Table
from pgassay.analysis.robust import SEED
from pgassay.analysis.series import Floats
from pgassay.study.responses import Better, Response, Scale

DRAWS = 10_000


def chances_of(table: Table, response: Response, baseline: str) -> dict[str, float]:
    """Treatment → the probability that it is the best of its cell, the baseline included; they sum to 1.

    Empty when neither direction is better, and below five blocks. A treatment without five blocks in common with the
    baseline is left out (its effect says why).
    """
    blocks, array = table.array()
    names = list(table.treatments)
    if response.better is Better.NEITHER or baseline not in names or len(blocks) < FIRST_LOOK:
        return {}
    values = np.log(array) if response.scale is Scale.RATIO else array
    contrasts = values - values[:, [names.index(baseline)]]
    usable = [column for column in range(len(names)) if np.isfinite(contrasts[:, column]).sum() >= FIRST_LOOK]
    if not usable:  # the baseline itself lacks blocks
        return {}
    weights, sums = _weights(len(blocks))
    have = np.isfinite(contrasts[:, usable])
    seen = np.where(have, contrasts[:, usable], 0.0)
    n = have.sum(axis=0)
    totals = sums[:, None] if have.all() else weights @ have
    means = seen.sum(axis=0) / n
    drawn = means + (weights @ seen / totals - means) * np.sqrt((n + 1) / (n - 1))
    winners = drawn.argmax(axis=1) if response.better is Better.HIGHER else drawn.argmin(axis=1)
    return {names[column]: float((winners == place).mean()) for place, column in enumerate(usable)}


@lru_cache(maxsize=1)
def _weights(blocks: int) -> tuple[Floats, Floats]:
    """The bootstrap's weights, shape (draws, blocks), and their sums; the same for every cell of a run."""
    weights = np.random.default_rng(SEED).standard_exponential((DRAWS, blocks))
    return weights, weights.sum(axis=1)
