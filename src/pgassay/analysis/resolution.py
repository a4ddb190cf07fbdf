"""What a machine can tell in a given time: the half-width of an effect's interval when the budget is spent.

The same boundaries as every verdict (`boundaries`): looked at after every block, horizon at the blocks that fit.
"""

from math import exp, sqrt

from pgassay.analysis.boundaries import FIRST_LOOK, critical

_EXACT_HORIZON = 120
"""Beyond this the critical value hardly changes and is held."""


def resolution(noise: float, blocks: int, *, comparisons: int = 1, level: float = 0.95) -> float | None:
    """±share around an effect after `blocks` blocks; None below the first look.

    `noise` is the standard deviation of the logarithm of one trial within a block; a contrast has √2 times that.
    """
    if blocks < FIRST_LOOK:
        return None
    horizon = min(blocks, _EXACT_HORIZON)
    value = critical(horizon, horizon, (1.0 - level) / max(1, comparisons))
    return exp(value * noise * sqrt(2.0 / blocks)) - 1.0


def blocks_in(seconds: float, trial_s: float, arms: int) -> int:
    """Whole blocks of `arms` trials that fit."""
    return int(seconds // (arms * trial_s)) if trial_s > 0.0 else 0
