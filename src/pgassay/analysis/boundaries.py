"""Critical values of Student's t that stay valid when the data are looked at after every block.

Alpha spending (Lan and DeMets, Biometrika 1983) for the one-sample t statistic with *unknown* variance. Usual tables
hold for a known variance and are far too small at 5 … 15 blocks. Here the joint law of the whole path t5, t6 … is exact
for normal contrasts: with U the sum and Q the sum of squares of n contrasts, r = U / sqrt(Q) is a Markov chain, because
the direction of a normal vector is independent of its length. One step is r' = r cos(phi) + sin(phi), with the density
of phi proportional to cos(phi)^(n-1), so each boundary follows from the last by one integral. See docs/statistics.md.
"""

from functools import lru_cache
from math import exp, lgamma, log, pi, sqrt

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.special import gammaincinv, stdtr, stdtrit  # type: ignore[import-untyped]

LEVEL = 0.95
FIRST_LOOK = 5
"""Blocks before the first look; below it there is no interval and no verdict."""

Floats = npt.NDArray[np.float64]

_POINTS = 32
"""Points in each of a density's two panels; it is smooth there, so few hold it to about ten digits."""
_DENSE = 2000
"""Points in each panel on the grid that a step looks densities up on."""
_REACH = 10.0
"""Standard deviations of one step beyond which there is nothing."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_ROOTS = np.cos(pi * (np.arange(_POINTS) + 0.5) / _POINTS)
_EVEN = np.linspace(-1.0, 1.0, _DENSE)
_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_ROOTS, _POINTS - 1))
_SPREAD_OUT = chebyshev.chebvander(_EVEN, _POINTS - 1) @ _COEFFICIENTS
"""Takes a function's values at `_ROOTS` to its values at `_EVEN`."""
_INTEGRAL = chebyshev.chebvander(_EVEN, _POINTS) @ chebyshev.chebint(np.eye(_POINTS), lbnd=-1) @ _COEFFICIENTS
"""Takes a function's values at `_ROOTS` to its integrals from -1 to `_EVEN`."""


FIRST_STAGE = 0.9
"""The share of alpha for the looks of the first stage, where a study has two."""


def spent(blocks: int, horizon: int, stage: int | None = None) -> float:
    """The share of alpha that may be used up to and including the look at `blocks`.

    Half is spent evenly in log time, which decides large effects early whatever the horizon; half evenly in time, which
    keeps the last intervals narrow. Nothing is spent before `FIRST_LOOK`, all of it at the horizon. With a first
    `stage` before the horizon, `FIRST_STAGE` is spent so by the end of the stage, the rest evenly after it.
    """
    before = FIRST_LOOK - 1
    if blocks <= before:
        return 0.0
    if blocks >= horizon:
        return 1.0
    if stage is not None and FIRST_LOOK <= stage < horizon:
        if blocks <= stage:
            return FIRST_STAGE * spent(blocks, stage)
        return FIRST_STAGE + (1.0 - FIRST_STAGE) * (blocks - stage) / (horizon - stage)
    return 0.5 * log(blocks / before) / log(horizon / before) + 0.5 * (blocks - before) / (horizon - before)


@lru_cache(maxsize=256)
def criticals(horizon: int, alpha: float, stage: int | None = None) -> tuple[float, ...]:
    """Two-sided critical values for the looks at `FIRST_LOOK` … `horizon` blocks.

    The chance that |t| of normal contrasts without effect exceeds its value at any of these looks is `alpha`. `stage`:
    the blocks of a first stage, see `spent`.
    Raises ValueError when the horizon lies before the first look or alpha is not inside (0, 1).
    """
    if horizon < FIRST_LOOK or not 0.0 < alpha < 1.0:
        raise ValueError(f"no boundary for a horizon of {horizon} blocks and alpha {alpha}")
    blocks = FIRST_LOOK
    value = float(-stdtrit(blocks - 1, alpha * spent(blocks, horizon, stage) / 2))
    values = [value]
    edge = sqrt(blocks * value * value / (blocks - 1 + value * value))
    grid = np.linspace(0.0, edge, _DENSE)
    # The density of r: sqrt(n) times one coordinate of a uniform point on the unit sphere, n = `blocks`.
    constant = exp(lgamma(blocks / 2) - lgamma((blocks - 1) / 2)) / sqrt(pi * blocks)
    density = np.asarray(constant * (1.0 - grid * grid / blocks) ** ((blocks - 3) / 2), dtype=np.float64)
    while blocks < horizon:
        stepped = _step(grid, density, edge, blocks)
        blocks += 1
        edge = stepped.edge(alpha * (spent(blocks, horizon, stage) - spent(blocks - 1, horizon, stage)))
        values.append(edge * sqrt(blocks - 1) / sqrt(blocks - edge * edge))
        grid, density = stepped.dense()
    return tuple(values)


