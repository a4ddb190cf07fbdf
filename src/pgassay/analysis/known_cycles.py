"""Does a series of seconds repeat itself with the cycles that are known, because each checkpoint's beginning was seen?

Fewer cycles do than a search needs (`cycles`): only the harmonics of one known period are asked for. Time is stretched
so that cycles count alike, as WAL makes them of unequal length; power at the harmonics is then set against the power
between them, F-distributed for any noise whose spectrum is smooth there. Checked in benchmarks/validity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from scipy.special import fdtrc  # type: ignore[import-untyped]

from pgassay.analysis.series import Floats

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
    """Of one series without gaps, shape (seconds,), and the moments in it at which cycles begin, in seconds from its
    beginning. None with fewer than two whole cycles, and of cycles too short to have a shape."""
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
    power = np.abs(spectrum) ** 2 / _expected(rest, len(spectrum))
    noise = float(power[between].mean())
    profile = np.fft.irfft(_only(spectrum, tried), count) * count
    swing = float(np.ptp(profile)) / abs(mean) if mean != 0.0 else 0.0
    if noise <= 1e-24 * max(float(np.abs(folded).max()), 1e-300) ** 2:  # nothing but rounding beside the cycles
        return Repetition(0.0 if swing > 0.0 else 1.0, period_s, swing)
    ratio = float(power[tried].mean()) / noise
    return Repetition(float(fdtrc(2 * len(tried), 2 * len(between), ratio)), period_s, swing)


def _expected(rest: Floats, count: int) -> Floats:
    """The shape of the spectrum of noise that remembers its last second, less what the straight line took away."""
    squares = max(float(rest @ rest), 1e-300)
    memory = float(rest[1:] @ rest[:-1]) / squares
    memory = min(max(memory + (1.0 + 4.0 * memory) / len(rest), 0.0), 0.98)
    places = np.arange(count)
    shape = 1.0 / (1.0 + memory**2 - 2.0 * memory * np.cos(2.0 * pi * places / len(rest)))
    left = 1.0 - 6.0 / (pi * np.maximum(places, 1)) ** 2
    return np.asarray(shape * left, dtype=np.float64)


def _only(spectrum: np.ndarray, places: np.ndarray) -> np.ndarray:
    kept = np.zeros_like(spectrum)
    kept[places] = spectrum[places]
    return kept
