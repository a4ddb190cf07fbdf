"""A response along a covariate (clients, scale, rate): a curve with its band; and where a slowdown ends along a size.

The band holds for all points of a curve together and at every look. Points are geometric means over blocks on a ratio
scale, means on a difference scale; effects along the curve are `compare`'s, one for each covariate point.

Curves over shared_buffers say which size to take. A slowdown is a ratio within one trial (after ÷ before), so machine
and block cancel in it; its points are as those of a curve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log, sqrt
from statistics import fmean, stdev

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL, critical
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

    @property
    def recovered(self) -> bool:
        return self.high < BEARABLE

    @property
    def slow(self) -> bool:
        return self.low > BEARABLE


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
    for size in sorted(size for size in ratios if ratios[size]):
        logs = [log(ratio) for ratio in ratios[size] if ratio > 0]
        n, mean = len(logs), fmean(logs)
        half = critical(n, blocks_max, alpha) * stdev(logs) / sqrt(n) if n >= FIRST_LOOK else inf
        ends = (from_contrast(end, Scale.RATIO) for end in (mean, mean - half, mean + half))
        points.append(Slowdown(size, n, *ends))
    recovered = None
    for point in reversed(points):
        if not point.recovered:
            break
        recovered = point.size
    return Recovery(tuple(points), max((point.size for point in points if point.slow), default=None), recovered)


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
