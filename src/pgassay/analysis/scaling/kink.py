"""Where a curve of throughput over clients bends, and by how much its slope falls there.

No clients do nothing, so the first line starts at the origin: X(n) = b · (min(n, k) + g · max(0, n − k)). With clients
up to the hardware threads of a machine, k is where the physical cores are used up and g is what a second hyper-thread
adds to a core: the two figures that a published study reads off its curve by eye.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from pgassay.analysis.scaling.points import Floats, Points
from pgassay.analysis.scaling.profile import Estimate, fit

_GAIN = (-1.0, 2.0)


@dataclass(frozen=True)
class Kink:
    """`at` in clients, `gain` as slope beyond / slope before; `slope` in responses per client before the kink.

    `misfit` is the spread of the points around the two lines, as a share. The ends of `at` are clipped to `searched`.
    """

    at: Estimate
    gain: Estimate
    slope: float
    misfit: float
    searched: tuple[float, float]
    level: float

    @property
    def seen(self) -> bool:
        """True when the curve surely bends: a straight line through the origin has gain 1."""
        return self.gain.high < 1.0 or self.gain.low > 1.0

    @property
    def located(self) -> bool:
        """True when the bend is seen and its interval lies within what was searched."""
        return self.seen and self.at.low > self.searched[0] and self.at.high < self.searched[1]

    def value(self, clients: Floats) -> Floats:
        """The fitted response."""
        shape = _shape(np.asarray([self.at.value]), np.asarray([self.gain.value]), clients)[0]
        return np.asarray(self.slope * np.exp(shape), dtype=np.float64)


def kink(points: Points, *, level: float = 0.95) -> Kink | None:
    """Fit two lines; None below five points. A kink is looked for between the first and the last but one."""
    if len(points.places) < 2:
        return None
    searched = (float(points.places[0]), float(points.places[-2]))
    region = fit(points, _shape, (searched, _GAIN), level)
    if region is None:
        return None
    at, gain, height = region.best
    return Kink(
        at=_range(at, region.first),
        gain=_range(gain, region.second),
        slope=exp(height),
        misfit=region.misfit,
        searched=searched,
        level=level,
    )


def _shape(at: Floats, gain: Floats, clients: Floats) -> Floats:
    lines = np.minimum(clients, at[:, None]) + gain[:, None] * np.maximum(0.0, clients - at[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(lines > 0.0, np.log(lines), np.nan), dtype=np.float64)


def _range(value: float, inside: Floats) -> Estimate:
    return Estimate(value, float(inside.min()), float(inside.max()))
