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


def mean_errors(seconds: Floats) -> tuple[MeanError, ...]:
    """Of many series of equal length, shape (trials, seconds); those without a gap in one pass."""
    trials, n = seconds.shape
    whole = [bool(row.all()) for row in np.isfinite(seconds)]
    if n < 9 or not any(whole):
        return tuple(mean_error(row) for row in seconds)
    count = isqrt(n)
    length = n // count
    means = seconds[:, n - count * length :].reshape(trials, count, length).mean(axis=2)
    errors = means.std(axis=1, ddof=1) / sqrt(count)
    naive = seconds.std(axis=1, ddof=1) / sqrt(n)
    middles = seconds.mean(axis=1)
    found = []
    for row, usable, middle, error, plain in zip(seconds, whole, middles, errors, naive, strict=True):
        if not usable:
            found.append(mean_error(row))
        else:
            inefficiency = float(error / plain) ** 2 if plain > 0.0 else nan
            found.append(MeanError(n, float(middle), float(error), inefficiency))
    return tuple(found)


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
