"""Fitting a law of two shape parameters and a free level to a curve, with intervals by profile.

Points are logarithms by number of clients. A busy hour moves all points of a block alike, so points and blocks are
fitted together first (two-way layout), and what is left tells how well a point is known: pure error, whatever law is
fitted. Then all pairs of shapes whose squared error is within F · s² of the least form a region; what any quantity (a
kink, a peak, the height of the curve) takes on in it is its interval (Bates and Watts, Nonlinear Regression Analysis,
1988, section 6.1). This needs no derivatives and holds at bounds, where the delta method fails. See docs/statistics.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log

import numpy as np
from scipy.special import fdtri  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import Floats


@dataclass(frozen=True)
class Points:
    """`places` (clients, ascending) with the mean logarithm at each.

    `error` is the variance of a point's mean from the blocks' disagreement, with its degrees of `freedom`; NaN and 0
    where each point was measured once.
    """

    places: Floats
    logs: Floats
    error: float
    freedom: int


def points_of(values: Mapping[float, Mapping[int, float]]) -> Points:
    """From clients → block → response; what is not positive and finite is left out, and places without a value."""
    usable = {
        place: {block: log(value) for block, value in column.items() if value > 0.0 and isfinite(value)}
        for place, column in sorted(values.items())
        if place > 0.0
    }
    usable = {place: column for place, column in usable.items() if column}
    places = list(usable)
    blocks = sorted({block for column in usable.values() for block in column})
    rows = [
        (places.index(place), blocks.index(block), value)
        for place, column in usable.items()
        for block, value in column.items()
    ]
    if not rows:
        return Points(np.empty(0), np.empty(0), float("nan"), 0)
    means, error, freedom = _two_way(rows, len(places), len(blocks))
    return Points(np.asarray(places, dtype=np.float64), means, error, freedom)


def _two_way(rows: Sequence[tuple[int, int, float]], places: int, blocks: int) -> tuple[Floats, float, int]:
    """Mean of each place over all blocks, as if none were missing; the variance of such a mean; its freedom."""
    design = np.zeros((len(rows), places + blocks - 1))
    seen = np.asarray([value for _, _, value in rows])
    for row, (place, block, _) in enumerate(rows):
        design[row, place] = 1.0
        if block < blocks - 1:
            design[row, places + block] = 1.0
        else:  # block effects add up to nothing
            design[row, places:] = -1.0
    found, _, rank, _ = np.linalg.lstsq(design, seen, rcond=None)
    freedom = len(rows) - int(rank)
    rest = seen - design @ found
    variance = float(rest @ rest) / freedom if freedom > 0 else float("nan")
    return found[:places], variance * places / len(rows), max(0, freedom)


PARAMETERS = 3
"""Two shapes and the level."""
LEAST = PARAMETERS + 2
"""Points that a fit needs: two more than parameters, so that the misfit tells something."""

_SIDE = 41
_ROUNDS = 14
_LEAST_ERROR = 1e-6
"""A standard error of a millionth: nothing measured is known better, and rounding is not taken for noise."""

Shape = Callable[[Floats, Floats, Floats], Floats]
"""First and second parameters (n,) and places (m,) to the logarithm of the law's shape (n, m); NaN where impossible."""
Box = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Estimate:
    """A fitted quantity with its profile interval from `low` to `high`, in its own unit (inf where there is no end)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Region:
    """The best pair of shapes and the pairs that the data do not exclude, with their levels (as logarithms).

    `reach` is how far beyond its own best level each pair's level may lie, `misfit` the spread of the points around
    the law (standard deviation of logarithms).
    """

    best: tuple[float, float, float]
    first: Floats
    second: Floats
    level: Floats
    reach: Floats
    misfit: float


def fit(points: Points, shape: Shape, box: Box, confidence: float) -> Region | None:
    """Search `box`; None below `LEAST` points. `confidence` 0.95 holds for each quantity on its own."""
    count = len(points.places)
    if count < LEAST:
        return None
    best = _least(points, shape, box)
    excess, freedom = best[3] / (count - PARAMETERS), count - PARAMETERS
    if points.freedom > 0 and points.error > excess:  # the larger of misfit and pure error: neither is trusted alone
        excess, freedom = points.error, points.freedom
    excess = max(excess, _LEAST_ERROR**2)
    cut = best[3] + float(fdtri(1, freedom, confidence)) * excess
    first, second, level, square = _inside(points, shape, box, best, cut)
    reach = np.sqrt((cut - square) / count)
    return Region(best[:3], first, second, level, reach, float(np.sqrt(best[3] / (count - PARAMETERS))))


def _least(points: Points, shape: Shape, box: Box) -> tuple[float, float, float, float]:
    """Shapes, level and squared error of the best fit: a grid that closes in on the best point so far."""
    here = box
    best = (np.nan, np.nan, np.nan, np.inf)
    for _ in range(_ROUNDS):
        first, second = _grid(here)
        level, square = _squares(points, shape, first, second)
        at = int(np.argmin(square))
        if square[at] <= best[3]:
            best = (float(first[at]), float(second[at]), float(level[at]), float(square[at]))
        sides = [(high - low) / 5.0 for low, high in here]
        here = (_around(best[0], sides[0], box[0]), _around(best[1], sides[1], box[1]))
    return best


def _inside(
    points: Points, shape: Shape, box: Box, best: tuple[float, float, float, float], cut: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """All pairs of a grid within the cut; the best pair is always in.

    The region may be a ridge thinner than a cell of the first grid. So the cut starts loose and tightens fourfold a
    round, which halves a region's sides: grid and region shrink together, and their ratio stays.
    """
    here = box
    for round_ in reversed(range(_ROUNDS)):
        first, second = _grid(here)
        level, square = _squares(points, shape, first, second)
        within = square <= best[3] + (cut - best[3]) * 4.0**round_
        kept = [
            np.append(values[within], value) for values, value in zip((first, second, level, square), best, strict=True)
        ]
        if round_:
            steps = [(high - low) / (_SIDE - 1) for low, high in here]
            here = (_hull(kept[0], steps[0], box[0]), _hull(kept[1], steps[1], box[1]))
    return kept[0], kept[1], kept[2], kept[3]


def _grid(box: Box) -> tuple[Floats, Floats]:
    first, second = np.meshgrid(*(np.linspace(low, high, _SIDE) for low, high in box), indexing="ij")
    return first.ravel(), second.ravel()


def _squares(points: Points, shape: Shape, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    apart = points.logs - shape(first, second, points.places)
    level = apart.mean(axis=1)
    square = ((apart - level[:, None]) ** 2).sum(axis=1)
    return level, np.where(np.isfinite(square), square, np.inf)


def _around(centre: float, half: float, bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], centre - half), min(bounds[1], centre + half)


def _hull(values: Floats, step: float, bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], float(values.min()) - step), min(bounds[1], float(values.max()) + step)
