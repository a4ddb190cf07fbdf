"""Robust estimates, against scipy, simulation and numbers worked by hand."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.robust import RobustEstimate, bootstraps, hodges_lehmann

from ._make import HOT_SHARE, TPS, columns


def bootstrap(effect: Effect) -> RobustEstimate | None:
    return bootstraps((effect,))[0]


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
