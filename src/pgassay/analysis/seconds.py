"""A trial's per-second series: gaps bridged, batches of five seconds, the warm-up's end, the mean's error, new levels.

Many trials at once, as arrays: a run may have ten thousand of them. Nothing here changes a trial's result, which stays
the unit of inference: the end of the warm-up is a mark, and the error describes a trial without replacing repetitions.

Change points of the mean are the exact optimum of squared error plus a penalty for each change: optimal partitioning
(Jackson et al., IEEE Signal Processing Letters 12(2), 2005), the optimum that PELT finds too; on batches a series is
short enough to need no pruning.
"""

from dataclasses import dataclass
from math import isqrt, log, nan, sqrt

import numpy as np
import numpy.typing as npt

from pgassay.analysis.boundaries import Floats

BATCH_S = 5
"""Seconds in a batch: MSER-5's, long enough to average out most of the correlation between neighbouring seconds."""

MISSING_MAX = 0.2
"""Beyond this share of missing seconds a series is not judged."""


@dataclass(frozen=True)
class Batches:
    """`means` has shape (trials, batches): whole batches only, a rest shorter than a batch is left out at the end.

    `missing` is each trial's share of seconds without a finite value, shape (trials,).
    """

    means: Floats
    missing: Floats


def bridge_gaps(seconds: Floats) -> tuple[Floats, Floats]:
    """Series of equal length with their gaps bridged by a straight line, and each one's share of missing seconds."""
    present = np.isfinite(seconds)
    missing = 1.0 - present.mean(axis=1) if seconds.shape[1] else np.ones(len(seconds))
    if not missing.any():
        return seconds, missing
    filled = seconds.astype(np.float64, copy=True)
    for trial in np.flatnonzero((missing > 0.0) & (missing < 1.0)):
        have = present[trial]
        filled[trial] = np.interp(np.arange(len(have)), np.flatnonzero(have), seconds[trial, have])
    filled[missing == 1.0] = 0.0
    return filled, missing


def batches(seconds: Floats) -> Batches:
    """Batch means of series of equal length, shape (trials, seconds)."""
    filled, missing = bridge_gaps(seconds)
    count = seconds.shape[1] // BATCH_S
    means = filled[:, : count * BATCH_S].reshape(len(seconds), count, BATCH_S).mean(axis=2)
    return Batches(means, missing)


def batch_noise(means: Floats) -> Floats:
    """Standard deviation of a batch about its local level, shape (trials,): from differences, so that steps and drift
    do not count (their median absolute value is 0.6745 sqrt(2) times the deviation)."""
    if means.shape[1] < 2:
        return np.zeros(len(means))
    return np.asarray(np.median(np.abs(np.diff(means, axis=1)), axis=1) / (0.6745 * np.sqrt(2.0)), dtype=np.float64)


def warm_up_ends(seconds: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where the warm-up of each series ends (s) and whether the series settled: two columns of shape (trials,).

    MSER-5 (White, Simulation 69(6), 1997): cut off the first d batches where the standard error of the mean of the
    rest, as if they were independent, is least. Nothing is discarded; a cut beyond the middle means that the series
    never settled. Series shorter than four batches have no cut and are not settled.
    """
    means = batches(seconds).means
    trials, count = means.shape
    if count < 4:
        return np.zeros(trials, dtype=np.intp), np.zeros(trials, dtype=np.bool_)
    centred = means - means.mean(axis=1, keepdims=True)  # against cancellation
    left = np.arange(count, 0, -1)
    total = centred[:, ::-1].cumsum(axis=1)[:, ::-1]
    squares = (centred * centred)[:, ::-1].cumsum(axis=1)[:, ::-1]
    error = (squares - total * total / left) / (left * left)
    # The last few cuts leave almost nothing, whose error is small by chance: the usual guard.
    error[:, count - 3 :] = np.inf
    best = error.argmin(axis=1)
    return best * BATCH_S, best <= count // 2


@dataclass(frozen=True)
class MeanError:
    """`error` of `mean` in the series' unit; `inefficiency`: how many seconds count as one independent value."""

    seconds: int
    mean: float
    error: float
    inefficiency: float


def errors_of_means(seconds: Floats) -> Floats:
    """The error of the mean of many series of equal length, shape (trials, seconds); NaN below nine seconds."""
    trials, n = seconds.shape
    found = np.full(trials, nan)
    if n < 9:
        return found
    whole = np.isfinite(seconds).all(axis=1)
    count = isqrt(n)
    length = n // count
    means = seconds[whole, n - count * length :].reshape(-1, count, length).mean(axis=2)
    found[whole] = means.std(axis=1, ddof=1) / sqrt(count)
    for row in np.flatnonzero(~whole):
        found[row] = mean_error(seconds[row]).error
    return found


def mean_error(seconds: Floats) -> MeanError:
    """The error of the mean of one series, shape (seconds,), whose seconds are not independent: batch means.

    Neighbouring seconds share buffers, checkpoints and queues, so s / sqrt(n) is too small. Means of long batches are
    nearly independent (Conway 1963; Flegal and Jones, Annals of Statistics 2010: about sqrt(n) batches). Missing
    seconds are left out; NaN below nine seconds.
    """
    values = np.asarray(seconds, dtype=np.float64)
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 9:
        return MeanError(n, float(values.mean()) if n else nan, nan, nan)
    count = isqrt(n)
    length = n // count
    means = values[n - count * length :].reshape(count, length).mean(axis=1)
    error = float(means.std(ddof=1)) / sqrt(count)
    naive = float(values.std(ddof=1)) / sqrt(n)
    return MeanError(n, float(values.mean()), error, (error / naive) ** 2 if naive > 0.0 else nan)


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
    found = []
    for row in start.tolist():
        places, end = [], row[-1]
        while end > 0:
            places.append(end)
            end = row[end]
        found.append(tuple(reversed(places)))
    return found
