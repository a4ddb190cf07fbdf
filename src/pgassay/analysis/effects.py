"""An effect: a treatment's response against the baseline's, with its interval.

On a ratio scale the estimate is the ratio of geometric means over the blocks that have both (1.10 is ten per cent
more); on a difference scale it is the mean difference in the response's unit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, inf, isfinite, nan, sqrt

import numpy as np

from pgassay.analysis.boundaries import (
    FIRST_LOOK,
    Floats,
    critical,
    fixed_critical,
    prior_of,
    with_freedom,
    with_more_freedom,
)
from pgassay.analysis.hosts import BetweenHosts, nested
from pgassay.analysis.numbers import plural
from pgassay.analysis.observations import Contrasts
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Response, Scale

WIDEST = 100.0
"""Ends of an interval of ratios that are further apart than this leave anything possible."""


def informative(low: float, high: float, scale: Scale) -> bool:
    """Does an interval say how large something is? Without an end, or with ends `WIDEST` times apart, it does not."""
    if not (isfinite(low) and isfinite(high)):
        return False
    return scale is Scale.DIFFERENCE or 0.0 < high <= WIDEST * low


def informative_change(low: float, high: float, scale: Scale) -> bool:
    """The same of a ratio or difference against a baseline, whose direction is worth something by itself."""
    return informative(low, high, scale) or (scale is Scale.RATIO and isfinite(high) and not low <= 1.0 <= high)


@dataclass(frozen=True)
class Peers:
    """What the other treatments of a cell tell about the noise of one treatment's contrasts with the baseline.

    `variance` is the mean of the variances of `contrasts` treatments, this one with them, over the same blocks;
    `family` counts the treatments that the cell's share of the error rate is for.
    """

    variance: float
    contrasts: int
    family: int

    @property
    def prior(self) -> float:
        """The degrees of freedom that `variance` counts for along with the treatment's own."""
        return prior_of(self.contrasts)


@dataclass(frozen=True)
class Effect:
    """A treatment against the baseline. `estimate`, `low` and `high` are a ratio or a difference, by `scale`.

    The interval is unbounded (0 … inf, or -inf … inf) and the estimate may be NaN when too few blocks have both.
    `spread` is the standard deviation of the block-wise contrasts (log-ratios or differences).
    """

    treatment: str
    condition: str
    covariate: str
    response: str
    scale: Scale
    blocks: int
    estimate: float
    low: float
    high: float
    level: float
    method: str
    left_out: tuple[str, ...]
    primary: bool = False
    comparisons: int = 1
    inner: tuple[float, float] | None = None
    """By the rules before 4 equivalence was judged by this one, of two one-sided tests; None: by `low` and `high`."""
    spread: float = nan
    peers: Peers | None = None
    """What moderated the variance; None where the treatment's own was taken alone."""
    baseline_mean: float = nan
    contrasts: tuple[tuple[int, float], ...] = ()
    """(block, ratio or difference) in block order: what the estimate is the mean of."""
    refused: str = ""
    """Why the two may not be compared (see `compare`); there are no numbers then. Empty where they may."""
    nothing_in_common: str = ""
    """Why not one block has a value of both; empty where one has."""
    between: BetweenHosts | None = None
    """How far hosts differ, where blocks ran on several: estimate and interval are then those of this kind of host."""

    @property
    def place(self) -> Place:
        return Place(self.treatment, self.condition, self.covariate)

    @property
    def bounded(self) -> bool:
        return isfinite(self.high) and isfinite(self.estimate)

    @property
    def informative(self) -> bool:
        """Does the interval say anything: how large the effect is, or at least its direction? Else it is not shown."""
        return self.bounded and informative_change(self.low, self.high, self.scale)

    @property
    def none(self) -> float:
        """The value of no effect: 1 on a ratio scale, 0 on a difference scale."""
        return 1.0 if self.scale is Scale.RATIO else 0.0


