"""Warm-ups and errors of means on series whose warm-up and error are known."""

from math import isnan, sqrt

import numpy as np
import pytest

from pgassay.analysis.seconds import mean_error, warm_up_ends


def warm_up(seconds: np.ndarray) -> tuple[int, bool]:
    """Of one series: where its warm-up ends (s), and whether it settled."""
    ends, settled = warm_up_ends(np.asarray(seconds, dtype=np.float64)[None, :])
    return int(ends[0]), bool(settled[0])


def ramp(seconds: int, warm: int, noise: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = np.where(np.arange(seconds) < warm, 600.0 + 400.0 * np.arange(seconds) / max(warm, 1), 1000.0)
    return np.asarray(level + rng.normal(0.0, noise, seconds))


@pytest.mark.parametrize("warm", [0, 30, 60])
def test_the_planted_warm_up_is_cut(warm: int) -> None:
    found = warm_up(ramp(300, warm, 20.0))
    assert found[1]
    assert abs(found[0] - warm) <= 20


def test_the_warm_up_by_hand() -> None:
    """Batch means 0, 4, 4, 4, 4 … : cutting one batch leaves no error at all."""
    assert warm_up(np.repeat([0.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], 5)) == (5, True)


def test_the_definition_is_minimised() -> None:
    values = ramp(200, 40, 50.0)
    means = values.reshape(-1, 5).mean(axis=1)
    errors = [((means[d:] - means[d:].mean()) ** 2).sum() / (len(means) - d) ** 2 for d in range(len(means) - 3)]
    assert warm_up(values)[0] == 5 * int(np.argmin(errors))


def test_a_series_that_never_settles_says_so() -> None:
    assert not warm_up(np.linspace(100.0, 1000.0, 300) ** 2)[1]


def test_short_series_are_not_cut_and_gaps_are_bridged() -> None:
    assert warm_up(np.ones(19)) == (0, False)
    gappy = ramp(300, 30, 20.0)
    gappy[150:160] = np.nan
    assert abs(warm_up(gappy)[0] - 30) <= 20


def test_many_warm_ups_at_once_are_as_one_by_one() -> None:
    table = np.stack([ramp(120, warm, 30.0, seed) for seed, warm in enumerate((0, 20, 40))])
    ends, settled = warm_up_ends(table)
    assert list(zip(ends, settled, strict=True)) == [warm_up(row) for row in table]


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


def test_the_error_by_hand() -> None:
    """Nine seconds in three batches 1 1 1 | 2 2 2 | 3 3 3: deviation of the means 1, error 1 / sqrt 3."""
    found = mean_error(np.repeat([1.0, 2.0, 3.0], 3))
    assert found.mean == 2.0
    assert found.error == pytest.approx(1 / sqrt(3))


def test_missing_seconds_are_left_out_and_short_series_have_no_error() -> None:
    assert mean_error(np.asarray([1.0, np.nan, 3.0])).mean == 2.0
    assert isnan(mean_error(np.ones(8)).error)
    assert isnan(mean_error(np.asarray([])).mean)
    assert isnan(mean_error(np.ones(30)).inefficiency)
