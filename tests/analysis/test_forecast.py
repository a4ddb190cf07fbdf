"""Forecasts and resolutions against the boundaries and short simulations; benchmarks/validity does it at length."""

from math import log, sqrt

import numpy as np
import pytest

from pgassay.analysis.boundaries import FIRST_LOOK, criticals
from pgassay.analysis.forecast import (
    blocks_in,
    blocks_to_distinguish,
    blocks_to_show_equivalence,
    blocks_to_verdict,
    resolution,
)


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
    forecast = blocks_to_verdict(spread, effect, margin, comparisons=3, blocks_max=horizon)
    assert forecast is not None
    assert abs(forecast - median) <= max(1.0, 0.25 * median)


def test_out_of_reach_is_none_and_no_noise_is_five_blocks() -> None:
    assert blocks_to_distinguish(1.0, 0.001, comparisons=1, blocks_max=30) is None
    assert blocks_to_show_equivalence(0.05, 0.02, 0.02, comparisons=1, blocks_max=30) is None
    assert blocks_to_distinguish(0.0, 0.1, comparisons=1, blocks_max=30) == FIRST_LOOK
    assert blocks_to_verdict(float("nan"), 0.0, 0.02, comparisons=1, blocks_max=30) is None


def test_more_noise_or_more_comparisons_take_more_blocks() -> None:
    quiet = blocks_to_distinguish(0.04, 0.05, comparisons=1, blocks_max=30)
    loud = blocks_to_distinguish(0.08, 0.05, comparisons=1, blocks_max=30)
    many = blocks_to_distinguish(0.04, 0.05, comparisons=5, blocks_max=30)
    assert quiet is not None
    assert loud is not None
    assert many is not None
    assert quiet < many < loud


def test_it_is_the_half_width_that_a_verdict_would_have() -> None:
    found = resolution(0.02, 10)
    assert found is not None
    assert log(1.0 + found) == pytest.approx(criticals(10, 0.05)[-1] * 0.02 * sqrt(2 / 10))
    assert resolution(0.02, 4) is None


def test_more_time_tells_less_and_comparisons_cost() -> None:
    widths = [resolution(0.02, blocks) or 1.0 for blocks in (5, 10, 30, 120, 500)]
    assert widths == sorted(widths, reverse=True)
    assert (resolution(0.02, 10, comparisons=5) or 0.0) > (resolution(0.02, 10) or 0.0)


def test_half_of_the_simulated_intervals_are_about_that_wide() -> None:
    chance = np.random.default_rng(5)
    spreads = (chance.normal(0.0, 0.03, (4000, 20)) - chance.normal(0.0, 0.03, (4000, 20))).std(axis=1, ddof=1)
    widths = np.exp(criticals(20, 0.05)[-1] * spreads / sqrt(20)) - 1.0
    assert float(np.median(widths)) == pytest.approx(resolution(0.03, 20), rel=0.03)


def test_whole_blocks_fit() -> None:
    assert blocks_in(600, 15.0, 2) == 20
    assert blocks_in(59, 30.0, 2) == 0
