"""Cycles are found by their seconds, and what has none is hardly ever said to have them."""

import numpy as np
import pytest

from benchmarks.validity.steadiness import alarms, broken_alarm, called, dips, steady
from pgassay.analysis.steadiness import FALSE_ALARM, Steadiness, classify, classify_all, cycles

S = np.arange(300)


@pytest.mark.parametrize("period_s", [20, 30, 60])
def test_a_clean_cycle_has_its_period_and_its_swing(period_s: int) -> None:
    found = cycles((1000.0 + 100.0 * np.sin(2 * np.pi * S / period_s))[None, :])
    assert found.chance[0] < 1e-10
    assert found.period_s[0] == pytest.approx(period_s, rel=0.02)
    assert found.swing[0] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    "series",
    [
        np.full(300, 1000.0),
        np.zeros(300),
        1000.0 + S,
        np.where(S < 100, 1000.0, 700.0),
        1000.0 - 500.0 * np.exp(-S / 30.0),
        np.where(S == 150, 0.0, 1000.0),
    ],
    ids=["constant", "nothing", "drift", "step", "warm-up", "stall"],
)
def test_what_does_not_repeat_is_no_cycle(series: np.ndarray) -> None:
    found = cycles(series[None, :])
    assert found.chance[0] > FALSE_ALARM or found.swing[0] < 0.02


def test_checkpoints_whose_dips_the_levels_do_not_see_are_cyclic() -> None:
    """Cycles of twenty seconds to a minute in noise, as pgbench shows them: most were called flat by their levels."""
    rng = np.random.default_rng(3)
    for period_s in (20, 30, 60):
        series = 1000.0 * dips(rng, 40, 600, period_s, 0.2, 0.0, 0.05)
        kinds = [found.kind for found in classify_all(series)]
        assert sum(kind is Steadiness.CYCLIC for kind in kinds) >= 38
        assert np.median([found.period_s or 0 for found in classify_all(series)]) == pytest.approx(period_s, rel=0.05)


def test_a_cycle_that_moves_next_to_nothing_leaves_a_trial_flat() -> None:
    assert classify(1000.0 + 5.0 * np.sin(2 * np.pi * S / 30)).kind is Steadiness.FLAT


def test_missing_seconds_do_not_hide_a_cycle() -> None:
    series = 1000.0 * dips(np.random.default_rng(4), 1, 600, 60.0, 0.3, 0.0, 0.03)[0]
    series[np.random.default_rng(5).permutation(600)[:60]] = np.nan
    assert classify(series).kind is Steadiness.CYCLIC


def test_many_at_once_are_as_one_by_one_and_too_short_ones_are_not_judged() -> None:
    series = 1000.0 * dips(np.random.default_rng(6), 5, 120, 20.0, 0.3, 0.0, 0.03)
    at_once = cycles(series)
    for row, one in enumerate(series):
        assert cycles(one[None, :]).chance[0] == pytest.approx(at_once.chance[row])
    assert cycles(np.ones((2, 20))).chance.tolist() == [1.0, 1.0]
    assert cycles(np.ones((0, 60))).chance.tolist() == []


def test_false_alarms_are_few() -> None:
    rng = np.random.default_rng(7)
    shares = {kind: called(series).mean() for kind, series in steady(rng, 500, 120)}
    assert max(shares.values()) <= 0.04, shares
    assert 0.0 < np.mean(list(shares.values())) <= 0.02


def test_the_class_alarms_no_more_often_than_the_test() -> None:
    """No other way leads to cyclic: levels that come back did, in one of five trials of noise with a long memory."""
    for _, series in steady(np.random.default_rng(9), 60, 120):
        assert [found.kind is Steadiness.CYCLIC for found in classify_all(series)] == called(series).tolist()


@pytest.mark.thorough
def test_false_alarms_are_as_few_as_is_said_for_every_kind_of_noise_and_length() -> None:
    assert [alarm for alarm in alarms(2000, 11) if broken_alarm(alarm, 2000)] == []
