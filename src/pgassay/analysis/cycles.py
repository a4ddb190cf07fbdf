"""Does a series of seconds repeat itself, as checkpoints make it do?

`cycles` searches for a period in many series at once; `repetition` asks whether one series repeats itself in step with
cycles whose beginnings are known (each checkpoint's start was seen), for which two cycles are enough. Simulated false
alarms and power are in benchmarks/validity and in docs/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import Floats

FALSE_ALARM = 0.01
"""Nominal; at most twice that for noise with memory, walks, steps, drift and stalls."""

PERIOD_MIN_S = 10
"""Shorter cycles are none of checkpoints, and average out within any window."""
_CYCLES_MIN = 2.5
"""Fewer in a window cannot be distinguished from a drift; from four on the test has power."""
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
    """Search for a period in series of equal length without gaps, shape (trials, seconds).

    A test on the periodogram: Fisher's idea (Proc. Royal Society A 125, 1929), made local. After whitening with the
    series' own first-order autocorrelation, the highest ordinate is set against its neighbours, so that slow or
    coloured noise of another kind than assumed raises both.
    """
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


CYCLES_MIN = 2
"""Whole cycles in the series, below which nothing can repeat itself."""

_HARMONICS = 8
"""A dip of two seconds in a cycle of half a minute shows in as many; finer ones do not keep step."""
_POINTS_MIN = 8
"""Seconds in a cycle, below which it has no shape."""


@dataclass(frozen=True)
class Repetition:
    """The chance of so much power at the harmonics without cycles, the mean period, and the swing.

    `swing` is from peak to trough of what repeats itself (its harmonics), as a share of the mean.
    """

    chance: float
    period_s: float
    swing: float


def repetition(seconds: Floats, starts_s: Sequence[float]) -> Repetition | None:
    """Does one series without gaps, shape (seconds,), repeat itself with cycles that begin at `starts_s`?

    `starts_s` are seconds from the beginning of the series. None with fewer than two whole cycles, and for cycles too
    short to have a shape. Only the harmonics of the one known period are tested. Time is stretched so that cycles count
    alike, as WAL makes them of unequal length; power at the harmonics is then set against the power between them, which
    is F-distributed for any noise whose spectrum is smooth there.
    """
    starts = np.unique(np.asarray([start for start in starts_s if 0.0 <= start <= len(seconds)], dtype=np.float64))
    if len(starts) < CYCLES_MIN:
        return None
    period_s = float(starts[-1] - starts[0]) / (len(starts) - 1)
    points = round(period_s)
    ends = np.arange(len(starts), dtype=np.float64)
    first, last = ends[0] - starts[0] / period_s, ends[-1] + (len(seconds) - starts[-1]) / period_s
    whole = int(last - first + 0.5 / max(points, 1))  # half a second may be missing
    if whole < CYCLES_MIN or points < _POINTS_MIN:
        return None
    # The last whole cycles: the first one may still hold a warm-up.
    turns = last - whole + (np.arange(whole * points) + 0.5) / points
    knots = np.concatenate(([starts[0] - whole * period_s], starts, [starts[-1] + whole * period_s]))
    moments = np.interp(turns, np.concatenate(([-float(whole)], ends, [ends[-1] + whole])), knots)
    folded = np.interp(moments, np.arange(len(seconds)) + 0.5, seconds)
    return _judge(folded, whole, points, period_s)


def _judge(folded: Floats, whole: int, points: int, period_s: float) -> Repetition:
    count = len(folded)
    mean = float(folded.mean())
    places = np.arange(count) - (count - 1) / 2
    rest = folded - mean
    rest -= rest @ places / (places @ places) * places
    spectrum = np.fft.rfft(rest) / count
    harmonics = min(_HARMONICS, points // 4)
    tried = np.arange(1, harmonics + 1) * whole
    between = np.setdiff1d(np.arange((whole + 1) // 2, tried[-1] + whole // 2 + 1), tried)
    power = np.abs(spectrum) ** 2 / _expected_between(rest, len(spectrum))
    noise = float(power[between].mean())
    profile = np.fft.irfft(_only(spectrum, tried), count) * count
    swing = float(np.ptp(profile)) / abs(mean) if mean != 0.0 else 0.0
    if noise <= 1e-24 * max(float(np.abs(folded).max()), 1e-300) ** 2:  # nothing but rounding beside the cycles
        return Repetition(0.0 if swing > 0.0 else 1.0, period_s, swing)
    power = power / _slope(power, between)
    ratio = float(power[tried].mean()) / float(power[between].mean())
    return Repetition(float(fdtrc(2 * len(tried), 2 * len(between), ratio)), period_s, swing)


def _expected_between(rest: Floats, count: int) -> Floats:
    """The shape of the spectrum of noise that remembers its last second, less what the straight line took away."""
    squares = max(float(rest @ rest), 1e-300)
    memory = float(rest[1:] @ rest[:-1]) / squares
    memory = min(max(memory + (1.0 + 4.0 * memory) / len(rest), 0.0), 0.98)
    places = np.arange(count)
    shape = 1.0 / (1.0 + memory**2 - 2.0 * memory * np.cos(2.0 * pi * places / len(rest)))
    left = 1.0 - 6.0 / (pi * np.maximum(places, 1)) ** 2
    return np.asarray(shape * left, dtype=np.float64)


def _slope(power: Floats, between: npt.NDArray[np.intp]) -> Floats:
    """How the power between the harmonics still falls with the frequency: as a power of it, by least squares.

    Noise of two kinds (a walk below white noise) is not of the expected shape. Of three cycles in 900 seconds of it the
    first harmonic stood above the mean of all that is between, and 4 % of such series were called cyclic.
    """
    at, height = np.log(between), np.log(np.maximum(power[between], 1e-300))
    at = at - at.mean()
    slope = min(0.0, float(at @ height) / float(at @ at))
    return np.asarray(np.maximum(np.arange(len(power)), 1) ** slope, dtype=np.float64)


def _only(spectrum: np.ndarray, places: np.ndarray) -> np.ndarray:
    kept = np.zeros_like(spectrum)
    kept[places] = spectrum[places]
    return kept
