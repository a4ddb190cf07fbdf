"""What fits in a time, and how narrow an interval is then, against the boundaries and against simulation."""

from math import log, sqrt

import numpy as np
import pytest

from pgassay.analysis.boundaries import criticals
from pgassay.analysis.resolution import blocks_in, resolution


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
