"""Each class from a series that is one by construction."""

import numpy as np
import pytest

from pgassay.analysis.seconds import NS, Steadiness, classify, classify_all, trial_course

S = np.arange(300)


def noisy(level: np.ndarray, noise: float = 15.0) -> np.ndarray:
    return np.asarray(level + np.random.default_rng(8).normal(0.0, noise, len(level)))


FLAT = noisy(np.full(300, 1000.0))
WARMING = noisy(np.where(S < 60, 700.0, 1000.0))
SLOWING = noisy(np.where(S < 60, 1300.0, 1000.0))
DRIFTING = noisy(1000.0 - 1.5 * S)
UNSETTLED = noisy(np.select([S < 100, S < 220], [1000.0, 600.0], 900.0))


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (FLAT, Steadiness.FLAT),
        (WARMING, Steadiness.WARMING),
        (SLOWING, Steadiness.SLOWING),
        (DRIFTING, Steadiness.DRIFTING),
        (UNSETTLED, Steadiness.UNSETTLED),
    ],
)
def test_each_kind_is_told(series: np.ndarray, kind: Steadiness) -> None:
    assert classify(series).kind is kind


def test_where_it_is_steady() -> None:
    assert len(classify(FLAT).levels) == 1
    warming = classify(WARMING)
    assert [begin for begin, _ in warming.levels] == [0, pytest.approx(60, abs=5)]
    assert [mean for _, mean in warming.levels] == [pytest.approx(700, rel=0.02), pytest.approx(1000, rel=0.02)]


def test_changes_too_small_to_matter_leave_it_flat() -> None:
    assert classify(noisy(np.where(S < 150, 1000.0, 1010.0), 1.0)).kind is Steadiness.FLAT


def test_short_and_gappy_series_are_not_judged() -> None:
    assert classify(FLAT[:29]).kind is Steadiness.UNKNOWN
    gappy = FLAT.copy()
    gappy[:100] = np.nan
    assert classify(gappy).kind is Steadiness.UNKNOWN
    assert classify(np.full(60, np.nan)).kind is Steadiness.UNKNOWN


def test_zero_throughput_is_a_level_like_any_other() -> None:
    assert classify(np.zeros(60)).kind is Steadiness.FLAT
    assert classify(noisy(np.where(S < 200, 1000.0, 0.0))).kind is Steadiness.UNSETTLED


def test_noise_is_rarely_called_anything_but_flat() -> None:
    rng = np.random.default_rng(9)
    found = classify_all(1000.0 * np.exp(rng.normal(0.0, 0.05, (400, 120))))
    assert sum(one.kind is Steadiness.FLAT for one in found) > 0.9 * 400


# Transactions per second of two real minutes (simple-update, a checkpoint every three to six seconds, busy neighbours
# on both processors): one wanders without a level of its own, the other lost half its speed when the neighbours came.
WANDERED = [
    1782, 1468, 1431, 1893, 1972, 2091, 2284, 1723, 2350, 2709, 2620, 2837, 2850, 2843, 2943, 3023, 2712, 2435,
    2964, 3019, 2774, 2448, 2967, 3264, 3232, 2696, 2359, 1350, 2237, 2092, 2139, 2058, 2401, 2342, 2974, 3001,
    2682, 2473, 1983, 1401, 1192, 1092, 1022, 1200, 859, 1681, 2410, 2703, 2141, 2232, 2588, 3355, 3081, 3336, 2934,
    2819, 2651, 2787, 2835, 2552,
]  # fmt: skip
SLOWED = [
    3267, 4497, 3738, 4130, 2749, 4295, 4020, 4601, 4792, 4792, 4693, 4588, 4580, 4408, 4249, 4201, 4262, 4175,
    3722, 4333, 4278, 4034, 3705, 3348, 3428, 4360, 3770, 3118, 3777, 4463, 4055, 1773, 1970, 2823, 2821, 2320,
    2844, 2773, 4395, 3294, 3431, 2688, 1706, 2159, 2409, 2592, 2252, 2311, 2230, 2531, 2214, 1312, 1981, 3359,
    3393, 1945, 2007, 2700, 1916, 1408,
]  # fmt: skip


def test_real_minutes_beside_busy_neighbours() -> None:
    wandered = trial_course([second * NS for second in range(60)], [float(each) for each in WANDERED])
    assert wandered.kind is Steadiness.FLAT
    assert wandered.error is not None
    assert wandered.error > 0.05 * float(np.mean(WANDERED)), "flat, but its own mean is hardly known"
    slowed = classify(np.asarray(SLOWED, dtype=np.float64))
    assert slowed.kind is Steadiness.SLOWING
    assert slowed.levels[-1][0] == pytest.approx(30, abs=5)
