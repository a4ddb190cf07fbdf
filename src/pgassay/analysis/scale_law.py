"""What models of several sizes say of the original: they agree, or a law leads from them to it.

A model 1:N has N times the share of fixed costs (an empty cluster, the least WAL, a catalogue), so a figure goes by
`limit + c * N`. The models *agree* where Cochran's test does not tell them apart (Cochran, Biometrics 10, 1954), or
where all lie close to their mean. Where they do not, the law is fitted by weighted least squares and followed to
N = 1. Its error is that of the points, widened where they lie off the line (Birge, Phys. Rev. 40, 1932), with Student's
t of as many degrees of freedom as there are points beyond two. Two points lie on their line whatever the law is: the
interval is then that of what was measured, *if* the law holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from statistics import fmean

from scipy.special import chdtrc, stdtrit  # type: ignore[import-untyped]

DISTINCT = 0.05
SAME = 0.02
_LEAST_ERROR = 1e-12
_TWO_SIDED = 0.975


@dataclass(frozen=True)
class Point:
    """A figure of the model 1:`by`: its mean over blocks and standard error; logarithms where ratios are compared.

    The error of one block is not known: infinite.
    """

    by: float
    value: float
    error: float
    blocks: int

    @property
    def half(self) -> float:
        """Half of its 95 % interval; infinite where that is not known."""
        return self.error * float(stdtrit(self.blocks - 1, _TWO_SIDED)) if self.blocks > 1 else inf


@dataclass(frozen=True)
class Judgement:
    """What several models say of one figure: do they agree, and what does the original have, plus or minus?

    `value` and `half` (of the 95 % interval; infinite where it is not known) are on the points' scale. `tested` is
    False where no third size is there to test the law by.
    """

    agree: bool
    value: float
    half: float
    tested: bool


def judge(points: Sequence[Point]) -> Judgement:
    """Agreement with the common mean, or what the law leads to at N = 1. Raises `ValueError` as `trend` does."""
    weights = _weights(points)
    mean = _mean(weights, [each.value for each in points])
    distance = sum(w * (each.value - mean) ** 2 for w, each in zip(weights, points, strict=True))
    middle = fmean(each.value for each in points)
    known = all(isfinite(each.error) for each in points)
    alike = known and float(chdtrc(len(points) - 1, distance)) >= DISTINCT
    close = all(abs(each.value - middle) <= SAME for each in points)
    if not (alike or close):
        return trend(points)
    if not known:
        return Judgement(True, middle, inf, tested=True)
    freedom = sum(each.blocks for each in points) - len(points)
    common = mean if alike else middle
    spread = max(abs(each.value - common) for each in points)
    half = max(float(stdtrit(freedom, _TWO_SIDED)) / sqrt(sum(weights)), 0.0 if alike else spread)
    return Judgement(True, common, half, tested=True)


def trend(points: Sequence[Point]) -> Judgement:
    """`limit + c * by` at `by` = 1, by weighted least squares. Raises `ValueError` for points of one size alone."""
    if len({each.by for each in points}) < 2:
        raise ValueError("points of one size alone have no trend")
    weights = _weights(points)
    total = sum(weights)
    x_mean = _mean(weights, [each.by for each in points])
    y_mean = _mean(weights, [each.value for each in points])
    both = list(zip(weights, points, strict=True))
    spread = sum(w * (each.by - x_mean) ** 2 for w, each in both)
    slope = sum(w * (each.by - x_mean) * (each.value - y_mean) for w, each in both) / spread
    value = y_mean + slope * (1 - x_mean)
    beyond = len(points) - 2
    tested = len({each.by for each in points}) > 2
    if not all(isfinite(each.error) for each in points):
        return Judgement(False, value, inf, tested)
    if beyond < 1:
        return Judgement(False, value, _half_of_two(points), tested=False)
    residual = sum(w * (each.value - y_mean - slope * (each.by - x_mean)) ** 2 for w, each in both)
    widened = max(1.0, residual / beyond)
    error = sqrt(widened * (1 / total + (1 - x_mean) ** 2 / spread))
    return Judgement(False, value, float(stdtrit(beyond, _TWO_SIDED)) * error, tested)


def _half_of_two(points: Sequence[Point]) -> float:
    """Half the interval of what two points lead to, with the degrees of freedom of Welch and Satterthwaite."""
    first, second = points
    reach = second.by - first.by
    parts = [((second.by - 1) / reach * first.error) ** 2, ((1 - first.by) / reach * second.error) ** 2]
    variance = sum(parts)
    if variance == 0.0:
        return 0.0
    freedom = variance**2 / sum(part**2 / (each.blocks - 1) for part, each in zip(parts, points, strict=True))
    return float(stdtrit(freedom, _TWO_SIDED)) * sqrt(variance)


def _weights(points: Sequence[Point]) -> list[float]:
    """By their errors; alike where one of them is not known."""
    if not all(isfinite(each.error) for each in points):
        return [1.0] * len(points)
    return [1 / max(each.error, _LEAST_ERROR) ** 2 for each in points]


def _mean(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
