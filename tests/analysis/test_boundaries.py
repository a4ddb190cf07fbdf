"""The boundaries against their definition: paths of t simulated from normal contrasts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats  # type: ignore[import-untyped]

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


EIGHT_TIMES_FINER = [21.25296, 4.54845, 4.27001, 4.14392, 4.06229]
"""Of 251 blocks at 0.001, every fiftieth, by the same recursion with eight times the points in every place."""


def within_both(first: float, second: float) -> float:
    """The chance that |t| stays below `first` at five blocks and below `second` at six, by another way.

    Given the sum of squares q about the mean of five (chi-square) and that mean (z, normal), the sixth value has to lie
    outside two roots.
    """
    share = 6 * second**2 / (5 + second**2)  # |t| < second: the sum squared is below this share of the sum of squares
    nodes, weights = (each / 2 for each in np.polynomial.legendre.leggauss(200))
    nodes = nodes + 0.5
    q, of_q = 60 * nodes[:, None] ** 2, 120 * nodes * weights
    widest = first * np.sqrt(q) / 2
    rootless = np.minimum(np.sqrt((share - 1) * q / (6 - share)), widest)  # the roots meet there, like a square root
    z = np.hstack((rootless * nodes, rootless + (widest - rootless) * nodes**2))
    of_z = np.hstack((rootless * weights, (widest - rootless) * 2 * nodes * weights))
    discriminant = np.maximum(5 * z**2 + (share - 1) * (5 * z**2 - share * (z**2 + q)), 0)
    outer = special.ndtr((np.sqrt(5) * z - np.sqrt(discriminant)) / (share - 1))
    outer += special.ndtr(-(np.sqrt(5) * z + np.sqrt(discriminant)) / (share - 1))
    inside = 2 * (of_z * np.where(discriminant > 0, outer, 1) * stats.norm.pdf(z)).sum(axis=1)
    return float((inside * stats.chi2.pdf(q[:, 0], 4) * of_q).sum())


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.005])
def test_two_looks_agree_with_integrals_over_the_normal_and_the_chi_square(alpha: float) -> None:
    assert 1 - within_both(*criticals(6, alpha)) == pytest.approx(alpha, rel=2e-5)


def test_long_horizons_and_small_errors_keep_their_digits() -> None:
    assert criticals(251, 0.001)[::50] == pytest.approx(EIGHT_TIMES_FINER, rel=5e-5)


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
