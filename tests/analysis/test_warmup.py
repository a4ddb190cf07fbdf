"""MSER-5 on series whose warm-up is known."""

import numpy as np
import pytest

from pgassay.analysis.warmup import WarmUp, warm_up, warm_ups


def ramp(seconds: int, warm: int, noise: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = np.where(np.arange(seconds) < warm, 600.0 + 400.0 * np.arange(seconds) / max(warm, 1), 1000.0)
    return np.asarray(level + rng.normal(0.0, noise, seconds))


@pytest.mark.parametrize("warm", [0, 30, 60])
def test_the_planted_warm_up_is_cut(warm: int) -> None:
    found = warm_up(ramp(300, warm, 20.0))
    assert found.settled
    assert abs(found.end_s - warm) <= 20


def test_by_hand() -> None:
    """Batch means 0, 4, 4, 4, 4 … : cutting one batch leaves no error at all."""
    assert warm_up(np.repeat([0.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], 5)) == WarmUp(5, settled=True)


def test_the_definition_is_minimised() -> None:
    values = ramp(200, 40, 50.0)
    means = values.reshape(-1, 5).mean(axis=1)
    errors = [((means[d:] - means[d:].mean()) ** 2).sum() / (len(means) - d) ** 2 for d in range(len(means) - 3)]
    assert warm_up(values).end_s == 5 * int(np.argmin(errors))


def test_a_series_that_never_settles_says_so() -> None:
    assert not warm_up(np.linspace(100.0, 1000.0, 300) ** 2).settled


def test_short_series_are_not_cut_and_gaps_are_bridged() -> None:
    assert warm_up(np.ones(19)) == WarmUp(0, settled=False)
    gappy = ramp(300, 30, 20.0)
    gappy[150:160] = np.nan
    assert abs(warm_up(gappy).end_s - 30) <= 20


def test_many_at_once_are_as_one_by_one() -> None:
    table = np.stack([ramp(120, warm, 30.0, seed) for seed, warm in enumerate((0, 20, 40))])
    assert warm_ups(table) == tuple(warm_up(row) for row in table)
