"""How well the mean of a steady write amplification is known: windows of equal length in, plain values out.

Data that were written together are collected together, so write amplification comes in waves, one for each turn of the
flash. A window shorter than a wave says nothing of the mean, so intervals are by means of whole waves. Whether it is
steady, the flash model itself says (`_core.flash_is_steady`), for simulated and emulated drives alike.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit  # type: ignore[import-untyped]

Windows = NDArray[np.float64]
"""Write amplification of successive windows, oldest first; all windows have as many host writes."""

CONFIDENCE = 0.95
_BATCHES = 10
"""At least, for an interval; up to twice as many."""
_CORRELATED = 0.05
"""Chance that means of independent batches are taken for correlated ones."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval; `independent` is False where the batches still depend on each other, so that the
    interval may be too narrow."""

    mean: float
    low: float
    high: float
    independent: bool

    def reaches(self, accuracy: float) -> bool:
        """Whether half of the interval is at most this share of the mean."""
        return self.independent and (self.high - self.low) / 2 <= accuracy * abs(self.mean)


def estimate(windows: Windows, wave: float) -> Estimate | None:
    """The mean and its interval by batch means; None for fewer than ten batches of one wave (in windows) or more.

    The windows are cut into 10 to 20 batches; the interval is Student's t over their means, around the mean of all
    windows. It holds as far as the batches are independent, so they are made longer until their lag-one correlation is
    one that chance gives. Method and number of batches: Conway, Management Science 10 (1963) 47-61; Law and Carson,
    Operations Research 27 (1979) 1011-1025, who let batches grow until the interval is narrow enough; Schmeiser,
    Operations Research 30 (1982) 556-568, for whom 10 to 30 batches are enough. Batches that end inside a wave only
    make the interval wider.
    """
    count = len(windows)
    longest = count // _BATCHES
    if longest < max(1.0, wave):
        return None
    shortest = max(math.ceil(wave), math.ceil(count / (2 * _BATCHES)))
    for length in dict.fromkeys((min(shortest, longest), longest)):
        means = _batches(windows, length)
        independent = _independent(means)
        if independent:
            break
    mean = float(windows.mean())
    half = float(stdtrit(len(means) - 1, (1 + CONFIDENCE) / 2)) * (float(means.std(ddof=1)) / math.sqrt(len(means)))
    return Estimate(mean, mean - half, mean + half, independent)


def _batches(windows: Windows, length: int) -> Windows:
    """Means of successive batches of so many windows; what is left over at the start belongs to none."""
    count = len(windows) // length
    means: Windows = windows[len(windows) - count * length :].reshape(count, length).mean(axis=1)
    return means


def _independent(means: Windows) -> bool:
    """Whether the lag-one correlation is no higher than chance makes it (von Neumann's ratio; one-sided, because
    batches that cut waves alternate, which only widens the interval)."""
    deviations = means - means.mean()
    total = float(deviations @ deviations)
    if total <= len(means) * (1e-9 * float(means.mean())) ** 2:
        return True
    count = len(means)
    ratio = float(np.square(np.diff(means)).sum()) / total
    spread = math.sqrt(4 * (count - 2) / (count**2 - 1))
    return ratio >= 2 - float(ndtri(1 - _CORRELATED)) * spread
