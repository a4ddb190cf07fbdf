"""From the trials of a calibration (one treatment, again and again) to this machine's noise and where it comes from.

Clusters carry blind labels and are as alike as can be: whatever differs between them is noise. Every block restarts
each cluster once, so a trial's noise within a block is what a study's verdicts have to live with.

Kalibera and Jones (ISMM 2013, "Rigorous benchmarking in reasonable time"): analysis of variance of a balanced nested
plan, closed form. Theirs does not know time; here restart j of every cluster belongs to block j, so that drift, which
all clusters share, counts neither as theirs nor as the restarts'. A run's place after its restart is taken out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, nan, sqrt

import numpy as np

from pgassay.analysis.boundaries import LEVEL, Floats, chi_square, fixed_critical
from pgassay.analysis.factorial import incomplete
from pgassay.analysis.numbers import plural

LEAST = 2
"""Clusters, restarts and runs below which sources of noise cannot be separated."""
_SOURCES = ("cluster", "whole block", "run")


@dataclass(frozen=True)
class Components:
    """Variances of one value by source, in its unit squared; one that came out negative is 0.

    `block` is the drift that all clusters share. `trial` is the variance of one trial within a block (restart + run),
    from the mean squares themselves and so never cut off; `trial_freedom` its degrees of freedom (Satterthwaite 1946).
    """

    clusters: int
    restarts: int
    runs: int
    mean: float
    cluster: float
    restart: float
    run: float
    block: float
    trial: float
    trial_freedom: float

    def deviation(self) -> tuple[float, float, float]:
        """The standard deviation of one trial within a block, with its interval (chi-square, 95 %)."""
        if self.trial_freedom == 0.0:
            return 0.0, 0.0, 0.0
        freedom, tail = self.trial_freedom, (1.0 - LEVEL) / 2.0
        ends = (freedom * self.trial / chi_square(quantile, freedom) for quantile in (1.0 - tail, tail))
        low, high = (sqrt(end) for end in ends)
        return sqrt(self.trial), low, high


def variance_components(values: Floats) -> Components:
    """Of a balanced plan, shape (clusters, restarts, runs), all finite; raises `ValueError` below two of each."""
    if values.ndim != 3 or min(values.shape) < LEAST or not np.isfinite(values).all():
        raise ValueError("a balanced plan has at least two clusters, restarts and runs, and no gaps")
    clusters, restarts, runs = values.shape
    level = values - values.mean(axis=(0, 1), keepdims=True)  # the place after a restart is a bias, and no noise
    cells = level.mean(axis=2)
    by_cluster, by_block = cells.mean(axis=1), cells.mean(axis=0)
    within = ((level - cells[:, :, None]) ** 2).sum() / ((clusters * restarts - 1) * (runs - 1))
    rest = cells - by_cluster[:, None] - by_block[None, :]
    crossed = runs * (rest**2).sum() / ((clusters - 1) * (restarts - 1))
    between_clusters = restarts * runs * (by_cluster**2).sum() / (clusters - 1)
    between_blocks = clusters * runs * (by_block**2).sum() / (restarts - 1)
    parts = (crossed / runs, within * (1.0 - 1.0 / runs))
    trial = float(sum(parts))
    freedoms = ((clusters - 1) * (restarts - 1), (clusters * restarts - 1) * (runs - 1))
    doubt = sum(float(part) ** 2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return Components(
        clusters=clusters,
        restarts=restarts,
        runs=runs,
        mean=float(values.mean()),
        cluster=max(0.0, float(between_clusters - crossed) / (restarts * runs)),
        restart=max(0.0, float(crossed - within) / runs),
        run=float(within),
        block=max(0.0, float(between_blocks - crossed) / (clusters * runs)),
        trial=trial,
        trial_freedom=trial**2 / doubt if doubt > 0.0 else 0.0,
    )


@dataclass(frozen=True)
class Measured:
    """A response of one run: which cluster, block and run after the restart (all from 1), and when it began."""

    cluster: int
    block: int
    run: int
    hours: float
    value: float | None


@dataclass(frozen=True)
class Change:
    """A relative change with its 95 % interval: 0.01 is one per cent more. The interval may be unbounded."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Noise:
    """The noise of one response. `components` are of its logarithm; `mean` is the geometric mean, in its unit.

    `noise` is the standard deviation of the logarithm of one trial within a block (0.03 is a CV of 3 %). `drift` is the
    trend that all clusters share, over the session of `hours`; `first_run` sets the first run after a restart against
    the later ones.
    """

    response: str
    mean: float
    noise: float
    noise_low: float
    noise_high: float
    components: Components
    drift: Change
    hours: float
    first_run: Change
    left_out: tuple[str, ...] = ()