@dataclass(frozen=True)
class Certainty:
    """How intervals are made: the family's level, the number of comparisons that share it, and the looks."""

    level: float
    comparisons: int
    horizon: int
    every_block: bool
    inner: bool = False
    """Is an interval of twice the error wanted, too? See `Effect.inner`."""
    stage: int | None = None
    """Blocks of the first of two stages, see `boundaries.spent`."""
    moderated: bool = False
    """May the other treatments of a cell tell about a treatment's noise? See `Peers`."""

    @property
    def alpha(self) -> float:
        """The error rate of one comparison (Bonferroni: it holds whatever the comparisons have in common)."""
        return (1.0 - self.level) / self.comparisons

    def critical(self, blocks: int, alpha: float) -> float:
        return critical(blocks, self.horizon, alpha, self.stage) if self.every_block else fixed_critical(blocks, alpha)

    @property
    def method(self) -> str:
        """The method in words, as a report prints it."""
        noise = ", variances moderated by the other treatments'" if self.moderated and self.comparisons > 1 else ""
        return self.method_on(f"block-wise contrasts{noise}")

    def method_on(self, data: str) -> str:
        """The same where the data are other ones."""
        if self.every_block and self.horizon < FIRST_LOOK:
            return f"no interval below {FIRST_LOOK} blocks"
        looks = "one look"
        if self.every_block:
            looks = f"one look at {FIRST_LOOK} blocks"
            if self.horizon > FIRST_LOOK:
                looks = f"alpha spending over looks at {FIRST_LOOK} to {self.horizon} blocks"
        family = f", Bonferroni over {self.comparisons} comparisons" if self.comparisons > 1 else ""
        return f"Student's t on {data}, {looks}{family}"


def from_contrast(value: float, scale: Scale) -> float:
    """A mean contrast or the end of its interval as a reader sees it: a ratio, or a difference as it is.

    A logarithm beyond what a number holds gives inf; NaN stays NaN.
    """
    if scale is Scale.DIFFERENCE or value != value:
        return value
    return exp(value) if value < 700.0 else inf


@dataclass(frozen=True)
class BlockMean:
    """The mean of a treatment's own values over the blocks, on the scale of contrasts, with half of its interval."""

    blocks: int
    mean: float
    half: float

    def ends(self, scale: Scale) -> tuple[float, float, float]:
        """Estimate and interval as a reader sees them; unbounded below five blocks."""
        ends = (self.mean, self.mean - self.half, self.mean + self.half) if self.blocks else (nan, -inf, inf)
        estimate, low, high = (from_contrast(end, scale) for end in ends)
        return estimate, low, high


def mean_of(values: Iterable[float], scale: Scale, certainty: Certainty) -> BlockMean:
    """The mean of these values, geometric on a ratio scale."""
    known = np.asarray(list(values), dtype=np.float64)
    sample = np.log(known) if scale is Scale.RATIO else known
    n = len(sample)
    half = inf
    if n >= FIRST_LOOK:
        half = certainty.critical(n, certainty.alpha) * float(sample.std(ddof=1)) / sqrt(n)
    return BlockMean(n, float(sample.mean()) if n else nan, half)


