"""A study over several hosts: blocks nested in hosts, hosts as random effects.

A block's contrast is d = m + a + e: `a` of its host (variance between hosts), `e` of the block (variance within). The
effect is then one of *this kind of host*, and what limits it is how many hosts there are. The two variances by REML
(Patterson and Thompson, Biometrika 1971), the mean by the weights they give, its variance and degrees of freedom by
Kenward and Roger (Biometrics 1997; for one contrast the degrees are Satterthwaite's). With as many blocks on each host
it is Student's t over the hosts' means, or wider. `fit` takes many studies at once: the benchmark of validity calls
what the product calls.
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, fdtri, stdtrit  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import Floats

HOSTS_MIN = 2
"""Hosts below which nothing is known of what differs between them."""

_LOGS = np.concatenate(([-np.inf], np.linspace(-8.0, 25.0, 67)))
"""Logarithms of the ratio of variances, times the mean number of blocks on a host, that the search begins from."""
_GOLDEN = (sqrt(5.0) - 1.0) / 2.0
_STEPS = 40
_NOTHING = 1e-12
"""A sum of squares within hosts, as a share of all, that is nothing but rounding."""


@dataclass(frozen=True)
class HostEffect:
    """The effect on one host, in the scale of contrasts: the mean of its blocks' contrasts."""

    host: str
    blocks: int
    mean: float


@dataclass(frozen=True)
class BetweenHosts:
    """How far hosts differ in an effect, in the scale of contrasts (logarithms of ratios, or differences).

    `mean` is the effect on this kind of host, with its standard `error` and degrees of `freedom`; `deviation` is the
    standard deviation of the effect between hosts, `low` and `high` its own interval (95 %, as at one look; NaN where
    no host has two blocks); `within` that of blocks on one host.
    """

    hosts: tuple[HostEffect, ...]
    mean: float
    error: float
    freedom: float
    deviation: float
    low: float
    high: float
    within: float


class Fit(NamedTuple):
    """The mean of many studies (arrays of one shape): with its standard error, degrees of freedom, both variances."""

    mean: Floats
    error: Floats
    freedom: Floats
    between: Floats
    within: Floats


def nested(values: Floats, hosts: tuple[str, ...]) -> BetweenHosts | None:
    """The mean contrast of blocks that ran on these hosts, and how far hosts differ; None below two hosts."""
    names = tuple(dict.fromkeys(hosts))
    if len(names) < HOSTS_MIN:
        return None
    groups = [values[[host == name for host in hosts]] for name in names]
    counts = np.asarray([len(group) for group in groups], dtype=np.float64)
    means = np.asarray([group.mean() for group in groups])
    inside = np.asarray(sum(float(((group - group.mean()) ** 2).sum()) for group in groups))
    found = fit(counts, means, inside)
    low, high = between_interval(counts, means, inside)
    alone = tuple(HostEffect(name, len(group), float(group.mean())) for name, group in zip(names, groups, strict=True))
    between, within = (sqrt(float(each)) if each == each else nan for each in (found.between, found.within))
    ends = sqrt(float(low)), sqrt(float(high))
    return BetweenHosts(alone, float(found.mean), float(found.error), float(found.freedom), between, *ends, within)


def host_interval(found: BetweenHosts, host: HostEffect) -> tuple[float, float]:
    """The 95 % interval of the effect on one host alone, one look: Student's, by the spread that hosts' blocks share.

    NaN where no host has two blocks.
    """
    freedom = sum(each.blocks - 1 for each in found.hosts)
    if freedom < 1 or not found.within >= 0.0:
        return nan, nan
    half = float(stdtrit(freedom, 1.0 - 0.05 / 2.0)) * found.within / sqrt(host.blocks)
    return host.mean - half, host.mean + half


def fit(counts: Floats, means: Floats, inside: Floats) -> Fit:
    """Fit studies: blocks of each host (hosts,), the hosts' means (…, hosts), the sums of squares within hosts (…)."""
    hosts, blocks = len(counts), float(counts.sum())
    about = means - means.mean(axis=-1, keepdims=True)
    plain = (about**2).sum(axis=-1) / (hosts - 1)
    if blocks == hosts:  # what is between hosts and what is within cannot be separated, and need not be
        unknown = np.full(np.shape(inside), nan)
        return Fit(means.mean(axis=-1), np.sqrt(plain / hosts), np.full_like(unknown, hosts - 1), unknown, unknown)
    total = inside + plain
    bare = inside <= _NOTHING * total
    unit = np.sqrt(np.where(total > 0.0, total, 1.0))  # numbers near 1, whatever the response's unit
    about, inside = about / unit[..., None], np.where(bare, 1.0, inside / unit**2)
    ratio = _ratio(counts, about, inside)
    weights = counts / (1.0 + counts * ratio[..., None])
    mean = (weights * about).sum(axis=-1) / weights.sum(axis=-1)
    rest = inside + (weights * (about - mean[..., None]) ** 2).sum(axis=-1)
    within = rest / (blocks - 1.0)
    variance, freedom = _kenward_roger(counts, ratio * within, within)
    return Fit(
        means.mean(axis=-1) + np.where(bare, 0.0, unit * mean),
        np.sqrt(np.where(bare, plain / hosts, unit**2 * variance)),
        np.where(bare, hosts - 1.0, np.minimum(freedom, hosts - 1.0)),
        np.where(bare, plain, unit**2 * ratio * within),
        np.where(bare, 0.0, unit**2 * within),
    )