def critical(blocks: int, horizon: int, alpha: float, stage: int | None = None) -> float:
    """The critical value at the look at `blocks`; infinite before the first look.

    A look beyond the horizon was not planned for: the horizon is then moved to it, which only widens the interval.
    """
    if blocks < FIRST_LOOK:
        return float("inf")
    return criticals(max(horizon, blocks, FIRST_LOOK), alpha, stage)[blocks - FIRST_LOOK]


def with_more_freedom(value: float, blocks: int, prior: float) -> float:
    """A critical value of |t| at `blocks` contrasts for a variance that `prior` more degrees of freedom know.

    The same nominal error at each look (Jennison and Turnbull 2000, section 4.4): a variance that is known better ties
    the looks closer together, so all looks together err less often and not more.
    """
    return value if prior == 0.0 else with_freedom(value, blocks, blocks - 1 + prior)


def with_freedom(value: float, blocks: int, freedom: float) -> float:
    """The critical value of |t| with these degrees of freedom that errs as often as `value` at `blocks` contrasts."""
    if value == float("inf"):
        return value
    return float(-stdtrit(freedom, stdtr(blocks - 1, -value)))


PRIOR_MAX = 3
"""Degrees of freedom that other treatments' variances may add: with more of them two very noisy ones of many err."""


def prior_of(together: int) -> float:
    """The degrees of freedom that the mean variance of so many contrasts counts for along with one contrast's own."""
    return float(min(together - 1, PRIOR_MAX))


def fixed_critical(blocks: int, alpha: float) -> float:
    """Student's two-sided critical value for one look only, at `blocks` contrasts; infinite below two."""
    return float(-stdtrit(blocks - 1, alpha / 2)) if blocks >= 2 else float("inf")


def chi_square(share: float, freedom: float) -> float:
    """The quantile of chi-square; scipy.stats has it too, and takes a second to import."""
    return 2.0 * float(gammaincinv(freedom / 2.0, share))


class _Stepped:
    """The density of |r| after one block more, before any exit, on both sides together half of it.

    As a function of s, where r = top cos(s): smooth to the very end of what can be reached, where it falls like a root.
    Two panels in s, the first about the boundary to come.
    """

    def __init__(self, top: float, split: float) -> None:
        self.top = top
        self.half = np.array([[split / 2], [(pi / 2 - split) / 2]])
        self.middle = np.array([[split / 2], [(pi / 2 + split) / 2]])
        self.points: Floats = self.middle + self.half * _ROOTS
        self.values: Floats = np.zeros_like(self.points)
        self._even: Floats = self.middle + self.half * _EVEN

    def edge(self, alpha: float) -> float:
        """The |r| beyond which, on both sides together, `alpha` of the mass lies."""
        mass = 2.0 * self.half * ((self.values * self.top * np.sin(self.points)) @ _INTEGRAL.T)
        outside = np.concatenate((mass[0], mass[0, -1] + mass[1, 1:]))[1:]
        ends = np.concatenate((self._even[0], self._even[1, 1:]))[1:]
        logs = np.log(np.maximum(outside, 1e-300))
        return float(self.top * np.cos(np.exp(np.interp(log(alpha), logs, np.log(ends)))))

    def dense(self) -> tuple[Floats, Floats]:
        """Rising r, and the density there."""
        values = self.values @ _SPREAD_OUT.T
        ends = np.concatenate((self._even[0], self._even[1, 1:]))
        return self.top * np.cos(ends[::-1]), np.concatenate((values[0], values[1, 1:]))[::-1]


def _step(grid: Floats, density: Floats, edge: float, blocks: int) -> _Stepped:
    """One block more, from |r| <= edge."""
    top = sqrt(1.0 + edge * edge)
    # Where a step may begin on both sides the density has a kink, at r = 1: it is an end of a panel or far too small.
    stepped = _Stepped(top, float(np.arccos(max(1.0, edge - 3.0 / sqrt(blocks)) / top)))
    spread = stepped.points.ravel()
    tilt = np.arctan(1.0 / edge)
    limit = min(pi / 2, _REACH / sqrt(blocks))  # cos(phi)^(n-1) is nothing beyond
    low = np.maximum(np.maximum(tilt - spread, -tilt - (pi - spread)), -limit)
    high = np.maximum(np.minimum(np.minimum(tilt + spread, -tilt + pi - spread), limit), low)
    half = (high - low) / 2
    angle = ((low + high) / 2)[:, None] + half[:, None] * _NODES
    cosine = np.cos(angle)
    came_from = np.abs((top * np.cos(spread)[:, None] - np.sin(angle)) / cosine)
    constant = exp(lgamma((blocks + 1) / 2) - lgamma(blocks / 2)) / sqrt(pi)
    mass = np.interp(came_from, grid, density) * cosine ** (blocks - 2)
    stepped.values = ((mass @ _WEIGHTS) * half * constant).reshape(2, _POINTS)
    return stepped
