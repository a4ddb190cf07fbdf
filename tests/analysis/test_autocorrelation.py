"""Batch means on series whose error is known in closed form."""

from math import isnan, sqrt

import numpy as np
import pytest

from pgassay.analysis.autocorrelation import errors_of_means, mean_error


def first_order(correlation: float, seconds: int, rng: np.random.Generator) -> np.ndarray:
    """x[t] = correlation x[t-1] + e: the mean's error is sqrt((1 + r) / (1 - r)) times s / sqrt(n)."""
    series = np.zeros(seconds)
    series[0] = rng.normal() / sqrt(1.0 - correlation**2)
    for second in range(1, seconds):
        series[second] = correlation * series[second - 1] + rng.normal()
    return series


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_the_error_is_that_of_the_correlated_mean(correlation: float) -> None:
    rng = np.random.default_rng(1)
    found = [mean_error(first_order(correlation, 2500, rng)) for _ in range(40)]
    truth = 1.0 / (1.0 - correlation) / sqrt(2500)
    assert np.sqrt(np.mean([one.error**2 for one in found])) == pytest.approx(truth, rel=0.12)
    assert np.mean([one.inefficiency for one in found]) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.2)


def test_by_hand() -> None:
    """Nine seconds in three batches 1 1 1 | 2 2 2 | 3 3 3: deviation of the means 1, error 1 / sqrt 3."""
    found = mean_error(np.repeat([1.0, 2.0, 3.0], 3))
    assert found.mean == 2.0
    assert found.error == pytest.approx(1 / sqrt(3))


def test_missing_seconds_are_left_out_and_short_series_have_no_error() -> None:
    assert mean_error(np.asarray([1.0, np.nan, 3.0])).mean == 2.0
    assert isnan(mean_error(np.ones(8)).error)
    assert isnan(mean_error(np.asarray([])).mean)
    assert isnan(mean_error(np.ones(30)).inefficiency)


def test_many_at_once_are_as_one_by_one() -> None:
    chance = np.random.default_rng(9)
    seconds = chance.normal(1000.0, 10.0, (5, 50)).cumsum(axis=1)
    seconds[1, 7] = np.nan
    seconds[2] = 3.0
    one_by_one = [mean_error(row).error for row in seconds]
    assert errors_of_means(seconds).tolist() == pytest.approx(one_by_one)
    assert np.isnan(errors_of_means(seconds[:, :4])).all()
