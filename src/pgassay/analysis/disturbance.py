"""May a trial stay that a competitor disturbed? Only as far as the adjustment was shown to be right on this machine.

A trial that foreign programs took CPU from is thrown away, unless its effect is adjusted by a covariate that sees what
they took. How far that holds is not argued but measured: a competitor of known shares is planted, and the bias that is
left after adjusting must be shown to be small at that share and at every smaller one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from pgassay.analysis.adjustment import BIAS_ERROR, BIAS_MAX
from pgassay.analysis.boundaries import fixed_critical


@dataclass(frozen=True)
class Planted:
    """Pairs with a competitor of this foreign CPU share in one of the two and none in the other.

    `contrasts` are the pairs' adjusted log-ratios; a right adjustment leaves nothing of the competitor in them.
    """

    share: float
    contrasts: Sequence[float]


@dataclass(frozen=True)
class Bias:
    """What is left at a share: a logarithm with the interval of two one-sided tests; `small` if it is shown to be."""

    share: float
    estimate: float
    low: float
    high: float

    @property
    def small(self) -> bool:
        """Is it shown to lie within `adjustment.BIAS_MAX`?"""
        margin = log(1.0 + BIAS_MAX)
        return -margin <= self.low and self.high <= margin


def bias_of(planted: Planted) -> Bias:
    """The bias at a share; unbounded below two pairs."""
    values = np.asarray(planted.contrasts, dtype=np.float64)
    n = len(values)
    middle = float(values.mean()) if n else 0.0
    reach = fixed_critical(n, 2.0 * BIAS_ERROR) * (float(values.std(ddof=1)) / sqrt(n) if n > 1 else 1.0)
    return Bias(planted.share, middle, middle - reach, middle + reach)


def largest_share(biases: Iterable[Bias]) -> float:
    """The largest foreign CPU share at which a disturbed trial may stay; 0 where none was shown.

    A share counts only if all smaller ones that were planted are right, too: an adjustment that is wrong at a tenth and
    right at a quarter is right by chance.
    """
    found = 0.0
    for bias in sorted(biases, key=lambda bias: bias.share):
        if not bias.small:
            break
        found = bias.share
    return found


def stays(foreign_share: float, shown: float, *, adjusted: bool, limit: float) -> bool:
    """May a trial with this foreign CPU share stay? Below the `limit` for all trials always; beyond it up to `shown`.

    Beyond the limit only the adjusted effect may use it, so the study's primary has to be that one.
    """
    return foreign_share <= limit or (adjusted and foreign_share <= shown)
