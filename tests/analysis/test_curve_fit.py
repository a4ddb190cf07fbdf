"""Points of a law of scaling: block effects out, missing trials bridged, what has no logarithm left out."""

from math import exp, isnan, log

import pytest

from pgassay.analysis.curves import points_of


def test_a_busy_block_moves_all_points_and_none_against_another() -> None:
    quiet, busy = {1.0: 100.0, 2.0: 200.0}, {1.0: 50.0, 2.0: 100.0}
    points = points_of({place: {1: quiet[place], 2: busy[place]} for place in quiet})
    assert list(points.places) == [1.0, 2.0]
    assert points.logs[1] - points.logs[0] == pytest.approx(log(2))
    assert points.logs[0] == pytest.approx(log(100 * 50) / 2)
    assert points.error == pytest.approx(0.0, abs=1e-20)
    assert points.freedom == 1


def test_a_missing_trial_is_bridged_by_its_block() -> None:
    points = points_of({1.0: {1: 100.0, 2: 50.0}, 2.0: {1: 200.0}, 4.0: {1: 400.0, 2: 200.0}})
    assert points.logs[1] == pytest.approx(log(200 * 100) / 2)


def test_error_by_hand() -> None:
    """Two places, two blocks, logs (0, 1) and (0, 2): the interaction is ±0.25, its square sum 0.25 with one degree."""
    points = points_of({1.0: {1: 1.0, 2: exp(1)}, 2.0: {1: 1.0, 2: exp(2)}})
    assert points.error == pytest.approx(0.25 / 2)
    assert points.freedom == 1


def test_one_block_tells_no_error_and_nothing_unusable_enters() -> None:
    points = points_of({4.0: {1: 3.0}, 1.0: {1: 2.0}, 8.0: {1: 0.0}, 16.0: {1: float("nan")}, 0.0: {1: 5.0}, 2.0: {}})
    assert list(points.places) == [1.0, 4.0]
    assert isnan(points.error)
    assert points.freedom == 0
    assert len(points_of({}).places) == 0
