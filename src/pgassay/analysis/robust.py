"""The same block-wise contrasts without trusting their mean: Hodges–Lehmann, bootstraps; and how unsteady they are.

Robust estimates are computed once, at the end: where one of them disagrees with the effect's own interval, a few odd
blocks carry it. Never over seconds: those within a trial are not replicates.

How unsteady a treatment is (its spread from block to block against the baseline's) is a result of its own (TUNA,
EuroSys 2025: unstable configurations): a treatment that is 3 % faster and three times as unsteady is another answer.
The interval is Pitman's and Morgan's (Biometrika 1939) for the ratio of two correlated standard deviations; exact for
normal logarithms. Wandering that both share pulls the ratio towards 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, nan, sqrt

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL, Floats, fixed_critical
from pgassay.analysis.effects import Effect, few_blocks, from_contrast
from pgassay.analysis.observations import Observation, tables
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Response, Scale

RESAMPLES = 4000
SEED = 20260101
"""Resampling is part of the analysis, not of the experiment: the same record always gives the same interval."""


@dataclass(frozen=True)
class RobustEstimate:
    """An estimate with its interval that does not rest on the mean: a ratio or a difference, as the effect is.

    `level` is the one attained.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str


def hodges_lehmann(effect: Effect) -> RobustEstimate | None:
    """The median of all pairwise means of contrasts, with the interval that Wilcoxon's signed ranks give (exact).

    Hodges and Lehmann 1963. With fewer than six blocks 95 % cannot be attained; the widest interval is given with its
    level. None without contrasts.
    """
    values = _contrasts(effect)
    n = len(values)
    if n == 0:
        return None
    first, second = np.triu_indices(n)  # every pair of blocks, each with itself too: the Walsh averages
    rank, attained = _rank(n)
    last = len(first) - 1
    places = (rank, last // 2, last - last // 2, last - rank)
    walsh = np.partition((values[first] + values[second]) / 2.0, places)  # in order at these places is enough
    return RobustEstimate(
        estimate=from_contrast(float((walsh[places[1]] + walsh[places[2]]) / 2.0), effect.scale),
        low=from_contrast(float(walsh[rank]), effect.scale),
        high=from_contrast(float(walsh[last - rank]), effect.scale),
        level=attained,
        method="Hodges–Lehmann, interval from Wilcoxon's signed ranks",
    )


def bootstraps(effects: Sequence[Effect]) -> tuple[RobustEstimate | None, ...]:
    """Bias-corrected and accelerated bootstrap (Efron 1987) of each mean contrast, resampling whole blocks.

    None below two blocks. With five or six blocks bootstrap intervals are too narrow; the method says how many. Effects
    of equally many blocks share one product of matrices.
    """
    columns = [_contrasts(effect) for effect in effects]
    found: list[RobustEstimate | None] = [None] * len(effects)
    for n in {len(column) for column in columns if len(column) > 1}:
        places = [place for place, column in enumerate(columns) if len(column) == n]
        means = np.sort((_resamples(n) @ np.stack([columns[place] for place in places], axis=1)).T, axis=1)
        for place, resampled in zip(places, means, strict=True):
            found[place] = _accelerated(effects[place], columns[place], resampled)
    return tuple(found)


def _accelerated(effect: Effect, values: Floats, means: Floats) -> RobustEstimate:
    """From the sorted means of the resamples."""
    n, mean = len(values), float(values.mean())
    if float(np.ptp(values)) == 0.0:
        only = from_contrast(mean, effect.scale)
        return RobustEstimate(only, only, only, LEVEL, _bootstrap_method(n))
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / (2.0 * RESAMPLES)
    bias = float(ndtri(below))
    without = (values.sum() - values) / (n - 1)
    slant = without.mean() - without
    acceleration = float((slant**3).sum() / (6.0 * (slant**2).sum() ** 1.5))
    ends = []
    for tail in ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0):
        z = bias + float(ndtri(tail))
        ends.append(float(np.quantile(means, float(ndtr(bias + z / (1.0 - acceleration * z))))))
    estimate, low, high = (from_contrast(each, effect.scale) for each in (mean, *ends))
    return RobustEstimate(estimate, low, high, LEVEL, _bootstrap_method(n))


