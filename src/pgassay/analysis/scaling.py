"""How throughput grows with clients or threads: two lines with a kink, and the Universal Scalability Law.

Two lines: no clients do nothing, so the first line starts at the origin, X(n) = b · (min(n, k) + g · max(0, n − k)).
With clients up to the hardware threads of a machine, k is where the physical cores are used up and g is what a second
hyper-thread adds to a core: the two figures that a published study reads off its curve by eye.

The law: X(n) = rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)), with the rate of one client, the share
of its work that is serial (locks, one WAL), and the cost of keeping each pair of clients coherent, which gives
throughput a peak at n = sqrt((1 - contention) / coherency) and lets it fall beyond (Gunther, A General Theory of
Computational Scalability Based on Rational Functions, 2008). See docs/statistics.md.
"""

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np

from pgassay.analysis.boundaries import Floats
from pgassay.analysis.curve_fit import Estimate, Points, Region, fit

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
        """The fitted response at each number of clients, shape (n,)."""
        shape = _two_lines(np.asarray([self.at.value]), np.asarray([self.gain.value]), clients)[0]
        return np.asarray(self.slope * np.exp(shape), dtype=np.float64)


def kink(points: Points, *, level: float = 0.95) -> Kink | None:
    """Fit two lines; None below five points. A kink is looked for between the first and the last but one."""
    if len(points.places) < 2:
        return None
    searched = (float(points.places[0]), float(points.places[-2]))
    region = fit(points, _two_lines, (searched, _GAIN), level)
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


def _two_lines(at: Floats, gain: Floats, clients: Floats) -> Floats:
    lines = np.minimum(clients, at[:, None]) + gain[:, None] * np.maximum(0.0, clients - at[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(lines > 0.0, np.log(lines), np.nan), dtype=np.float64)


def _range(value: float, inside: Floats) -> Estimate:
    return Estimate(value, float(inside.min()), float(inside.max()))


_ROOT_SIGMA_MAX = 1.0
_ROOT_KAPPA_MAX = 1.0


@dataclass(frozen=True)
class Scalability:
    """The law's parameters with intervals; `peak_clients` is inf where nothing speaks for a peak.

    `peak` is the throughput there (rate / contention without a peak, inf for a law without any limit); `measured` the
    greatest number of clients that was measured, beyond which all of this is extrapolation.
    """

    rate: Estimate
    contention: Estimate
    coherency: Estimate
    peak_clients: Estimate
    peak: Estimate
    misfit: float
    measured: float
    level: float
    region: Region

    @property
    def peak_seen(self) -> bool:
        """True when even the latest peak that the data allow lies within what was measured."""
        return self.peak_clients.high <= self.measured

    def value(self, clients: Floats) -> Floats:
        """The fitted throughput at each number of clients, shape (n,)."""
        first, second, level = (np.asarray([each]) for each in self.region.best)
        return np.asarray(np.exp(level + _universal_law(first, second, clients)[0]), dtype=np.float64)

    def band(self, clients: Floats) -> tuple[Floats, Floats]:
        """What the data do not exclude at each number of clients, one by one (no simultaneous band)."""
        region = self.region
        heights = region.level[:, None] + _universal_law(region.first, region.second, clients)
        low, high = heights - region.reach[:, None], heights + region.reach[:, None]
        return np.exp(low.min(axis=0)), np.exp(high.max(axis=0))


def scalability(points: Points, *, level: float = 0.95) -> Scalability | None:
    """Fit the law with contention and coherency from 0 on; None below five points."""
    region = fit(points, _universal_law, ((0.0, _ROOT_SIGMA_MAX), (0.0, _ROOT_KAPPA_MAX)), level)
    if region is None:
        return None
    sigma, kappa = region.first**2, region.second**2
    places = np.asarray([_peak_place(*pair) for pair in zip(sigma, kappa, strict=True)])
    rates = np.asarray([_peak_rate(*pair) for pair in zip(sigma, kappa, places, strict=True)])
    low, high = np.exp(region.level - region.reach), np.exp(region.level + region.reach)
    best = (region.best[0] ** 2, region.best[1] ** 2)
    place = _peak_place(*best)
    rate = exp(region.best[2])
    return Scalability(
        rate=Estimate(rate, float(low.min()), float(high.max())),
        contention=Estimate(best[0], float(sigma.min()), float(sigma.max())),
        coherency=Estimate(best[1], float(kappa.min()), float(kappa.max())),
        peak_clients=Estimate(place, float(places.min()), float(places.max())),
        peak=Estimate(rate * _peak_rate(*best, place), float((low * rates).min()), float((high * rates).max())),
        misfit=region.misfit,
        measured=float(points.places[-1]),
        level=level,
        region=region,
    )


def _universal_law(root_sigma: Floats, root_kappa: Floats, clients: Floats) -> Floats:
    """By the roots of contention and coherency, so that a grid is finest near 0, where both usually lie."""
    sigma, kappa = root_sigma[:, None] ** 2, root_kappa[:, None] ** 2
    delay = 1.0 + sigma * (clients - 1.0) + kappa * clients * (clients - 1.0)
    return np.asarray(np.log(clients) - np.log(delay), dtype=np.float64)


def _peak_place(sigma: float, kappa: float) -> float:
    """Clients at the peak, at least one; infinite without coherency delay."""
    return max(1.0, sqrt((1.0 - sigma) / kappa)) if kappa > 0.0 else inf


def _peak_rate(sigma: float, kappa: float, place: float) -> float:
    """Throughput at the peak in units of one client's."""
    if place == inf:
        return 1.0 / sigma if sigma > 0.0 else inf
    return place / (1.0 + sigma * (place - 1.0) + kappa * place * (place - 1.0))
