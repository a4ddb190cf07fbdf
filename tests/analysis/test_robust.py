"""Robust estimates and chances of being best, against scipy, simulation and numbers worked by hand."""

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation, arrange
from pgassay.analysis.robust import bootstrap, chances_of_best, hodges_lehmann
from pgassay.study.levels import Cell
from pgassay.study.responses import Response

from ._make import HOT_SHARE, LATENCY_MS, TPS, columns, noisy


def effect(differences: list[float]) -> Effect:
    seen = columns({"base": [0.0] * len(differences), "a": differences})
    return compare(seen, HOT_SHARE, "base", blocks_max=30)[0]


def test_by_hand() -> None:
    """Walsh averages of 1, 2, 4: 1, 1.5, 2, 2.5, 3, 4; their median is 2.25."""
    found = hodges_lehmann(effect([1.0, 2.0, 4.0]))
    assert found is not None
    assert (found.estimate, found.low, found.high) == (2.25, 1.0, 4.0)
    assert found.level == pytest.approx(1 - 2 / 8)


@given(st.integers(6, 20), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_the_interval_holds_what_wilcoxon_does_not_reject(blocks: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.3, 1.0, blocks)
    found = hodges_lehmann(effect(values.tolist()))
    assert found is not None
    assert found.level >= 0.95
    step = 1e-9
    for edge, outside in ((found.low, -step), (found.high, step)):
        assert stats.wilcoxon(values - (edge + outside), mode="exact").pvalue <= 0.05
        assert stats.wilcoxon(values - (edge - outside), mode="exact").pvalue > 0.05


def test_one_odd_block_moves_the_mean_but_not_the_median() -> None:
    calm = [0.01, 0.012, 0.008, 0.011, 0.009, 0.01, 0.0105]
    odd = effect([*calm, 1.0])
    found = hodges_lehmann(odd)
    assert found is not None
    assert odd.estimate > 0.1
    assert abs(found.estimate - 0.01) < 0.002


def test_the_bootstrap_agrees_with_scipys() -> None:
    values = np.random.default_rng(3).gamma(2.0, 1.0, 25)
    found = bootstrap(effect(values.tolist()))
    oracle = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1))
    assert found is not None
    width = oracle.confidence_interval.high - oracle.confidence_interval.low
    assert found.low == pytest.approx(oracle.confidence_interval.low, abs=0.05 * width)
    assert found.high == pytest.approx(oracle.confidence_interval.high, abs=0.05 * width)


def test_ratios_come_back_as_ratios_and_the_same_every_time() -> None:
    seen = columns({"base": [100.0, 90.0, 110.0, 95.0, 105.0], "a": [121.0, 107.0, 133.0, 113.0, 127.0]})
    (found,) = compare(seen, TPS, "base", blocks_max=30)
    for companion in (hodges_lehmann, bootstrap):
        one, two = companion(found), companion(found)
        assert one == two
        assert one is not None
        assert log(one.estimate) == pytest.approx(log(1.2), abs=0.02)
        assert one.low < one.estimate < one.high


def test_too_little_gives_nothing() -> None:
    assert hodges_lehmann(effect([float("nan")])) is None
    assert bootstrap(effect([1.0])) is None
    same = bootstrap(effect([2.0, 2.0, 2.0]))
    assert same is not None
    assert same.low == same.high == 2.0


def best_chances(
    observations: Sequence[Observation], response: Response, cell: Cell, baseline: str
) -> dict[str, float]:
    return chances_of_best(arrange(observations, cell, response.scale), response, baseline)


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
