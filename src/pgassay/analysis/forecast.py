"""How many blocks a verdict needs at a given noise: before the budget is spent, and after each block.

The boundaries of `boundaries` are solved for the number of blocks, at the median of what may come; checked by
simulation in benchmarks/validity (within 25 % of the simulated median).
"""

from collections.abc import Callable
from math import isfinite, sqrt

from pgassay.analysis.boundaries import FIRST_LOOK, criticals

FARTHEST = 2000
"""No forecast goes beyond this many blocks; it is then `None`."""

_EXACT_HORIZON = 120
_HALF_NORMAL_MEDIAN_SQUARED = 0.455  # the median of |z|, squared


def blocks_to_tell(
    spread: float, effect: float, *, comparisons: int, blocks_max: int, level: float = 0.95
) -> int | None:
    """Blocks until an interval leaves out no effect, about half of the time.

    `spread` and `effect` are the standard deviation and the mean of the block-wise contrasts (log-ratios or
    differences). None when it would need more than `FARTHEST`.
    """
    alpha = (1.0 - level) / max(1, comparisons)
    return _solve(alpha, blocks_max, lambda blocks, value: value * spread / sqrt(blocks) <= abs(effect))


def blocks_to_equate(
    spread: float, effect: float, margin: float, *, comparisons: int, blocks_max: int, level: float = 0.95
) -> int | None:
    """Blocks until the inner interval (two one-sided tests) lies within ±`margin`, about half of the time."""
    alpha = 2.0 * (1.0 - level) / max(1, comparisons)

    def inside(blocks: int, value: float) -> bool:
        typical = sqrt(effect * effect + _HALF_NORMAL_MEDIAN_SQUARED * spread * spread / blocks)
        return typical + value * spread / sqrt(blocks) <= margin

    return _solve(alpha, blocks_max, inside)


def blocks_to_settle(
    spread: float, effect: float, margin: float, *, comparisons: int, blocks_max: int, level: float = 0.95
) -> int | None:
    """Blocks until there is a verdict of either kind: the sooner of the two above."""
    if not (isfinite(spread) and isfinite(effect)):
        return None
    found = (
        blocks_to_tell(spread, effect, comparisons=comparisons, blocks_max=blocks_max, level=level),
        blocks_to_equate(spread, effect, margin, comparisons=comparisons, blocks_max=blocks_max, level=level),
    )
    return min((blocks for blocks in found if blocks is not None), default=None)


class _Reached:
    """The critical value for any number of blocks: exact to `_EXACT_HORIZON`, then held, as it hardly grows."""

    def __init__(self, alpha: float, blocks_max: int) -> None:
        self.alpha = alpha
        self.planned = max(FIRST_LOOK, blocks_max)

    def __call__(self, blocks: int) -> float:
        horizon = self.planned
        while horizon < blocks and horizon < _EXACT_HORIZON:
            horizon = min(2 * horizon, _EXACT_HORIZON)
        values = criticals(horizon, self.alpha)
        return values[min(blocks, horizon) - FIRST_LOOK]


def _solve(alpha: float, blocks_max: int, enough: Callable[[int, float], bool]) -> int | None:
    reached = _Reached(alpha, blocks_max)
    for blocks in range(FIRST_LOOK, FARTHEST + 1):
        if enough(blocks, reached(blocks)):
            return blocks
    return None