@lru_cache(maxsize=4)
def _resamples(blocks: int) -> Floats:
    """How often each block is drawn, as a share, shape (resamples, blocks); the same for every effect of a run."""
    draws = np.random.default_rng(SEED).integers(0, blocks, (RESAMPLES, blocks))
    rows = np.arange(RESAMPLES)[:, None] * blocks
    counts = np.bincount((draws + rows).ravel(), minlength=RESAMPLES * blocks)
    return np.asarray(counts.reshape(RESAMPLES, blocks) / blocks, dtype=np.float64)


def _bootstrap_method(blocks: int) -> str:
    return f"BCa bootstrap over {blocks} blocks, {RESAMPLES} resamples"


def _contrasts(effect: Effect) -> Floats:
    values = np.asarray([value for _, value in effect.contrasts], dtype=np.float64)
    return np.log(values) if effect.scale is Scale.RATIO else values


@lru_cache(maxsize=1024)
def _rank(blocks: int) -> tuple[int, float]:
    """How many Walsh averages to cut on each side, and the level that this attains (at least `LEVEL` if any does)."""
    counts = np.ones(1)
    for rank in range(1, blocks + 1):
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts / 2.0
        longer[rank:] += counts / 2.0
        counts = longer
    tails = counts.cumsum()  # P(signed-rank sum <= k)
    cut = int(np.count_nonzero(tails <= (1.0 - LEVEL) / 2.0))
    # Cutting `cut` averages leaves out sums of at most cut - 1 on each side.
    rank = max(cut, 1) - 1
    return rank, float(1.0 - 2.0 * tails[rank])


@dataclass(frozen=True)
class Instability:
    """`ratio` of standard deviations, treatment over baseline (2 is twice as unsteady), of logarithms or values."""

    treatment: str
    condition: str
    covariate: str
    blocks: int
    ratio: float
    low: float
    high: float
    level: float
    left_out: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point."""
        return Place(self.treatment, self.condition, self.covariate)


def instabilities(observations: Sequence[Observation], response: Response, baseline: str) -> tuple[Instability, ...]:
    """One for each treatment but the baseline, over the blocks that have both."""
    found: list[Instability] = []
    for cell, table in tables(observations, response.scale).items():
        theirs = table.values.get(baseline, {})
        for treatment, ours in table.values.items():
            if treatment == baseline:
                continue
            both = sorted(ours.keys() & theirs.keys())
            x = np.asarray([ours[block] for block in both], dtype=np.float64)
            y = np.asarray([theirs[block] for block in both], dtype=np.float64)
            if response.scale is Scale.RATIO:
                x, y = np.log(x), np.log(y)
            found.append(_instability(x, y, treatment, cell))
    return tuple(found)


def _instability(x: np.ndarray, y: np.ndarray, treatment: str, cell: Cell) -> Instability:
    n = len(x)

    def result(ratio: float, low: float, high: float, *reasons: str) -> Instability:
        return Instability(treatment, cell.condition, cell.covariate, n, ratio, low, high, LEVEL, reasons)

    if n < FIRST_LOOK:
        return result(nan, 0.0, inf, few_blocks(n, FIRST_LOOK))
    ours, theirs = float(x.std(ddof=1)), float(y.std(ddof=1))
    if ours == 0.0 or theirs == 0.0:
        return result(
            inf if ours > 0.0 else nan if theirs == 0.0 else 0.0,
            0.0,
            inf,
            "one of the two has no spread at all, so their ratio has no interval",
        )
    correlation = float(np.corrcoef(x, y)[0, 1])
    t = fixed_critical(n - 1, 1.0 - LEVEL)  # n - 2 degrees of freedom
    k = 1.0 + 2.0 * max(0.0, 1.0 - correlation**2) * t * t / (n - 2)
    stretch = sqrt(k + sqrt(k * k - 1.0))
    ratio = ours / theirs
    return result(ratio, ratio / stretch, ratio * stretch)
