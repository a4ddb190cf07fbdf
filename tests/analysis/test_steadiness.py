"""Each class from a series that is one by construction."""

import numpy as np
import pytest

from pgassay.analysis.steadiness import Steadiness, course, courses

S = np.arange(300)


def noisy(level: np.ndarray, noise: float = 15.0) -> np.ndarray:
    return np.asarray(level + np.random.default_rng(8).normal(0.0, noise, len(level)))


FLAT = noisy(np.full(300, 1000.0))
WARMING = noisy(np.where(S < 60, 700.0, 1000.0))
DRIFTING = noisy(1000.0 - 1.5 * S)
CYCLIC = noisy(1000.0 + 150.0 * np.sign(np.sin(2 * np.pi * S / 60)))
UNSETTLED = noisy(np.select([S < 100, S < 220], [1000.0, 600.0], 900.0))


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (FLAT, Steadiness.FLAT),
        (WARMING, Steadiness.WARMING),
        (DRIFTING, Steadiness.DRIFTING),
        (CYCLIC, Steadiness.CYCLIC),
        (UNSETTLED, Steadiness.UNSETTLED),
    ],
)
def test_each_kind_is_told(series: np.ndarray, kind: Steadiness) -> None:
    assert course(series).kind is kind


def test_where_it_is_steady_and_how_long_a_cycle_is() -> None:
    assert course(FLAT).steady_from_s == 0
    warming = course(WARMING)
    assert warming.steady_from_s == pytest.approx(60, abs=5)
    assert [mean for _, mean in warming.levels] == [pytest.approx(700, rel=0.02), pytest.approx(1000, rel=0.02)]
    assert course(CYCLIC).period_s == pytest.approx(60, abs=5)
    assert course(DRIFTING).steady_from_s is None


def test_changes_too_small_to_matter_leave_it_flat() -> None:
    assert course(noisy(np.where(S < 150, 1000.0, 1010.0), 1.0)).kind is Steadiness.FLAT


def test_short_and_gappy_series_are_not_judged() -> None:
    assert course(FLAT[:29]).kind is Steadiness.UNKNOWN
    gappy = FLAT.copy()
    gappy[:100] = np.nan
    found = course(gappy)
    assert found.kind is Steadiness.UNKNOWN
    assert found.missing == pytest.approx(1 / 3)
    assert course(np.full(60, np.nan)).kind is Steadiness.UNKNOWN


def test_zero_throughput_is_a_level_like_any_other() -> None:
    assert course(np.zeros(60)).kind is Steadiness.FLAT
    assert course(noisy(np.where(S < 200, 1000.0, 0.0))).kind is Steadiness.UNSETTLED


def test_noise_is_rarely_called_anything_but_flat() -> None:
    rng = np.random.default_rng(9)
    found = courses(1000.0 * np.exp(rng.normal(0.0, 0.05, (400, 120))))
    assert sum(one.kind is Steadiness.FLAT for one in found) > 0.9 * 400
