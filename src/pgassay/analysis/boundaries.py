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
from scipy.special import stdtrit  # type: ignore[import-untyped]

FIRST_LOOK = 5
"""Blocks before the first look; below it there is no interval and no verdict."""

_GRID = 800
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_SINES = np.sin(np.pi / 2 * np.linspace(0.0, 1.0, _GRID))  # dense towards 1, where the boundary will lie

Floats = npt.NDArray[np.float64]


def spent(blocks: int, horizon: int) -> float:
    """The share of alpha that may be used up to and including the look at `blocks`.

    Half is spent evenly in log time, which decides large effects early whatever the horizon; half evenly in time, which
    keeps the last intervals narrow. Nothing is spent before `FIRST_LOOK`, all of it at the horizon.
    """
    before = FIRST_LOOK - 1
    if blocks <= before:
        return 0.0
    if blocks >= horizon:
        return 1.0
    return 0.5 * log(blocks / before) / log(horizon / before) + 0.5 * (blocks - before) / (horizon - before)


@lru_cache(maxsize=256)
def criticals(horizon: int, alpha: float) -> tuple[float, ...]:
    """Two-sided critical values for the looks at `FIRST_LOOK` … `horizon` blocks.

    The chance that |t| of normal contrasts without effect exceeds its value at any of these looks is `alpha`.
    Raises ValueError when the horizon lies before the first look or alpha is not inside (0, 1).
    """
    if horizon < FIRST_LOOK or not 0.0 < alpha < 1.0:
        raise ValueError(f"no boundary for a horizon of {horizon} blocks and alpha {alpha}")
    blocks = FIRST_LOOK
    value = float(-stdtrit(blocks - 1, alpha * spent(blocks, horizon) / 2))
    values = [value]
    edge = _ratio_of(value, blocks)
    grid = edge * _SINES
    density = _density_at_first_look(grid)
    while blocks < horizon:
        reach, stepped = _step(grid, density, edge, blocks)
        blocks += 1
        edge = _edge(reach, stepped, alpha * (spent(blocks, horizon) - spent(blocks - 1, horizon)))
        values.append(edge * sqrt(blocks - 1) / sqrt(blocks - edge * edge))
        grid = edge * _SINES
        density = np.interp(grid, reach, stepped)
    return tuple(values)


def critical(blocks: int, horizon: int, alpha: float) -> float:
    """The critical value at the look at `blocks`; infinite before the first look.

    A look beyond the horizon was not planned for: the horizon is then moved to it, which only widens the interval.
    """
    if blocks < FIRST_LOOK:
        return float("inf")
    return criticals(max(horizon, blocks, FIRST_LOOK), alpha)[blocks - FIRST_LOOK]


def fixed_critical(blocks: int, alpha: float) -> float:
    """Student's two-sided critical value for one look only, at `blocks` contrasts; infinite below two."""
    return float(-stdtrit(blocks - 1, alpha / 2)) if blocks >= 2 else float("inf")


def _ratio_of(t: float, blocks: int) -> float:
    return sqrt(blocks * t * t / (blocks - 1 + t * t))


def _density_at_first_look(ratio: Floats) -> Floats:
    """Density of r at the first look: sqrt(n) times one coordinate of a uniform point on the unit sphere."""
    n = FIRST_LOOK
    constant = exp(lgamma(n / 2) - lgamma((n - 1) / 2)) / sqrt(pi * n)
    return np.asarray(constant * (1.0 - ratio * ratio / n) ** ((n - 3) / 2), dtype=np.float64)


def _step(grid: Floats, density: Floats, edge: float, blocks: int) -> tuple[Floats, Floats]:
    """One block more: the points that can be reached from |r| <= edge, and the density there before any exit."""
    top = sqrt(1.0 + edge * edge)
    reach = top * _SINES
    spread = np.arccos(np.clip(reach / top, -1.0, 1.0))
    tilt = np.arctan(1.0 / edge)
    limit = min(pi / 2, 12.0 / sqrt(blocks))  # cos(phi)^(n-1) is nothing beyond
    low = np.maximum(np.maximum(tilt - spread, -tilt - (pi - spread)), -limit)
    high = np.maximum(np.minimum(np.minimum(tilt + spread, -tilt + pi - spread), limit), low)
    angle = ((low + high) / 2)[:, None] + ((high - low) / 2)[:, None] * _NODES
    came_from = np.abs((reach[:, None] - np.sin(angle)) / np.cos(angle))
    constant = exp(lgamma((blocks + 1) / 2) - lgamma(blocks / 2)) / sqrt(pi)
    mass = np.interp(came_from, grid, density) * constant * np.cos(angle) ** (blocks - 2)
    return reach, np.asarray((mass * _WEIGHTS).sum(axis=1) * (high - low) / 2, dtype=np.float64)


def _edge(reach: Floats, density: Floats, alpha: float) -> float:
    """The |r| beyond which, on both sides together, `alpha` of the mass lies."""
    inside = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(reach))))
    outside = np.maximum(2.0 * (inside[-1] - inside), 1e-300)
    return float(np.interp(-log(alpha), -np.log(outside), reach))
