"""Forecasts against short simulations; benchmarks/validity does it at length."""

import numpy as np
import pytest

from pgassay.analysis.boundaries import FIRST_LOOK, criticals
from pgassay.analysis.forecast import blocks_to_equate, blocks_to_settle, blocks_to_tell


def simulate(spread: float, effect: float, margin: float, horizon: int, alpha: float) -> float:
    """The median number of blocks until a verdict of either kind."""
    x = np.random.default_rng(3).normal(effect, spread, (2000, horizon))
    n = np.arange(1, horizon + 1)
    mean = (x.cumsum(axis=1) / n)[:, FIRST_LOOK - 1 :]
    deviation = np.sqrt((x * x).cumsum(axis=1)[:, FIRST_LOOK - 1 :] - n[FIRST_LOOK - 1 :] * mean**2)
    error = deviation / np.sqrt(n[FIRST_LOOK - 1 :] - 1) / np.sqrt(n[FIRST_LOOK - 1 :])
    tell = np.abs(mean) > np.asarray(criticals(horizon, alpha)) * error
    equal = np.abs(mean) + np.asarray(criticals(horizon, 2 * alpha)) * error < margin
    done = tell | equal
    return float(np.median(np.where(done.any(axis=1), done.argmax(axis=1) + FIRST_LOOK, np.inf)))


@pytest.mark.parametrize("effect", [0.0953, 0.03, 0.0])
def test_forecasts_lie_within_a_quarter_of_the_simulated_median(effect: float) -> None:
    spread, margin, horizon = 0.02, 0.0198, 60
    median = simulate(spread, effect, margin, horizon, 0.05 / 3)
    forecast = blocks_to_settle(spread, effect, margin, comparisons=3, blocks_max=horizon)
    assert forecast is not None
    assert abs(forecast - median) <= max(1.0, 0.25 * median)


def test_out_of_reach_is_none_and_no_noise_is_five_blocks() -> None:
    assert blocks_to_tell(1.0, 0.001, comparisons=1, blocks_max=30) is None
    assert blocks_to_equate(0.05, 0.02, 0.02, comparisons=1, blocks_max=30) is None
    assert blocks_to_tell(0.0, 0.1, comparisons=1, blocks_max=30) == FIRST_LOOK
    assert blocks_to_settle(float("nan"), 0.0, 0.02, comparisons=1, blocks_max=30) is None


def test_more_noise_or_more_comparisons_take_more_blocks() -> None:
    quiet = blocks_to_tell(0.04, 0.05, comparisons=1, blocks_max=30)
    loud = blocks_to_tell(0.08, 0.05, comparisons=1, blocks_max=30)
    many = blocks_to_tell(0.04, 0.05, comparisons=5, blocks_max=30)
    assert quiet is not None
    assert loud is not None
    assert many is not None
    assert quiet < many < loud
