"""A trial's per-second series as the steadiness of it is judged: batches of five seconds, gaps bridged and counted.

Many trials at once, as arrays: a run may have ten thousand of them. Nothing here changes what a trial's result is;
the trial stays the unit of inference.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BATCH_S = 5
"""Seconds in a batch: MSER-5's, long enough to average out most of the correlation between neighbouring seconds."""

MISSING_MAX = 0.2
"""Beyond this share of missing seconds a series is not judged."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Batches:
    """`means` has shape (trials, batches): whole batches only, a rest shorter than a batch is left out at the end.

    `missing` is each trial's share of seconds without a finite value, shape (trials,).
    """

    means: Floats
    missing: Floats


def bridged(seconds: Floats) -> tuple[Floats, Floats]:
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
    filled, missing = bridged(seconds)
    count = seconds.shape[1] // BATCH_S
    means = filled[:, : count * BATCH_S].reshape(len(seconds), count, BATCH_S).mean(axis=2)
    return Batches(means, missing)


def noise(means: Floats) -> Floats:
    """Standard deviation of a batch about its local level, shape (trials,): from differences, so that steps and drift
    do not count (their median absolute value is 0.6745 sqrt(2) times the deviation)."""
    if means.shape[1] < 2:
        return np.zeros(len(means))
    return np.asarray(np.median(np.abs(np.diff(means, axis=1)), axis=1) / (0.6745 * np.sqrt(2.0)), dtype=np.float64)
