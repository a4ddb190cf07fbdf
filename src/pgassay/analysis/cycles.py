"""Does a series of seconds repeat itself, as checkpoints make it do? A test on its periodogram.

Fisher's idea (Proc. Royal Society A 125, 1929), made local: after whitening with the series' own first-order
autocorrelation, the highest ordinate is set against its neighbours, so that slow or coloured noise of another kind than
assumed raises both. Simulated false alarms and power are in benchmarks/validity and in docs/statistics.md.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pgassay.analysis.series import Floats

FALSE_ALARM = 0.01
"""Nominal; at most twice that for noise with memory, walks, steps, drift and stalls."""

PERIOD_MIN_S = 10
"""Shorter cycles are none of checkpoints, and average out within any window."""
_CYCLES_MIN = 2.5
"""Fewer in a window cannot be told from a drift; from four on the test has power."""
_FINER = 2
"""Frequencies tried for each independent one."""
_OCTAVES = 2.5
"""Neighbours: from a peak's frequency divided by this to as many times it, and at least `_LEAST_ABOVE` above it."""
_LEAST_ABOVE = 6
_APART = 1.25
"""Ordinates so near to the peak, or to its first overtone, belong to it."""
_ROWS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Cycles:
    """Of each trial, shape (trials,): the chance of so high a peak without cycles, its period, and the swing.

    `swing` is from peak to trough of the sine at the period, as a share of the mean.
    """

    chance: Floats
    period_s: Floats
    swing: Floats


def cycles(seconds: Floats) -> Cycles:
    """Of series of equal length without gaps, shape (trials, seconds)."""
    trials, length = seconds.shape
    step = max(1, _ROWS_AT_ONCE // max(1, length))
    parts = [_cycles(seconds[begin : begin + step]) for begin in range(0, trials, step)]
    if not parts:
        return Cycles(np.ones(0), np.zeros(0), np.zeros(0))
    columns = zip(*((part.chance, part.period_s, part.swing) for part in parts), strict=True)
    return Cycles(*(np.concatenate(column) for column in columns))


def _cycles(seconds: Floats) -> Cycles:
    trials, length = seconds.shape
    first, last = int(np.ceil(_CYCLES_MIN * _FINER)), _FINER * length // PERIOD_MIN_S
    if last < first:
        return Cycles(np.ones(trials), np.full(trials, np.nan), np.zeros(trials))
    mean = seconds.mean(axis=1, keepdims=True)
    rest = _without_trend(seconds - mean)
    power = np.abs(np.fft.rfft(rest, _FINER * length, axis=1)) ** 2 / length
    tried = np.arange(first, last + 1)
    chances = _chances(power / _expected(rest, power.shape[1]), tried)
    best = chances.argmin(axis=1)
    rows = np.arange(trials)
    chance = -np.expm1((last - first + 1) * np.log1p(-np.minimum(chances[rows, best], 1.0 - 1e-12)))
    near = np.clip(tried[best][:, None] + np.arange(-_FINER, _FINER + 1), first, last)
    peak = near[rows, power[rows[:, None], near].argmax(axis=1)]  # a clean one leaks, and its slope may look rarer
    swing = 4.0 * np.sqrt(power[rows, peak] / length)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(swing / np.abs(mean[:, 0]), posinf=0.0)
    return Cycles(chance, _FINER * length / peak, share)


def _without_trend(rest: Floats) -> Floats:
    places = np.arange(rest.shape[1]) - (rest.shape[1] - 1) / 2
    return np.asarray(rest - (rest @ places / (places @ places))[:, None] * places, dtype=np.float64)


def _expected(rest: Floats, count: int) -> Floats:
    """The shape of an autoregressive spectrum of order one, its coefficient corrected for the length of the series."""
    length = rest.shape[1]
    squares = np.maximum((rest * rest).sum(axis=1), 1e-300)
    memory = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / squares
    memory = np.clip(memory + (1.0 + 4.0 * memory) / length, 0.0, 0.98)[:, None]
    turns = np.cos(2.0 * np.pi * np.arange(count) / (_FINER * length))
    return np.asarray(1.0 / (1.0 + memory**2 - 2.0 * memory * turns), dtype=np.float64)


def _chances(power: Floats, tried: npt.NDArray[np.intp]) -> Floats:
    """For each frequency tried: the chance of so high an ordinate among its neighbours, all exponential alike."""
    independent = power[:, ::_FINER]
    sums = np.concatenate((np.zeros((len(power), 1)), independent.cumsum(axis=1)), axis=1)
    at = tried / _FINER
    low = np.maximum(1, np.ceil(at / _OCTAVES)).astype(np.intp)
    high = np.maximum(np.floor(at * _OCTAVES), np.floor(at + _LEAST_ABOVE)).astype(np.intp)
    high = np.minimum(high, independent.shape[1] - 1)
    total, count = sums[:, high + 1] - sums[:, low], high + 1 - low
    for centre in (at, 2.0 * at):
        begin = np.maximum(low, np.ceil(centre - _APART)).astype(np.intp)
        end = np.maximum(np.minimum(high, np.floor(centre + _APART)).astype(np.intp) + 1, begin)
        end = np.minimum(end, sums.shape[1] - 1)
        begin = np.minimum(begin, end)
        total, count = total - (sums[:, end] - sums[:, begin]), count - (end - begin)
    count = np.maximum(count, 1)
    mean = total / count
    floor = 1e-12 * sums[:, [-1]] + 1e-300  # nothing but rounding beside the peak: as good as a peak of that height
    return np.asarray((1.0 + power[:, tried] / np.maximum(mean, floor) / count) ** -count, dtype=np.float64)
