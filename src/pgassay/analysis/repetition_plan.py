"""The cheapest way to repeat: how many runs after each restart, how many restarts of each cluster, how many clusters.

Kalibera and Jones (ISMM 2013), section 7: n_i = sqrt(c_(i+1) / c_i * s_i^2 / s_(i+1)^2) makes variance times cost
least. Where it asks for less than one, the two levels are pooled (each restart then has a cluster of its own), which
is the optimum under n_i >= 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, floor, inf, log, sqrt

from pgassay.analysis.boundaries import fixed_critical

REPEATS_MAX = 50
"""No level is repeated more often within the one above it: its variance is never known to be exactly zero."""

CLUSTERS_MAX = 500
LEAST = 2


@dataclass(frozen=True)
class Level:
    """A level of repetition: the variance that it adds (of logarithms), and what one more of it costs."""

    variance: float
    seconds: float


@dataclass(frozen=True)
class RepetitionPlan:
    """Repetitions of one treatment. `half_width` is that of its mean's interval as a share (0.02 is ±2 %)."""

    clusters: int
    restarts: int
    runs: int
    seconds: float
    half_width: float


def optimum(levels: Sequence[Level]) -> tuple[float, ...]:
    """How often each level but the last is repeated within the next, real numbers >= 1; `levels` from the lowest up.

    Infinite above a level that adds no variance at all.
    """
    pools: list[list[float]] = []  # variance, seconds, levels in the pool
    for level in reversed(levels):
        pools.append([level.variance, level.seconds, 1.0])
        # Downwards there must be ever more of each: variance per second must not fall on the way down.
        while len(pools) > 1 and pools[-1][0] * pools[-2][1] < pools[-2][0] * pools[-1][1]:
            variance, seconds, count = pools.pop()
            pools[-1] = [pools[-1][0] + variance, pools[-1][1] + seconds, pools[-1][2] + count]
    rates = [variance / seconds for variance, seconds, count in pools for _ in range(int(count))]
    ratios = [lower / upper if upper > 0.0 else (inf if lower > 0.0 else 1.0) for upper, lower in pairwise(rates)]
    return tuple(sqrt(ratio) for ratio in reversed(ratios))


def repeats(run: Level, restart: Level, cluster: Level) -> tuple[int, int]:
    """Runs after a restart and restarts of a cluster, whole numbers up to `REPEATS_MAX`: least variance times cost."""
    found = []
    for restarts in range(1, REPEATS_MAX + 1):
        # With the restarts fixed they are part of their cluster, and the formula gives the runs.
        above = Level(cluster.variance + restart.variance / restarts, cluster.seconds + restarts * restart.seconds)
        (exact,) = optimum((Level(run.variance / restarts, run.seconds * restarts), above))
        for runs in {floor(min(exact, REPEATS_MAX)), ceil(min(exact, REPEATS_MAX))}:
            found.append((_product(run, restart, cluster, restarts, runs), runs, restarts))
    _, runs, restarts = min(found)
    return runs, restarts


def cheapest(run: Level, restart: Level, cluster: Level, width: float, alpha: float = 0.05) -> RepetitionPlan | None:
    """The plan whose interval (Student's t over clusters) is within ±`width`; None beyond `CLUSTERS_MAX` clusters."""
    runs, restarts = repeats(run, restart, cluster)
    variance = cluster.variance + restart.variance / restarts + run.variance / (restarts * runs)
    seconds = cluster.seconds + restarts * (restart.seconds + runs * run.seconds)
    for clusters in range(LEAST, CLUSTERS_MAX + 1):
        half = fixed_critical(clusters, alpha) * sqrt(variance / clusters)
        if half <= log(1.0 + width):
            return RepetitionPlan(clusters, restarts, runs, clusters * seconds, exp(half) - 1.0)
    return None


def _product(run: Level, restart: Level, cluster: Level, restarts: int, runs: int) -> float:
    variance = cluster.variance + restart.variance / restarts + run.variance / (restarts * runs)
    return variance * (cluster.seconds + restarts * (restart.seconds + runs * run.seconds))
