"""What runs of one study at several scales say of a figure at the real size, with its interval.

Space on flash goes by the law of `analysis.scale_law`: fixed costs are there at any size, so as bytes for a byte of
the baseline's data it is `limit + c * N`, whatever Cochran's test sees of them. One run cannot tell the two apart: then
all of it is taken to grow with the data, and the interval is that between its blocks alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean, stdev

from pgassay.analysis.scale_law import Judgement, Point, judge, trend
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Status

DATABASE, PHYSICAL, RATIO = "database_bytes", "physical_bytes", "compression_ratio"


class Basis(StrEnum):
    """How a figure was led to the real size."""

    LINEAR = "one run, scaled linearly"
    AGREE = "the runs agree"
    LAW = "limit + c * N"
    UNTESTED = "limit + c * N of two runs, which cannot test it"


@dataclass(frozen=True)
class Figure:
    """A figure at the real size and its 95 % interval; None where that is not known."""

    value: float
    interval: tuple[float, float] | None
    basis: Basis

    def times(self, factor: float) -> "Figure":
        """The same of so many times more."""
        low, high = self.interval or (0.0, 0.0)
        return replace(self, value=self.value * factor, interval=self.interval and (low * factor, high * factor))


@dataclass(frozen=True)
class Space:
    """One treatment of one run: bytes of flash for a byte of the baseline's data, and the logarithm of compression."""

    physical: Point
    compression: Point


def space_of(trials: Sequence[TrialRecord], baseline: str, data_bytes: float) -> Mapping[Place, Space]:
    """By block, of every treatment that was measured in blocks where the baseline was; `data_bytes` are the original's.

    A block's size of the database is that of its baseline.
    """
    valid = [trial for trial in trials if trial.status is Status.VALID]
    sizes: dict[tuple[Cell, int], float] = {}
    for trial in valid:
        size = trial.responses.get(DATABASE)
        if trial.treatment == baseline and size:
            sizes[trial.place.cell, trial.block] = size
    found: dict[Place, list[tuple[float, float]]] = {}
    for trial in valid:
        size = sizes.get((trial.place.cell, trial.block))
        physical, ratio = trial.responses.get(PHYSICAL), trial.responses.get(RATIO)
        if size and physical and ratio:
            found.setdefault(trial.place, []).append((physical / size, log(ratio)))
    scales = {cell: data_bytes / fmean(size for (of, _), size in sizes.items() if of == cell) for cell, _ in sizes}
    return {
        place: Space(*(point(scales[place.cell], values) for values in zip(*pairs, strict=True)))
        for place, pairs in found.items()
    }


def point(by: float, values: Sequence[float]) -> Point:
    """The mean of a figure's values in one run 1:`by`, and the standard error."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else inf
    return Point(by, fmean(values), error, len(values))


def physical(points: Sequence[Point]) -> Figure:
    """Of bytes for a byte; never below none."""
    found = _linear(points[0]) if len(points) == 1 else _followed(trend(points))
    low, high = found.interval or (0.0, 0.0)
    return replace(found, value=max(0.0, found.value), interval=found.interval and (max(0.0, low), high))


def compression(points: Sequence[Point]) -> Figure:
    """Of logarithms: the ratio itself, which fixed costs change as they change space."""
    return _ratio(_linear(points[0]) if len(points) == 1 else _followed(trend(points)))


def amplification(points: Sequence[Point]) -> Figure:
    """Of logarithms: write amplification, which need not go by fixed costs: the runs agree, or the law is followed."""
    return _ratio(_linear(points[0]) if len(points) == 1 else _followed(judge(points)))


def _linear(one: Point) -> Figure:
    return Figure(one.value, _around(one.value, one.half), Basis.LINEAR)


def _followed(found: Judgement) -> Figure:
    basis = Basis.AGREE if found.agree else Basis.LAW if found.tested else Basis.UNTESTED
    return Figure(found.value, _around(found.value, found.half), basis)


def _around(value: float, half: float) -> tuple[float, float] | None:
    return (value - half, value + half) if isfinite(half) else None


def _ratio(figure: Figure) -> Figure:
    """From logarithms; what lies beyond all numbers is not known."""
    low, high = figure.interval or (0.0, inf)
    return replace(figure, value=exp(figure.value), interval=(exp(low), exp(high)) if high < _LARGEST else None)


_LARGEST = 700.0
