"""The Universal Scalability Law: throughput over clients with contention and coherency delay.

X(n) = rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)): the rate of one client, the share of its work
that is serial (locks, one WAL), and the cost of keeping each pair of clients coherent, which gives throughput a peak at
n = sqrt((1 - contention) / coherency) and lets it fall beyond (Gunther, A General Theory of Computational Scalability
Based on Rational Functions, 2008).
"""

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np

from pgassay.analysis.scaling.points import Floats, Points
from pgassay.analysis.scaling.profile import Estimate, Region, fit

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
        """The fitted throughput."""
        first, second, level = (np.asarray([each]) for each in self.region.best)
        return np.asarray(np.exp(level + _shape(first, second, clients)[0]), dtype=np.float64)

    def band(self, clients: Floats) -> tuple[Floats, Floats]:
        """What the data do not exclude at each number of clients, one by one (no simultaneous band)."""
        region = self.region
        heights = region.level[:, None] + _shape(region.first, region.second, clients)
        low, high = heights - region.reach[:, None], heights + region.reach[:, None]
        return np.exp(low.min(axis=0)), np.exp(high.max(axis=0))


def scalability(points: Points, *, level: float = 0.95) -> Scalability | None:
    """Fit the law with contention and coherency from 0 on; None below five points."""
    region = fit(points, _shape, ((0.0, _ROOT_SIGMA_MAX), (0.0, _ROOT_KAPPA_MAX)), level)
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


def _shape(root_sigma: Floats, root_kappa: Floats, clients: Floats) -> Floats:
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
