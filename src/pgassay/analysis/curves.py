"""A response along a covariate (clients, scale, rate): a curve with its band, instead of verdicts.

The band holds for all points of a curve together and at every look. Points are geometric means over blocks on a ratio
scale, means on a difference scale; effects along the curve are `compare`'s, one for each covariate point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from pgassay.analysis.boundaries import critical, fixed_critical
from pgassay.analysis.compare import Looks
from pgassay.analysis.effects import mean_of
from pgassay.analysis.observations import Observation, arrange, cells
from pgassay.study.responses import Response


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
        """True when there is a band at all."""
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
    level: float = 0.95,
) -> tuple[Curve, ...]:
    """A curve for each treatment in each condition."""
    keys = dict.fromkeys((seen.treatment, seen.condition) for seen in observations)
    horizon = blocks_max if looks == "every block" else None
    return tuple(_curve(observations, response, treatment, condition, horizon, level) for treatment, condition in keys)


def _curve(
    observations: Sequence[Observation],
    response: Response,
    treatment: str,
    condition: str,
    horizon: int | None,
    level: float,
) -> Curve:
    """`horizon` is None for data that were looked at once."""
    mine = [seen for seen in observations if seen.treatment == treatment and seen.condition == condition]
    places = cells(mine)
    alpha = (1.0 - level) / len(places)

    def value_of(blocks: int) -> float:
        return fixed_critical(blocks, alpha) if horizon is None else critical(blocks, horizon, alpha)

    points = []
    for cell in places:
        table = arrange(mine, cell, response.scale)
        mean = mean_of(table.values[treatment].values(), response.scale, value_of)
        points.append(Point(cell.covariate, mean.blocks, *mean.ends(response.scale), table.left_out[treatment]))
    return Curve(treatment, condition, tuple(points), level)
