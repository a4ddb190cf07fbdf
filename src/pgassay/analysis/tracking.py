"""Where a history changed its level: change points of a response's log-ratios to a fixed reference, with intervals.

Each point is one commit, measured in the same blocks as the same reference, so that a new kernel or another host moves
both. Where levels begin is the optimum of `seconds.partition` (what PELT finds: Killick, Fearnhead, Eckley 2012).
A step that was picked because it is large is overstated: its interval counts every step that could have been picked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, exp, inf, log, sqrt

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import LEVEL, Floats
from pgassay.analysis.seconds import LEAST, PENALTY, partition

POINTS_MIN = 6
"""Fewer points have too little to know the noise by."""


@dataclass(frozen=True)
class Level:
    """Points `first` to `upto`, without `upto`, of one mean log-ratio."""

    first: int
    upto: int
    mean: float

    @property
    def points(self) -> int:
        """How many."""
        return self.upto - self.first


@dataclass(frozen=True)
class Step:
    """A new level begins at point `at`: the new one ÷ the old one, with its interval."""

    at: int
    estimate: float
    low: float
    high: float

    def exceeds(self, least: float) -> bool:
        """Is it larger than this share, by its whole interval?"""
        return min(self.low, self.high) > 1.0 + least or max(self.low, self.high) < 1.0 / (1.0 + least)


@dataclass(frozen=True)
class Course:
    """What a history says. `noise` is a point's standard deviation (log-ratio), nan where there are too few points."""

    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    noise: float
    smallest: float
    """The step (a share) that the last `LEAST` points would show if they had another level; inf where none would."""


def course_of(means: Sequence[float], least: float = 0.0) -> Course:
    """Levels and steps of a history, each step shown to be larger than `least`, a share: no interval holds 1."""
    values = np.asarray(means, dtype=np.float64)
    count = len(values)
    if count < POINTS_MIN:
        return Course(_levels(values, ()) if count else (), (), float("nan"), inf)
    penalty = PENALTY * log(count) * _noise(values, ()) ** 2
    starts = partition(values[None, :], np.array([max(penalty, 1e-18)]))[0]
    while True:
        noise, freedom = _noise(values, starts), max(2.0 * (count - 1 - len(starts)) / 3.0, 1.0)
        levels = _levels(values, starts)
        critical = _critical(count, freedom)
        steps = [_step(old, new, noise, critical) for old, new in pairwise(levels)]
        doubtful = [each for each in steps if not each.exceeds(least)]
        if not doubtful:
            break
        dropped = min(doubtful, key=lambda each: abs(log(each.estimate)))
        starts = tuple(each for each in starts if each != dropped.at)
    last = levels[-1]
    rest = max(last.points - LEAST, LEAST)
    smallest = (1.0 + least) * exp(critical * noise * sqrt(1.0 / rest + 1.0 / LEAST)) - 1.0
    return Course(levels, tuple(steps), noise, smallest)


def _levels(values: Floats, starts: Sequence[int]) -> tuple[Level, ...]:
    ends = [0, *starts, len(values)]
    return tuple(Level(first, upto, float(values[first:upto].mean())) for first, upto in pairwise(ends))


def _noise(values: Floats, starts: Sequence[int]) -> float:
    """A point's standard deviation by what neighbours differ, without those that a step lies between.

    Residuals about levels that were picked to fit are too small; differences of neighbours were picked by nobody.
    """
    kept = np.delete(np.diff(values), [each - 1 for each in starts])
    found = sqrt(float(kept @ kept) / (2.0 * len(kept))) if len(kept) else 0.0
    return max(found, 1e-9)


def _critical(count: int, freedom: float) -> float:
    """Of |t| for any two neighbouring stretches of a history, each of `LEAST` points at least (Bonferroni)."""
    pairs = comb(count - 2 * LEAST + 3, 3)
    return float(stdtrit(freedom, 1.0 - (1.0 - LEVEL) / (2.0 * max(pairs, 1))))


def _step(old: Level, new: Level, noise: float, critical: float) -> Step:
    mean, half = new.mean - old.mean, critical * noise * sqrt(1.0 / old.points + 1.0 / new.points)
    return Step(new.first, exp(mean), exp(mean - half), exp(mean + half))