def noise_of(response: str, measured: Iterable[Measured]) -> Noise | str:
    """The noise of a response, or why it cannot be given. Blocks with a gap are left out whole, by name."""
    seen = {(each.cluster, each.block, each.run): each for each in measured}
    clusters, blocks, runs = (sorted({key[place] for key in seen}) for place in range(3))
    whole, left_out = [], []
    for block in blocks:
        cells = [seen.get((cluster, block, run)) for cluster in clusters for run in runs]
        values_here = [None if each is None else each.value for each in cells]
        if all(value is not None and isfinite(value) and value > 0.0 for value in values_here):
            whole.append(block)
        else:
            left_out.append(incomplete(block))
    counts = (len(clusters), len(whole), len(runs))
    if min(counts) < LEAST:
        of_each = [f"{count} {plural(noun, count)}" for count, noun in zip(counts, _SOURCES, strict=True)]
        return f"{of_each[0]}, {of_each[1]} and {of_each[2]} after each restart: at least two of each are needed"
    grid = [[[seen[cluster, block, run] for run in runs] for block in whole] for cluster in clusters]
    values = np.log(np.asarray([[[each.value for each in cell] for cell in row] for row in grid], dtype=np.float64))
    hours = np.asarray([[[each.hours for each in cell] for cell in row] for row in grid], dtype=np.float64)
    components = variance_components(values)
    noise, low, high = components.deviation()
    # Restart by restart: the first run against the mean of the later ones.
    first: Sequence[float] = (values[:, :, 0] - values[:, :, 1:].mean(axis=2)).ravel().tolist()
    spread = float(np.std(first, ddof=1))
    return Noise(
        response=response,
        mean=exp(components.mean),
        noise=noise,
        noise_low=low,
        noise_high=high,
        components=components,
        drift=_drift(hours.mean(axis=(0, 2)), values.mean(axis=(0, 2))),
        hours=float(np.ptp(hours.mean(axis=(0, 2)))),
        first_run=_change(float(np.mean(first)), fixed_critical(len(first), 0.05) * spread / sqrt(len(first))),
        left_out=tuple(left_out),
    )


def shares(components: Components) -> dict[str, float]:
    """Each source's share of the variance of a single run, drift left out; all 0 when nothing varies."""
    parts = {"cluster": components.cluster, "restart": components.restart, "run": components.run}
    total = sum(parts.values())
    return {name: part / total if total > 0.0 else 0.0 for name, part in parts.items()}


def _drift(hours: Floats, values: Floats) -> Change:
    """Least squares over the blocks' means, from the first block to the last."""
    count = len(hours)
    from_middle = hours - hours.mean()
    width = float(from_middle @ from_middle)
    if count < 3 or width == 0.0:
        return Change(nan, -1.0, inf)
    slope = float(from_middle @ values) / width
    rest = values - values.mean() - slope * from_middle
    error = sqrt(float(rest @ rest) / (count - 2) / width)
    span = float(np.ptp(hours))
    return _change(slope * span, fixed_critical(count - 1, 0.05) * error * span)


def _change(middle: float, half: float) -> Change:
    middle, low, high = (exp(min(end, log(1e300))) - 1.0 for end in (middle, middle - half, middle + half))
    return Change(middle, low, high)
