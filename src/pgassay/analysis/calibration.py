"""From the trials of a calibration (one treatment, again and again) to this machine's noise.

Clusters carry blind labels and are as alike as can be: whatever differs between them is noise. Every block restarts
each cluster once, so a trial's noise within a block is what a study's verdicts have to live with.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, nan, sqrt

import numpy as np

from pgassay.analysis import messages
from pgassay.analysis.boundaries import fixed_critical
from pgassay.analysis.series import Floats
from pgassay.analysis.variance_components import LEAST, Components, variance_components


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
    """The noise of a response, or why it cannot be told. Blocks with a gap are left out whole, by name."""
    seen = {(each.cluster, each.block, each.run): each for each in measured}
    clusters, blocks, runs = (sorted({key[place] for key in seen}) for place in range(3))
    whole, left_out = [], []
    for block in blocks:
        cells = [seen.get((cluster, block, run)) for cluster in clusters for run in runs]
        usable = all(each is not None and _positive(each.value) for each in cells)
        whole += [block] if usable else []
        left_out += [] if usable else [messages.incomplete(block)]
    if min(len(clusters), len(whole), len(runs)) < LEAST:
        return messages.no_calibration(len(clusters), len(whole), len(runs))
    grid = [[[seen[cluster, block, run] for run in runs] for block in whole] for cluster in clusters]
    values = np.log(np.asarray([[[each.value for each in cell] for cell in row] for row in grid], dtype=np.float64))
    hours = np.asarray([[[each.hours for each in cell] for cell in row] for row in grid], dtype=np.float64)
    components = variance_components(values)
    noise, low, high = components.deviation()
    return Noise(
        response=response,
        mean=exp(components.mean),
        noise=noise,
        noise_low=low,
        noise_high=high,
        components=components,
        drift=_drift(hours.mean(axis=(0, 2)), values.mean(axis=(0, 2))),
        hours=float(np.ptp(hours.mean(axis=(0, 2)))),
        first_run=_first_run(values),
        left_out=tuple(left_out),
    )


def shares(components: Components) -> dict[str, float]:
    """Each source's share of the variance of a single run, drift left out; all 0 when nothing varies."""
    parts = {"cluster": components.cluster, "restart": components.restart, "run": components.run}
    total = sum(parts.values())
    return {name: part / total if total > 0.0 else 0.0 for name, part in parts.items()}


def _positive(value: float | None) -> bool:
    return value is not None and isfinite(value) and value > 0.0


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


def _first_run(values: Floats) -> Change:
    """Restart by restart: the first run against the mean of the later ones."""
    seen: Sequence[float] = (values[:, :, 0] - values[:, :, 1:].mean(axis=2)).ravel().tolist()
    spread = float(np.std(seen, ddof=1))
    return _change(float(np.mean(seen)), fixed_critical(len(seen), 0.05) * spread / sqrt(len(seen)))


def _change(middle: float, half: float) -> Change:
    middle, low, high = (exp(min(end, log(1e300))) - 1.0 for end in (middle, middle - half, middle + half))
    return Change(middle, low, high)
