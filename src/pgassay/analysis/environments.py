"""One combination of a study measured in two environments: ratio with an interval for independent samples.

Runs on two hosts share no blocks, so nothing cancels: each side's own spread counts, and Welch's t (1947) does not take
the spreads for equal. What a run shares throughout (its hour, its cluster) is not in the spread: repeat a whole run to
learn that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, nan, sqrt

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from pgassay.study.responses import Scale

LEAST = 2


@dataclass(frozen=True)
class Difference:
    """The other by the first: a ratio, or a difference; NaN ends where either side has fewer than two trials."""

    estimate: float
    low: float
    high: float
    trials: tuple[int, int]
    scale: Scale

    @property
    def told_apart(self) -> bool:
        """True when the interval leaves out no difference."""
        none = 1.0 if self.scale is Scale.RATIO else 0.0
        return isfinite(self.low) and not self.low <= none <= self.high


def difference(
    first: Sequence[float], other: Sequence[float], scale: Scale, *, comparisons: int = 1, level: float = 0.95
) -> Difference | None:
    """Set `other` against `first`; None without a usable value on either side. Values are those of single trials."""
    ratio = scale is Scale.RATIO
    samples = [
        np.asarray([value for value in values if isfinite(value) and (value > 0.0 or not ratio)], dtype=np.float64)
        for values in (first, other)
    ]
    if ratio:
        samples = [np.log(sample) for sample in samples]
    counts = (len(samples[0]), len(samples[1]))
    if min(counts) == 0:
        return None
    middle = float(samples[1].mean() - samples[0].mean())
    ends = (nan, nan)
    if min(counts) >= LEAST:
        errors = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
        ends = _ends(middle, errors, counts, (1.0 - level) / max(1, comparisons))
    estimate, low, high = (exp(value) for value in (middle, *ends)) if ratio else (middle, *ends)
    return Difference(estimate, low, high, counts, scale)


def _ends(middle: float, errors: Sequence[float], counts: Sequence[int], alpha: float) -> tuple[float, float]:
    """Welch's interval with Satterthwaite's degrees of freedom; `errors` are the variances of the two means."""
    whole = sum(errors)
    if whole <= 0.0:
        return middle, middle
    freedom = whole**2 / sum(error**2 / (count - 1) for error, count in zip(errors, counts, strict=True))
    half = -float(stdtrit(freedom, alpha / 2.0)) * sqrt(whole)
    return middle - half, middle + half
