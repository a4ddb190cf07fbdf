"""Welch's interval for two environments: against scipy, its coverage, and what too few trials cannot tell."""

from math import exp, isnan

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.replication import difference
from pgassay.study.responses import Scale

ONE, OTHER = [100.0, 104.0, 98.0, 101.0, 99.0], [150.0, 148.0, 160.0]


def test_it_is_welchs_interval_on_the_logarithm() -> None:
    found = difference(ONE, OTHER, Scale.RATIO)
    assert found is not None
    oracle = stats.ttest_ind(np.log(OTHER), np.log(ONE), equal_var=False).confidence_interval()
    assert found.low == pytest.approx(exp(oracle.low))
    assert found.high == pytest.approx(exp(oracle.high))
    assert found.trials == (5, 3)
    assert found.told_apart


def test_shares_are_subtracted() -> None:
    found = difference([0.0, 0.1, 0.2], [0.0, 0.1, 0.2], Scale.DIFFERENCE)
    assert found is not None
    assert found.estimate == pytest.approx(0.0)
    assert not found.told_apart


def test_one_trial_has_no_interval_and_none_no_difference() -> None:
    found = difference([100.0], OTHER, Scale.RATIO)
    assert found is not None
    assert isnan(found.low)
    assert not found.told_apart
    assert difference([], OTHER, Scale.RATIO) is None
    assert difference([0.0, float("nan")], OTHER, Scale.RATIO) is None


def test_trials_without_spread_have_no_width() -> None:
    found = difference([1.0, 1.0], [2.0, 2.0], Scale.RATIO)
    assert found is not None
    assert (found.low, found.high) == (2.0, 2.0)


def test_the_interval_holds_and_widens_with_comparisons() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(1000):
        found = difference(
            np.exp(rng.normal(0.0, 0.02, 5)).tolist(), (1.3 * np.exp(rng.normal(0.0, 0.10, 5))).tolist(), Scale.RATIO
        )
        assert found is not None
        inside += found.low <= 1.3 <= found.high
    assert 930 <= inside <= 975
    several = difference(ONE, OTHER, Scale.RATIO, comparisons=10)
    alone = difference(ONE, OTHER, Scale.RATIO)
    assert several is not None
    assert alone is not None
    assert several.low < alone.low
