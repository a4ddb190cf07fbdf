"""Change points of the mean: the exact optimum of squared error plus a penalty for each change.

Optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12(2), 2005), the optimum that PELT finds too; on
batches a series is short enough to need no pruning, and all trials are solved at once.
"""

from math import log

import numpy as np

from pgassay.analysis.boundaries import Floats
from pgassay.analysis.seconds import batch_noise

PENALTY = 4.0
"""Times the noise's variance and log n, for each change. BIC's is 2, for a known variance and independent values."""

LEAST = 2
"""Batches in a level: a single odd one is a stall, and no new level."""


def changes(means: Floats) -> list[tuple[int, ...]]:
    """For each trial of `means`, shape (trials, batches): where a new level begins, first batch not counted."""
    trials, count = means.shape
    if count < 2:
        return [() for _ in range(trials)]
    scale = np.abs(means).max(axis=1)
    floor = 1e-9 * np.where(scale > 0.0, scale, 1.0)  # rounding of a constant series is no change
    penalty = PENALTY * log(count) * np.maximum(batch_noise(means), floor) ** 2
    return partition(means, penalty)


def partition(means: Floats, penalty: Floats) -> list[tuple[int, ...]]:
    """The best partition of each row under its own `penalty`, shape (trials,)."""
    trials, count = means.shape
    centred = means - means.mean(axis=1, keepdims=True)
    zero = np.zeros((trials, 1))
    total = np.concatenate((zero, centred.cumsum(axis=1)), axis=1)
    squares = np.concatenate((zero, (centred * centred).cumsum(axis=1)), axis=1)
    best = np.full((trials, count + 1), np.inf)
    best[:, 0] = -penalty
    start = np.zeros((trials, count + 1), dtype=np.intp)
    for end in range(min(LEAST, count), count + 1):
        last = max(end - LEAST, 0) + 1
        length = end - np.arange(last)
        inside = squares[:, [end]] - squares[:, :last] - (total[:, [end]] - total[:, :last]) ** 2 / length
        cost = best[:, :last] + inside + penalty[:, None]
        start[:, end] = cost.argmin(axis=1)
        best[:, end] = cost[np.arange(trials), start[:, end]]
    return [_walk_back(row) for row in start.tolist()]


def _walk_back(start: list[int]) -> tuple[int, ...]:
    found: list[int] = []
    end = start[-1]
    while end > 0:
        found.append(end)
        end = start[end]
    return tuple(reversed(found))
