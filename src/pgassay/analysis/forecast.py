"""How many blocks a verdict needs at a given noise, and what resolution a given number of blocks gives.

The boundaries of `boundaries` are solved for the number of blocks, at the median of what may come; checked by
simulation in benchmarks/validity (within 25 % of the simulated median).
"""

from collections.abc import Callable
from functools import lru_cache
from math import exp, isfinite, sqrt

import numpy as np
import numpy.typing as npt

from pgassay.analysis.boundaries import (
    FIRST_LOOK,
    LEVEL,
    Floats,
    critical,
    criticals,
    prior_of,
    with_freedom,
    with_more_freedom,
)
from pgassay.analysis.hosts import BetweenHosts

FARTHEST = 2000
"""No forecast goes beyond this many blocks; it is then `None`."""

_Enough = Callable[[npt.NDArray[np.intp], Floats], npt.NDArray[np.bool_]]
"""Of numbers of blocks and their critical values: which are enough."""

_EXACT_HORIZON = 120
_HALF_NORMAL_MEDIAN_SQUARED = 0.455  # the median of |z|, squared


def blocks_to_distinguish(
    spread: float, effect: float, *, comparisons: int, blocks_max: int, level: float = LEVEL, together: int = 1
) -> int | None:
    """Blocks until an interval leaves out no effect, about half of the time.

    `spread` and `effect` are the standard deviation and the mean of the block-wise contrasts (log-ratios or
    differences), `together` the comparisons of one cell that tell about each other's noise (`effects.Peers`). None when
    it would need more than `FARTHEST`.
    """
    alpha = (1.0 - level) / max(1, comparisons)
    return _solve(alpha, blocks_max, together, lambda blocks, value: value * spread / np.sqrt(blocks) <= abs(effect))


def blocks_to_show_equivalence(
    spread: float,
    effect: float,
    margin: float,
    *,
    comparisons: int,
    blocks_max: int,
    level: float = LEVEL,
    together: int = 1,
    inner: bool = False,
) -> int | None:
    """Blocks until the interval (or the `inner` one of older rules) lies within ±`margin`, about half of the time."""
    alpha = (2.0 if inner else 1.0) * (1.0 - level) / max(1, comparisons)

    def inside(blocks: npt.NDArray[np.intp], value: Floats) -> npt.NDArray[np.bool_]:
        typical = np.sqrt(effect * effect + _HALF_NORMAL_MEDIAN_SQUARED * spread * spread / blocks)
        return np.asarray(typical + value * spread / np.sqrt(blocks) <= margin)

    return _solve(alpha, blocks_max, together, inside)


def blocks_to_verdict(
    spread: float,
    effect: float,
    margin: float,
    *,
    comparisons: int,
    blocks_max: int,
    level: float = LEVEL,
    together: int = 1,
    inner: bool = False,
) -> int | None:
    """Blocks until there is a verdict of either kind: the sooner of the two above."""
    if not (isfinite(spread) and isfinite(effect)):
        return None
    found = (
        blocks_to_distinguish(
            spread, effect, comparisons=comparisons, blocks_max=blocks_max, level=level, together=together
        ),
        blocks_to_show_equivalence(
            spread,
            effect,
            margin,
            comparisons=comparisons,
            blocks_max=blocks_max,
            level=level,
            together=together,
            inner=inner,
        ),
    )
    return min((blocks for blocks in found if blocks is not None), default=None)


def blocks_on_hosts(
    between: BetweenHosts,
    margin: float,
    *,
    comparisons: int,
    blocks_max: int,
    level: float = LEVEL,
    inner: bool = False,
) -> int | None:
    """Blocks, spread evenly over the same hosts, until there is a verdict of either kind; None where none suffice.

    What hosts differ by does not shrink with blocks: then more hosts are needed.
    """
    alpha = (1.0 - level) / max(1, comparisons)
    horizon = min(max(FIRST_LOOK, blocks_max), _EXACT_HORIZON)
    outer, equivalent = criticals(horizon, alpha), criticals(horizon, (2.0 if inner else 1.0) * alpha)
    for blocks in range(FIRST_LOOK, FARTHEST + 1):
        error = sqrt(between.deviation**2 / len(between.hosts) + between.within**2 / blocks)
        at = min(blocks, horizon)
        wide, narrow = (
            with_freedom(values[at - FIRST_LOOK], at, between.freedom) * error for values in (outer, equivalent)
        )
        if wide <= abs(between.mean) or abs(between.mean) + narrow <= margin:
            return blocks
    return None


def _solve(alpha: float, blocks_max: int, together: int, enough: _Enough) -> int | None:
    """The least number of blocks; critical values are exact to `_EXACT_HORIZON`, then held, as they hardly grow."""
    horizon, first = max(FIRST_LOOK, blocks_max), FIRST_LOOK
    while True:
        values = _values(horizon, alpha, together)[first - FIRST_LOOK :]
        found = _first(np.arange(first, first + len(values)), values, enough)
        if found is not None or horizon >= _EXACT_HORIZON:
            break
        first, horizon = horizon + 1, min(2 * horizon, _EXACT_HORIZON)
    if found is None:
        rest = np.arange(horizon + 1, FARTHEST + 1)
        found = _first(rest, np.full(len(rest), values[-1]), enough)
    return found if found is not None and found <= FARTHEST else None


@lru_cache(maxsize=256)
def _values(horizon: int, alpha: float, together: int) -> Floats:
    """What the spread is multiplied by at each look up to the horizon."""
    values = criticals(horizon, alpha)
    if together < 2:
        return np.asarray(values)
    prior, guards = prior_of(together), criticals(horizon, alpha * together)
    pairs = enumerate(zip(values, guards, strict=True), FIRST_LOOK)
    return np.asarray([max(with_more_freedom(value, blocks, prior), guard) for blocks, (value, guard) in pairs])


def _first(blocks: npt.NDArray[np.intp], values: Floats, enough: _Enough) -> int | None:
    places = np.flatnonzero(enough(blocks, values))
    return int(blocks[places[0]]) if len(places) else None


def resolution(noise: float, blocks: int, *, comparisons: int = 1) -> float | None:
    """±share around an effect after `blocks` blocks; None below the first look.

    `noise` is the standard deviation of the logarithm of one trial within a block; a contrast has √2 times that.
    """
    if blocks < FIRST_LOOK:
        return None
    horizon = min(blocks, _EXACT_HORIZON)
    value = critical(horizon, horizon, (1.0 - LEVEL) / max(1, comparisons))
    return exp(value * noise * sqrt(2.0 / blocks)) - 1.0


def blocks_in(seconds: float, trial_s: float, arms: int) -> int:
    """Whole blocks of `arms` trials of `trial_s` seconds that fit into `seconds`."""
    return int(seconds // (arms * trial_s)) if trial_s > 0.0 else 0
