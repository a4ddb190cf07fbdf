"""Does an effect stay the same over days? Block-wise contrasts against time, each host with a level of its own.

A machine is not the same tomorrow: updates, neighbours, a drive that ages. The slope is by least squares with a
level for each host (an analysis of covariance), so hosts that joined later are no drift. Its interval is Student's at
95 %, as at one look; it takes no part in any verdict. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, nan, sqrt

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

DAYS_MIN = 1.0
"""Below this there is nothing to be told over days."""


@dataclass(frozen=True)
class Moment:
    """The contrast of one block (logarithm of a ratio, or a difference), on a host, so many days after the epoch."""

    host: str
    day: float
    value: float


@dataclass(frozen=True)
class HostDay:
    """The effect on one host on one day (UTC): the mean of its blocks' contrasts, with its own interval.

    The interval is by the spread that blocks of one host and day share; NaN where none of them has two.
    """

    host: str
    day: int
    blocks: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Drift:
    """How an effect changed: by `per_day` with its interval, in the scale of contrasts, over so many days.

    NaN where it cannot be told: no host has blocks at two times, or nothing is left to tell it by.
    """

    days: tuple[HostDay, ...]
    span_days: float
    per_day: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """Is it shown that the effect changed?"""
        return isfinite(self.low) and not self.low <= 0.0 <= self.high


def drift(moments: Sequence[Moment], level: float = 0.95) -> Drift | None:
    """The change over days; None where all blocks are of one day's length."""
    times = [each.day for each in moments]
    if not moments or max(times) - min(times) < DAYS_MIN:
        return None
    found = _slope(moments, level)
    return Drift(_by_day(moments, level), max(times) - min(times), *found)


def _slope(moments: Sequence[Moment], level: float) -> tuple[float, float, float]:
    names = list(dict.fromkeys(each.host for each in moments))
    which = np.asarray([names.index(each.host) for each in moments])
    times = np.asarray([each.day for each in moments], dtype=np.float64)
    values = np.asarray([each.value for each in moments], dtype=np.float64)
    for number in range(len(names)):
        mine = which == number
        times[mine] -= times[mine].mean()
        values[mine] -= values[mine].mean()
    squares = float(times @ times)
    freedom = len(moments) - len(names) - 1
    if squares <= 0.0:
        return nan, nan, nan
    slope = float(times @ values) / squares
    if freedom < 1:
        return slope, nan, nan
    rest = values - slope * times
    half = _student(freedom, level) * sqrt(float(rest @ rest) / freedom / squares)
    return slope, slope - half, slope + half


def _by_day(moments: Sequence[Moment], level: float) -> tuple[HostDay, ...]:
    groups: dict[tuple[str, int], list[float]] = {}
    for each in sorted(moments, key=lambda moment: moment.day):
        groups.setdefault((each.host, floor(each.day)), []).append(each.value)
    inside = sum(float(((np.asarray(values) - np.mean(values)) ** 2).sum()) for values in groups.values())
    freedom = sum(len(values) - 1 for values in groups.values())
    half = _student(freedom, level) * sqrt(inside / freedom) if freedom else inf
    found = []
    for (host, day), values in groups.items():
        mean, width = float(np.mean(values)), half / sqrt(len(values))
        ends = (mean - width, mean + width) if isfinite(width) else (nan, nan)
        found.append(HostDay(host, day, len(values), mean, *ends))
    return tuple(found)


def _student(freedom: int, level: float) -> float:
    return float(stdtrit(freedom, (1.0 + level) / 2.0))