def estimate(
    contrasts: Contrasts,
    treatment: str,
    cell: Cell,
    response: Response,
    certainty: Certainty,
    *,
    primary: bool,
    peers: Peers | None = None,
) -> Effect:
    """The effect with its interval from block-wise contrasts; without `peers` by the treatment's own variance alone."""
    n = len(contrasts.values)
    mean = float(contrasts.values.sum()) / n if n else nan
    spread = _spread(contrasts.values, mean) if n > 1 else nan
    fitted = nested(contrasts.values, contrasts.hosts) if n > 1 and contrasts.hosts else None
    if fitted is not None:  # several hosts: the effect is that of their kind, and its peers' noise is no help
        mean, peers = fitted.mean, None

    def ends(alpha: float) -> tuple[float, float]:
        half = _half_width(n, spread, certainty, alpha, peers, fitted)
        low, high = (mean - half, mean + half) if n else (-inf, inf)
        return from_contrast(low, response.scale), from_contrast(high, response.scale)

    low, high = ends(certainty.alpha)
    shown = np.exp(contrasts.values) if response.scale is Scale.RATIO else contrasts.values
    return Effect(
        treatment=treatment,
        condition=cell.condition,
        covariate=cell.covariate,
        response=response.name,
        scale=response.scale,
        blocks=n,
        estimate=from_contrast(mean, response.scale),
        low=low,
        high=high,
        level=certainty.level,
        method=certainty.method
        if fitted is None  # no treatment tells about another's noise then
        else certainty.method_on(f"the means of block-wise contrasts on {len(fitted.hosts)} hosts"),
        left_out=contrasts.left_out + _cautions(n, spread, certainty, contrasts.hosts),
        primary=primary,
        comparisons=certainty.comparisons,
        inner=ends(2.0 * certainty.alpha) if certainty.inner else None,
        spread=spread,
        peers=peers,
        baseline_mean=float(contrasts.baseline.sum()) / n if n else nan,
        contrasts=tuple(zip(contrasts.blocks, shown.tolist(), strict=True)),
        nothing_in_common="" if n else next(reversed(contrasts.left_out), ""),
        between=fitted,
    )


def _spread(values: Floats, mean: float) -> float:
    """The sample's standard deviation; a run has hundreds of effects, and numpy's own takes four times as long."""
    if values.max() == values.min():
        return 0.0  # the mean of equal numbers may differ from them in the last bit
    rest = values - mean
    return sqrt(float(rest @ rest) / (len(values) - 1))


def moderated_spread(spread: float, blocks: int, peers: Peers | None) -> float:
    """The standard deviation of a treatment's contrasts, moderated by its peers' (Smyth 2004, with a fixed prior)."""
    if peers is None:
        return spread
    return sqrt((peers.prior * peers.variance + (blocks - 1) * spread**2) / (peers.prior + blocks - 1))


def _half_width(
    blocks: int, spread: float, certainty: Certainty, alpha: float, peers: Peers | None, fitted: BetweenHosts | None
) -> float:
    """Of an effect of this kind of host: each look's nominal error, with the freedom that the hosts give."""
    value = certainty.critical(blocks, alpha)
    if not isfinite(value) or blocks < 2:
        return inf
    if fitted is not None:
        return with_freedom(value, blocks, fitted.freedom) * fitted.error
    if peers is None or peers.prior == 0.0:
        return value * spread / sqrt(blocks)
    moderated = with_more_freedom(value, blocks, peers.prior) * moderated_spread(spread, blocks, peers)
    # A treatment that alone is noisy has the error rate of its whole cell to itself: the others hardly ever err then.
    guard = certainty.critical(blocks, alpha * peers.family) * spread
    return max(moderated, guard) / sqrt(blocks)


def _cautions(blocks: int, spread: float, certainty: Certainty, hosts: tuple[str, ...]) -> tuple[str, ...]:
    least, cautions = FIRST_LOOK if certainty.every_block else 2, []
    if blocks < least:
        cautions.append(few_blocks(blocks, least))
    else:
        if spread == 0.0:
            cautions.append(f"all {blocks} blocks give exactly the same contrast, so the interval has no width")
        if certainty.every_block and blocks > certainty.horizon:
            cautions.append(
                f"{blocks} blocks where {certainty.horizon} were planned: the interval was widened for the extra looks"
            )
    if len(set(hosts)) == 1:
        cautions.append(f"all blocks ran on {hosts[0]}: the interval holds for this host, not for hosts of its kind")
    return tuple(cautions)


def few_blocks(blocks: int, least: int) -> str:
    """Too few blocks have both the treatment and its baseline for an interval, which needs `least`."""
    return f"{blocks} {plural('block', blocks)} in common with the baseline; an interval needs {least}"