def between_interval(counts: Floats, means: Floats, inside: Floats) -> tuple[Floats, Floats]:
    """The variance between hosts with 95 %: Tukey's and Williams's, of unweighted means (Thomas, Hultquist 1978).

    NaN where no host has two blocks: then nothing tells the two variances apart.
    """
    hosts, blocks = len(counts), float(counts.sum())
    if blocks == hosts:
        unknown = np.full(np.shape(inside), nan)
        return unknown, unknown
    free, rest = hosts - 1.0, blocks - hosts
    size = hosts / (1.0 / counts).sum()
    squares = size * means.var(axis=-1, ddof=1)
    noise = inside / rest
    ends = []
    for tail in (0.025, 0.975):  # the share of the chi-square and F above the value
        chi, ratio = chdtri(free, tail), fdtri(free, rest, 1.0 - tail)
        ends.append(np.maximum(free * (squares - ratio * noise) / (size * chi), 0.0))
    return ends[0], ends[1]


def _ratio(counts: Floats, about: Floats, inside: Floats) -> Floats:
    """The REML estimate of the variance between hosts by that within: the best of a grid, then golden sections."""
    scale = len(counts) / counts.sum()
    shape = np.shape(inside)
    sums, left = about.reshape(-1, len(counts)), inside.reshape(-1)
    on_grid = np.stack([_criterion(counts, sums, left, np.full(len(left), np.exp(u) * scale)) for u in _LOGS], axis=1)
    best = np.maximum(on_grid.argmin(axis=1), 1)
    zero = on_grid[:, 0]
    low, high = np.maximum(_LOGS[best] - 0.5, _LOGS[1]), _LOGS[best] + 0.5
    for _ in range(_STEPS):
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        left_better = _criterion(counts, sums, left, np.exp(first) * scale) < _criterion(
            counts, sums, left, np.exp(second) * scale
        )
        low, high = np.where(left_better, low, first), np.where(left_better, second, high)
    found = np.exp((low + high) / 2.0) * scale
    found = np.where(_criterion(counts, sums, left, found) < zero, found, 0.0)
    return np.asarray(found.reshape(shape))


def _criterion(counts: Floats, about: Floats, inside: Floats, ratio: Floats) -> Floats:
    """Minus twice the restricted log-likelihood at this ratio of variances, the one within profiled out."""
    grown = 1.0 + counts * ratio[:, None]
    weights = counts / grown
    total = weights.sum(axis=1)
    mean = (weights * about).sum(axis=1) / total
    rest = inside + (weights * (about - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray((counts.sum() - 1.0) * np.log(rest) + np.log(grown).sum(axis=1) + np.log(total))


def _kenward_roger(counts: Floats, between: Floats, within: Floats) -> tuple[Floats, Floats]:
    """The variance of the mean, adjusted for weights that are estimates, and its degrees of freedom.

    With a host's weight a = n / (within + n between), of which the mean's variance is 1 / Σ a, all that is needed are
    sums of its powers; the information is that of restricted likelihood.
    """
    a = counts / (within[..., None] + counts * between[..., None])
    total = a.sum(axis=-1)
    pairs = [(power, by) for power in (2, 3) for by in (0, 1, 2)]
    of = {(power, by): (a**power / counts**by).sum(axis=-1) for power, by in pairs}

    def information(by: int, own: Floats, one: int, two: int) -> Floats:
        crossed = of[2, one] * of[2, two] / total**2
        return np.asarray((own - 2.0 * of[3, by] / total + crossed) / 2.0)

    both = information(0, of[2, 0], 0, 0)
    mixed = information(1, of[2, 1], 0, 1)
    inner = information(2, of[2, 2] + (counts - 1.0).sum() / within**2, 1, 1)
    determinant = both * inner - mixed**2
    inverse = (inner / determinant, -mixed / determinant, both / determinant)
    plain = 1.0 / total
    slopes = (of[2, 0] * plain**2, of[2, 1] * plain**2)
    spread = inverse[0] * slopes[0] ** 2 + 2.0 * inverse[1] * slopes[0] * slopes[1] + inverse[2] * slopes[1] ** 2
    excess = (
        inverse[0] * (of[3, 0] - of[2, 0] ** 2 * plain)
        + 2.0 * inverse[1] * (of[3, 1] - of[2, 0] * of[2, 1] * plain)
        + inverse[2] * (of[3, 2] - of[2, 1] ** 2 * plain)
    )
    return plain + 2.0 * plain**2 * excess, 2.0 * plain**2 / spread
