"""The boundaries against their definition: paths of t simulated from normal contrasts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, critical, criticals, fixed_critical, spent


def paths(studies: int, horizon: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """|t| of standard normal contrasts at looks FIRST_LOOK … horizon, shape (studies, looks)."""
    x = np.random.default_rng(7).standard_normal((studies, horizon))
    n = np.arange(1, horizon + 1)
    total, squares = x.cumsum(axis=1), (x * x).cumsum(axis=1)
    n, total, squares = n[FIRST_LOOK - 1 :], total[:, FIRST_LOOK - 1 :], squares[:, FIRST_LOOK - 1 :]
    spread = np.sqrt((squares - total**2 / n) / (n - 1))
    result: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.abs(total / np.sqrt(n) / spread)
    return result


@pytest.mark.parametrize(("horizon", "alpha"), [(5, 0.05), (12, 0.05), (30, 0.05), (30, 0.01)])
def test_error_is_spent_as_planned_at_every_look(horizon: int, alpha: float) -> None:
    studies = 200_000
    crossed = paths(studies, horizon) > np.asarray(criticals(horizon, alpha))
    for look in range(horizon - FIRST_LOOK + 1):
        planned = alpha * spent(look + FIRST_LOOK, horizon)
        seen = crossed[:, : look + 1].any(axis=1).mean()
        assert abs(seen - planned) <= 4 * np.sqrt(planned / studies) + 0.005 * planned


def test_a_single_look_is_students_t() -> None:
    assert criticals(FIRST_LOOK, 0.05)[0] == pytest.approx(stats.t.ppf(0.975, FIRST_LOOK - 1), rel=1e-9)
    assert fixed_critical(8, 0.05) == pytest.approx(stats.t.ppf(0.975, 7), rel=1e-9)
    assert fixed_critical(1, 0.05) == float("inf")


@given(st.integers(FIRST_LOOK, 40), st.sampled_from([0.1, 0.05, 0.01, 0.001]))
@settings(max_examples=20, deadline=None)
def test_boundaries_are_above_one_look_and_fall_towards_the_horizon(horizon: int, alpha: float) -> None:
    values = criticals(horizon, alpha)
    assert len(values) == horizon - FIRST_LOOK + 1
    assert all(value >= fixed_critical(look + FIRST_LOOK, alpha) * (1 - 1e-9) for look, value in enumerate(values))
    assert all(later < sooner for sooner, later in pairwise(values))


@given(st.integers(FIRST_LOOK, 300))
def test_spending_grows_from_nothing_to_all(horizon: int) -> None:
    shares = [spent(blocks, horizon) for blocks in range(FIRST_LOOK - 1, horizon + 1)]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_no_boundary_before_the_first_look_and_a_wider_one_beyond_the_horizon() -> None:
    assert critical(4, 30, 0.05) == float("inf")
    assert critical(12, 10, 0.05) == criticals(12, 0.05)[-1]
    with pytest.raises(ValueError, match="no boundary"):
        criticals(4, 0.05)
    with pytest.raises(ValueError, match="no boundary"):
        criticals(10, 0.0)
