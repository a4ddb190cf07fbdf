"""The probability of being the best."""

from collections.abc import Sequence

import numpy as np
import pytest

from pgassay.analysis.best import chances_of
from pgassay.analysis.observations import Observation, arrange
from pgassay.study.levels import Cell
from pgassay.study.responses import Response

from ._make import LATENCY_MS, TPS, columns, noisy


def best_chances(
    observations: Sequence[Observation], response: Response, cell: Cell, baseline: str
) -> dict[str, float]:
    return chances_of(arrange(observations, cell, response.scale), response, baseline)


def chances(means: dict[str, float], blocks: int, cv: float = 0.03, seed: int = 1) -> dict[str, float]:
    values = noisy(np.random.default_rng(seed), means, blocks, cv)
    return best_chances(columns({k: v.tolist() for k, v in values.items()}), TPS, Cell(), next(iter(means)))


def test_a_clear_winner_is_nearly_certain_and_they_sum_to_one() -> None:
    found = chances({"base": 100.0, "a": 120.0, "b": 90.0}, 10)
    assert found["a"] > 0.99
    assert sum(found.values()) == pytest.approx(1.0)


def test_equals_share_the_chance_in_the_long_run() -> None:
    mean = np.mean(
        [list(chances({"base": 100.0, "a": 100.0, "b": 100.0}, 8, seed=seed).values()) for seed in range(150)], 0
    )
    np.testing.assert_allclose(mean, 1 / 3, atol=0.09)


def test_the_chance_is_calibrated_for_two() -> None:
    """Without effect the chance that `a` is the better of two is uniform: one in ten lies below 0.1."""
    drawn = np.asarray([chances({"base": 100.0, "a": 100.0}, 10, seed=seed)["a"] for seed in range(300)])
    assert 0.05 < (drawn < 0.1).mean() < 0.16
    assert 0.05 < (drawn > 0.9).mean() < 0.16


def test_lower_is_better_where_the_response_says_so() -> None:
    seen = columns({"base": [10.0, 11.0, 10.5, 10.2, 10.7], "a": [9.0, 9.9, 9.6, 9.1, 9.5]})
    assert best_chances(seen, LATENCY_MS, Cell(), "base")["a"] > 0.99
    assert best_chances(seen, TPS, Cell(), "base")["a"] < 0.01


def test_too_few_blocks_give_no_chance() -> None:
    assert chances({"base": 100.0, "a": 120.0}, 4) == {}
    short = columns({"base": [1.0] * 6, "a": [2.0] * 3})
    assert set(best_chances(short, TPS, Cell(), "base")) == {"base"}
    assert best_chances(short, TPS, Cell(), "nobody") == {}
    failed = columns({"base": [1.0] * 4, "a": [2.0] * 5})
    assert best_chances(failed, TPS, Cell(), "base") == {}, "a trial of the baseline is missing"
