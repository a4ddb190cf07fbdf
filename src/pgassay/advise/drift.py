"""How the start itself moved over an advice: each batch of the screening and the search has a trial of it beside it.

A straight line through the logarithms, batch by batch, with Student's interval at 95 %. It tells what the machine did
meanwhile; effects are in relation to the start of their own batch, so none of it is in them. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, sqrt

from pgassay.analysis.boundaries import fixed_critical

FEWEST = 4
"""Batches with fewer starts tell nothing of a line."""


@dataclass(frozen=True)
class Drift:
    """One objective of the start, in the order of the batches, and its change from the first to the last, a ratio."""

    starts: tuple[float, ...]
    change: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Does the interval leave out that nothing moved?"""
        return self.low > 1 or self.high < 1

    @property
    def line(self) -> tuple[float, ...]:
        """What the straight line says of each batch."""
        count = len(self.starts)
        middle = sum(map(log, self.starts)) / count
        return tuple(exp(middle + log(self.change) * (at / (count - 1) - 0.5)) for at in range(count))


def drift_of(starts: Sequence[float]) -> Drift | None:
    """The drift of these trials of the start; None where they are too few, or have no ratios."""
    count = len(starts)
    if count < FEWEST or not all(isfinite(each) and each > 0 for each in starts):
        return None
    logs = [log(each) for each in starts]
    middle, mean = (count - 1) / 2, sum(logs) / count
    spread = sum((at - middle) ** 2 for at in range(count))
    slope = sum((at - middle) * (each - mean) for at, each in enumerate(logs)) / spread
    rest = sum((each - mean - slope * (at - middle)) ** 2 for at, each in enumerate(logs))
    half = fixed_critical(count - 1, 0.05) * sqrt(rest / (count - 2) / spread)
    change, low, high = (exp((count - 1) * each) for each in (slope, slope - half, slope + half))
    return Drift(tuple(starts), change, low, high)
