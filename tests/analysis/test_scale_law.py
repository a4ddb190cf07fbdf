"""Whether models of several sizes agree, and what their law leads to: judged on planted figures."""

from dataclasses import replace
from math import inf, isinf
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.scale_law import Judgement, Point, judge, trend


def points(limit: float, slope: float, error: float = 0.01) -> list[Point]:
    return [Point(by, limit + slope * by, error, 5) for by in (1000.0, 250.0, 60.0)]


def test_models_that_say_the_same_agree() -> None:
    found = judge(points(0.3, 0.0))
    assert found.agree
    assert found.value == pytest.approx(0.3)
    assert 0 < found.half < 0.02


def test_a_difference_that_matters_to_nobody_is_agreement_with_its_spread() -> None:
    found = judge([Point(100, 0.300, 1e-6, 5), Point(50, 0.310, 1e-6, 5)])
    assert found.agree
    assert found.half >= 0.005


@given(limit=st.floats(-1, 1), slope=st.floats(2e-4, 1e-2))
def test_a_trend_leads_to_its_limit(limit: float, slope: float) -> None:
    found = judge(points(limit, slope, error=1e-3))
    assert not found.agree
    assert found.tested
    assert found.value == pytest.approx(limit + slope, abs=1e-9)
    assert 0 < found.half < inf


def test_points_off_the_line_widen_the_error() -> None:
    straight = judge(points(0.1, 1e-3, error=1e-3))
    first, second, third = points(0.1, 1e-3, error=1e-3)
    bent = judge([first, replace(second, value=second.value + 0.1), third])
    assert bent.half > 10 * straight.half


def test_two_models_that_differ_give_what_was_measured_its_error_and_leave_the_law_untested() -> None:
    found = judge(points(0.1, 1e-3, error=1e-3)[:2])
    assert (found.agree, found.tested) == (False, False)
    assert 1e-3 < found.half < 0.01


def test_two_models_lead_to_a_third_that_was_withheld_as_often_as_their_interval_says() -> None:
    """Blocks of 1:20 and 1:5, noise of 1 %: 95 % of intervals at 1:1 hold what is planted there."""
    random = np.random.default_rng(5)
    held = 0
    for _ in range(1000):
        known = []
        for by in (20.0, 5.0):
            blocks = (0.9 + 0.02 * by) * (1 + 0.01 * random.standard_normal(5))
            known.append(Point(by, fmean(blocks), stdev(blocks) / 5**0.5, 5))
        found = trend(known)
        held += abs(found.value - 0.92) <= found.half
    assert 930 <= held <= 980


def test_without_an_error_of_a_point_there_is_a_value_and_no_interval() -> None:
    known = [Point(20.0, 1.3, inf, 1), Point(5.0, 1.0, 0.01, 5)]
    assert isinf(known[0].half)
    for found in (judge(known), trend(known)):
        assert found.value == pytest.approx(0.92)
        assert isinf(found.half)
    close = judge([Point(20.0, 1.0, inf, 1), Point(5.0, 1.01, inf, 1)])
    assert replace(close, value=1.005) == Judgement(True, 1.005, inf, tested=True)
    assert close.value == pytest.approx(1.005)


def test_three_points_of_two_sizes_leave_the_law_untested() -> None:
    assert not trend([Point(20.0, 1.3, 0.01, 5), Point(20.0, 1.31, 0.01, 5), Point(5.0, 1.0, 0.01, 5)]).tested
    assert not trend([Point(20.0, 1.3, inf, 1), Point(20.0, 1.31, 0.01, 5), Point(5.0, 1.0, 0.01, 5)]).tested


def test_one_size_has_no_trend() -> None:
    with pytest.raises(ValueError, match="one size"):
        trend([Point(20.0, 1.0, 0.01, 5), Point(20.0, 1.1, 0.01, 5)])
