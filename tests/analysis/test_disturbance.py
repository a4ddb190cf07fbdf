"""A disturbed trial stays only as far as the adjustment was shown to be right, simulated with competitors."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.disturbance import Bias, Planted, bias_of, largest_share, stays

SHARES = (0.1, 0.25, 0.5)


def competed(seen: float, pairs: int = 20, seed: int = 1) -> list[Planted]:
    """Adjusted log-ratios where the metronome sees this part of what the competitor takes; noise 1 % a pair."""
    rng = np.random.default_rng(seed)
    found = []
    for share in SHARES:
        speed: npt.NDArray[np.float64] = np.log1p(-share) + rng.normal(0.0, 0.01, pairs)
        found.append(Planted(share, (speed - seen * np.log1p(-share)).tolist()))
    return found


def test_a_metronome_that_sees_the_competitor_lets_trials_stay_up_to_what_was_planted() -> None:
    assert largest_share(map(bias_of, competed(1.0))) == 0.5


@pytest.mark.parametrize(("seen", "shown"), [(0.98, 0.25), (0.8, 0.0), (0.0, 0.0)])
def test_one_that_misses_a_part_of_it_lets_them_stay_as_far_as_that_does_not_matter(seen: float, shown: float) -> None:
    assert largest_share(map(bias_of, competed(seen, pairs=60))) == shown


def test_few_pairs_show_nothing() -> None:
    assert largest_share(map(bias_of, competed(1.0, pairs=2))) == 0.0
    assert largest_share([bias_of(Planted(0.1, [0.0])), bias_of(Planted(0.2, []))]) == 0.0
    assert largest_share([]) == 0.0


def test_right_by_chance_beyond_a_wrong_share_does_not_count() -> None:
    good, bad = Bias(0.25, 0.0, -0.001, 0.001), Bias(0.1, 0.02, 0.01, 0.03)
    assert largest_share([good, bad]) == 0.0
    assert largest_share([good]) == 0.25


def test_a_wrong_adjustment_is_let_through_in_one_case_of_twenty_at_most() -> None:
    """A bias exactly at the limit: two one-sided tests at 5 %."""
    rng = np.random.default_rng(2)
    edge = np.log(1.01)
    passed = [bias_of(Planted(0.1, (edge + rng.normal(0.0, 0.01, 12)).tolist())).small for _ in range(4000)]
    assert np.mean(passed) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(passed) > 0.03


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 0.3), st.booleans())
def test_more_foreign_cpu_never_helps_a_trial_to_stay(share: float, shown: float, limit: float, adjusted: bool) -> None:
    if not stays(share, shown, adjusted=adjusted, limit=limit):
        assert not stays(min(1.0, share + 0.1), shown, adjusted=adjusted, limit=limit)
    assert stays(limit, shown, adjusted=False, limit=limit)
    assert stays(share, shown, adjusted=False, limit=limit) == (share <= limit)
