"""The error of a trial's mean when its seconds are not independent: batch means.

Neighbouring seconds share buffers, checkpoints and queues, so s / sqrt(n) is too small. Means of long batches are
nearly independent (Conway 1963; Flegal and Jones, Annals of Statistics 2010: about sqrt(n) batches). It describes a
trial; it never stands in for repeating it.
"""

from dataclasses import dataclass
from math import isqrt, nan, sqrt

import numpy as np

from pgassay.analysis.series import Floats


@dataclass(frozen=True)
class MeanError:
    """`error` of `mean` in the series' unit; `inefficiency`: how many seconds count as one independent value."""

    seconds: int
    mean: float
    error: float
    inefficiency: float


def errors_of_means(seconds: Floats) -> Floats:
    """`mean_error(row).error` of many series of equal length, shape (trials, seconds); those without a gap together."""
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
    """Of one series, shape (seconds,); missing seconds are left out. NaN below nine seconds, where batches are none."""
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
