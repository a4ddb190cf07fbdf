"""A response along a covariate (clients, scale, rate): a curve with its band, where it bends and peaks, or recovers.

The band holds for all points of a curve together and at every look. Points are geometric means over blocks on a ratio
scale, means on a difference scale; effects along the curve are `compare`'s, one for each covariate point.

Curves over shared_buffers say which size to take. A slowdown is a ratio within one trial (after ÷ before), so machine
and block cancel in it; its points are as those of a curve.

How throughput grows with clients or threads is fitted in two ways. Two lines: no clients do nothing, so the first line
starts at the origin, X(n) = b · (min(n, k) + g · max(0, n − k)). With clients up to the hardware threads of a machine,
k is where the physical cores are used up and g is what a second hyper-thread adds to a core: the two figures that a
published study reads off its curve by eye.

The Universal Scalability Law: X(n) = rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)), with the rate of
one client, the share of its work that is serial (locks, one WAL), and the cost of keeping each pair of clients
coherent, which gives throughput a peak at n = sqrt((1 - contention) / coherency) and lets it fall beyond (Gunther, A
General Theory of Computational Scalability Based on Rational Functions, 2008).

Both are fitted as a law of two shape parameters and a free level, with intervals by profile. Points are logarithms by
number of clients. A busy hour moves all points of a block alike, so points and blocks are fitted together first
(two-way layout), and what is left says how well a point is known: pure error, whatever law is fitted. Then all pairs of
shapes whose squared error is within F · s² of the least form a region; what any quantity (a kink, a peak, the height of
the curve) takes on in it is its interval (Bates and Watts, Nonlinear Regression Analysis, 1988, section 6.1). This
needs no derivatives and holds at bounds, where the delta method fails. See docs/statistics.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean, stdev

import numpy as np
from scipy.special import fdtri  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL, Floats, critical
from pgassay.analysis.compare import Looks
from pgassay.analysis.effects import Certainty, Effect, from_contrast, mean_of
from pgassay.analysis.observations import Observation, arrange, cells
from pgassay.study.responses import Response, Scale


@dataclass(frozen=True)
class Point:
    """The response at one covariate point, in its unit. `low` and `high` are 0 (or -inf) and inf below five blocks."""

    covariate: str
    blocks: int
    value: float
    low: float
    high: float
    left_out: tuple[str, ...]

    @property
    def bounded(self) -> bool:
        return isfinite(self.high)


@dataclass(frozen=True)
class Curve:
    """The points of one treatment in one condition, in the order of first trials."""

    treatment: str
    condition: str
    points: tuple[Point, ...]
    level: float


def curves(
    observations: Sequence[Observation],
    response: Response,
    *,
    blocks_max: int,
    looks: Looks = "every block",
) -> tuple[Curve, ...]:
    found = []
    for treatment, condition in dict.fromkeys((seen.treatment, seen.condition) for seen in observations):
        mine = [seen for seen in observations if seen.treatment == treatment and seen.condition == condition]
        places = cells(mine)
        certainty = Certainty(LEVEL, len(places), blocks_max, looks == "every block")
        points = []
        for cell in places:
            table = arrange(mine, cell, response.scale)
            mean = mean_of(table.values[treatment].values(), response.scale, certainty)
            points.append(Point(cell.covariate, mean.blocks, *mean.ends(response.scale), table.left_out[treatment]))
        found.append(Curve(treatment, condition, tuple(points), LEVEL))
    return tuple(found)


BEARABLE = 1.25
"""A slowdown below this counts as none: the first and the second time of the same thing differ by some per cent."""


@dataclass(frozen=True)
class Slowdown:
    """At one size in bytes: the ratio with its interval (0 and inf below five blocks)."""

    size: int
    blocks: int
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Recovery:
    """`slow_to` is the largest size shown to be slow, `recovered_from` the one from which all are shown not to be."""

    points: tuple[Slowdown, ...]
    slow_to: int | None
    recovered_from: int | None


def recovery(ratios: Mapping[int, Sequence[float]], *, blocks_max: int) -> Recovery:
    """Where the slowdown ends. `ratios`: size in bytes to one ratio (after ÷ before) a block; order does not matter."""
    alpha = (1.0 - LEVEL) / max(1, len(ratios))
    points = []
    for size in sorted(size for size in ratios if any(ratio > 0 for ratio in ratios[size])):
        logs = [log(ratio) for ratio in ratios[size] if ratio > 0]
        n, mean = len(logs), fmean(logs)
        half = critical(n, blocks_max, alpha) * stdev(logs) / sqrt(n) if n >= FIRST_LOOK else inf
        ends = (from_contrast(end, Scale.RATIO) for end in (mean, mean - half, mean + half))
        points.append(Slowdown(size, n, *ends))
    recovered = None
    for point in reversed(points):
        if point.high >= BEARABLE:
            break
        recovered = point.size
    slow_to = max((point.size for point in points if point.low > BEARABLE), default=None)
    return Recovery(tuple(points), slow_to, recovered)


@dataclass(frozen=True)
class Recommendation:
    """The size to take, the sizes not shown to differ from the best one, and how much worse the size may be.

    `low` and `high` bound the chosen size's time against the best one's as a ratio; both are 1 where it is the best.
    """

    size: int
    best: int
    alike: tuple[int, ...]
    low: float
    high: float


def recommend(best: int, against_best: Mapping[int, Effect], resolution: float) -> Recommendation | None:
    """The smallest size shown to be at most `resolution` worse than the best one, since memory has other uses.

    `against_best` are effects of a response for which less is better, simultaneous over the sizes; None while nothing
    is bounded.
    """
    if not any(effect.bounded for effect in against_best.values()):
        return None
    alike = [size for size, each in against_best.items() if each.bounded and each.low <= 1.0]
    good = [size for size, each in against_best.items() if each.bounded and each.high <= 1.0 + resolution]
    size = min([best, *good])
    found = against_best.get(size)
    low, high = (1.0, 1.0) if found is None else (found.low, found.high)
    return Recommendation(size, best, tuple(sorted([best, *alike])), low, high if isfinite(high) else inf)


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
        first, second, level, square = _grid(points, shape, here)
        at = int(np.argmin(square))
        if square[at] <= best[3]:
            best = (float(first[at]), float(second[at]), float(level[at]), float(square[at]))
        sides = [(high - low) / 5.0 for low, high in here]
        here = (_hull(best[0], best[0], sides[0], box[0]), _hull(best[1], best[1], sides[1], box[1]))
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
        first, second, level, square = _grid(points, shape, here)
        within = square <= best[3] + (cut - best[3]) * 4.0**round_
        kept = [
            np.append(values[within], value) for values, value in zip((first, second, level, square), best, strict=True)
        ]
        if round_:
            steps = [(high - low) / (_SIDE - 1) for low, high in here]
            ends = [(float(values.min()), float(values.max())) for values in kept[:2]]
            here = (_hull(*ends[0], steps[0], box[0]), _hull(*ends[1], steps[1], box[1]))
    return kept[0], kept[1], kept[2], kept[3]


def _grid(points: Points, shape: Shape, box: Box) -> tuple[Floats, Floats, Floats, Floats]:
    """Both shapes, level and squared error at each place of a grid."""
    first, second = map(np.ravel, np.meshgrid(*(np.linspace(low, high, _SIDE) for low, high in box), indexing="ij"))
    apart = points.logs - shape(first, second, points.places)
    level = apart.mean(axis=1)
    square = ((apart - level[:, None]) ** 2).sum(axis=1)
    return first, second, level, np.where(np.isfinite(square), square, np.inf)


def _hull(low: float, high: float, more: float, bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], low - more), min(bounds[1], high + more)


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


def kink(points: Points) -> Kink | None:
    """Fit two lines; None below five points. A kink is looked for between the first and the last but one."""
    if len(points.places) < 2:
        return None
    searched = (float(points.places[0]), float(points.places[-2]))
    region = fit(points, _two_lines, (searched, _GAIN), LEVEL)
    if region is None:
        return None
    at, gain, height = region.best
    return Kink(_range(at, region.first), _range(gain, region.second), exp(height), region.misfit, searched, LEVEL)


def _two_lines(at: Floats, gain: Floats, clients: Floats) -> Floats:
    lines = np.minimum(clients, at[:, None]) + gain[:, None] * np.maximum(0.0, clients - at[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(lines > 0.0, np.log(lines), np.nan), dtype=np.float64)


def _range(value: float, inside: Floats) -> Estimate:
    return Estimate(value, float(inside.min()), float(inside.max()))


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


def scalability(points: Points) -> Scalability | None:
    """Fit the law with contention and coherency from 0 on; None below five points."""
    region = fit(points, _universal_law, ((0.0, 1.0), (0.0, 1.0)), LEVEL)
    if region is None:
        return None
    sigma, kappa = region.first**2, region.second**2
    places, rates = np.asarray([_peak(*pair) for pair in zip(sigma, kappa, strict=True)]).T
    low, high = np.exp(region.level - region.reach), np.exp(region.level + region.reach)
    best = (region.best[0] ** 2, region.best[1] ** 2)
    place, height = _peak(*best)
    rate = exp(region.best[2])
    return Scalability(
        rate=Estimate(rate, float(low.min()), float(high.max())),
        contention=_range(best[0], sigma),
        coherency=_range(best[1], kappa),
        peak_clients=_range(place, places),
        peak=Estimate(rate * height, float((low * rates).min()), float((high * rates).max())),
        misfit=region.misfit,
        measured=float(points.places[-1]),
        level=LEVEL,
        region=region,
    )


def _universal_law(root_sigma: Floats, root_kappa: Floats, clients: Floats) -> Floats:
    """By the roots of contention and coherency, so that a grid is finest near 0, where both usually lie."""
    sigma, kappa = root_sigma[:, None] ** 2, root_kappa[:, None] ** 2
    delay = 1.0 + sigma * (clients - 1.0) + kappa * clients * (clients - 1.0)
    return np.asarray(np.log(clients) - np.log(delay), dtype=np.float64)


def _peak(sigma: float, kappa: float) -> tuple[float, float]:
    """Clients at the peak (at least one; infinite without coherency delay), and throughput there in one client's."""
    place = max(1.0, sqrt((1.0 - sigma) / kappa)) if kappa > 0.0 else inf
    if place == inf:
        return place, 1.0 / sigma if sigma > 0.0 else inf
    return place, place / (1.0 + sigma * (place - 1.0) + kappa * place * (place - 1.0))
