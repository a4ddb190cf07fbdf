"""Levels and steps of a history: found where they were planted, none where none is, intervals that cannot be halved."""

import random
from math import exp, inf, isnan, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.commits import POINTS_MIN, course_of

NOISE = 0.01


def measured(levels: list[tuple[int, float]], noise: float = NOISE, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [log(1.0 + share) + chance.gauss(0.0, noise) for count, share in levels for _ in range(count)]


def test_a_planted_step_is_told_at_its_commit_with_an_interval_that_holds_it() -> None:
    course = course_of(measured([(12, 0.0), (8, -0.08)]))
    (step,) = course.steps
    assert step.at == 12
    assert step.low < 0.92 < step.high < 1.0
    assert [(each.first, each.upto) for each in course.levels] == [(0, 12), (12, 20)]
    assert exp(course.levels[1].mean) == pytest.approx(0.92, abs=0.01)


def test_a_step_there_and_back_is_two() -> None:
    course = course_of(measured([(10, 0.0), (10, -0.08), (10, 0.0)]))
    assert [each.at for each in course.steps] == [10, 20]
    assert course.steps[0].high < 1.0 < course.steps[1].low


def test_without_a_step_it_says_what_it_would_have_shown() -> None:
    course = course_of(measured([(20, 0.0)]))
    assert course.steps == ()
    assert course.noise == pytest.approx(NOISE, rel=0.5)
    assert 0.02 < course.smallest < 0.15
    planted = measured([(20, 0.0)])
    planted[-2:] = [each - log(1.0 + 1.3 * course.smallest) for each in planted[-2:]]
    assert [each.at for each in course_of(planted).steps] == [18]


def test_one_odd_point_is_no_step() -> None:
    values = measured([(20, 0.0)])
    values[9] -= 0.3
    assert course_of(values).steps == ()


@pytest.mark.parametrize("count", range(POINTS_MIN))
def test_too_few_points_tell_nothing(count: int) -> None:
    course = course_of([0.0] * (count // 2) + [-0.5] * (count - count // 2))
    assert course.steps == ()
    assert isnan(course.noise)
    assert course.smallest == inf
    assert sum(each.points for each in course.levels) == count


def test_another_reference_moves_levels_alone() -> None:
    values = measured([(12, 0.0), (8, -0.08)])
    course, moved = course_of(values), course_of([each + log(1.5) for each in values])
    assert [each.at for each in moved.steps] == [each.at for each in course.steps]
    assert [each.mean - log(1.5) for each in moved.levels] == pytest.approx([each.mean for each in course.levels])
    assert moved.steps[0].estimate == pytest.approx(course.steps[0].estimate)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-0.2, 0.2), min_size=POINTS_MIN, max_size=40))
def test_levels_cover_all_points_and_every_step_is_shown(values: list[float]) -> None:
    course = course_of(values)
    assert [each.first for each in course.levels] == [0, *(each.at for each in course.steps)]
    assert [each.upto for each in course.levels] == [*(each.at for each in course.steps), len(values)]
    assert all(not each.low <= 1.0 <= each.high for each in course.steps)
