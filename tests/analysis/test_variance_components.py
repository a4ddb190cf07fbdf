"""Planted variances are recovered, drift is not taken for noise, and a plan small enough for a hand."""

from math import sqrt

import numpy as np
import pytest

from pgassay.analysis.variance_components import Components, variance_components


def _planted(
    chance: np.random.Generator, shape: tuple[int, int, int], cluster: float, restart: float, run: float, drift: float
) -> Components:
    clusters, restarts, _ = shape
    values = np.full(shape, 7.0)
    values += chance.normal(0.0, cluster, (clusters, 1, 1))
    values += chance.normal(0.0, restart, (clusters, restarts, 1))
    values += chance.normal(0.0, run, shape)
    values += drift * np.arange(restarts)[None, :, None]
    values[:, :, 0] -= 0.2  # the first run after a restart is slower
    return variance_components(values)


def test_planted_variances_are_recovered_under_drift_and_a_slow_first_run() -> None:
    chance = np.random.default_rng(3)
    found = [_planted(chance, (4, 6, 3), 0.03, 0.02, 0.01, drift=0.05) for _ in range(600)]
    means = [float(np.mean([getattr(each, name) for each in found])) for name in ("cluster", "restart", "run", "trial")]
    assert means == pytest.approx([9e-4, 4e-4, 1e-4, 5e-4], rel=0.12)
    assert float(np.mean([each.block for each in found])) == pytest.approx(0.05**2 * 35 / 10, rel=0.05)


def test_the_interval_of_a_trial_s_deviation_covers() -> None:
    chance = np.random.default_rng(4)
    inside = 0
    for _ in range(1000):
        _, low, high = _planted(chance, (3, 5, 2), 0.02, 0.02, 0.01, drift=0.0).deviation()
        inside += low <= sqrt(5e-4) <= high
    assert 930 <= inside <= 975


def test_a_plan_by_hand() -> None:
    # Two clusters, two restarts, two runs; cell means 2, 4 | 5, 9; runs one below and above them, no place effect.
    values = np.array([[[1.0, 3.0], [5.0, 3.0]], [[6.0, 4.0], [8.0, 10.0]]])
    found = variance_components(values)
    assert found.mean == 5.0
    assert found.run == pytest.approx(8.0 / 3.0)  # 8 squares of 1; (4 - 1) degrees of freedom
    # Cluster means 3, 7; block means 3.5, 6.5; the rest of each cell is ±0.5: 2 · 4 · 0.25 / 1 = 2, below the runs'.
    assert found.restart == 0.0
    assert found.cluster == pytest.approx((4 * 2 * 4.0 - 2.0) / 4)
    assert found.block == pytest.approx((4 * 2 * 1.5**2 - 2.0) / 4)
    assert found.trial == pytest.approx(2.0 / 2 + 8.0 / 3.0 / 2)


def test_one_that_never_varies_has_no_noise() -> None:
    assert variance_components(np.ones((2, 2, 2))).deviation()[0] == 0.0


@pytest.mark.parametrize("values", [np.ones((1, 2, 2)), np.ones((2, 2)), np.full((2, 2, 2), np.nan)])
def test_what_is_no_balanced_plan_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least two"):
        variance_components(values)
