"""Treatments tell about each other's noise, and no interval that was looked at ever changes by it."""

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, criticals, spent, with_more_freedom
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation

from ._make import HOT_SHARE, TPS, columns

SHAPE = [-1.0, -1.0, 0.0, 1.0, 1.0]


def judged(values: dict[str, list[float]], *, moderated: bool = True, blocks_max: int = 8) -> dict[str, Effect]:
    seen = columns({name: [exp(value) for value in column] for name, column in values.items()})
    found = compare(seen, TPS, "base", blocks_max=blocks_max, primary=True, moderated=moderated)
    return {effect.treatment: effect for effect in found}


def half(effect: Effect) -> float:
    return log(effect.high / effect.low) / 2


def test_by_hand_at_one_look() -> None:
    values = {"base": [0.0] * 5, "a": [0.002 * x for x in SHAPE], "b": [0.004 * x for x in SHAPE]}
    found = judged(values, blocks_max=5)
    single, whole = stats.t.isf(0.0125, 5), stats.t.isf(0.025, 4)
    assert half(found["a"]) == pytest.approx(single * sqrt((10e-6 + 4 * 4e-6) / 5) / sqrt(5))
    assert half(found["b"]) == pytest.approx(max(single * sqrt((10e-6 + 4 * 16e-6) / 5), whole * 0.004) / sqrt(5))
    assert found["a"].peers is not None
    assert found["a"].peers.variance == pytest.approx(10e-6)
    assert "moderated" in found["a"].method


def test_one_comparison_and_secondary_responses_are_judged_as_ever() -> None:
    values = {"base": [0.0] * 5, "a": SHAPE}
    assert judged(values) == judged(values, moderated=False) | {"a": judged(values)["a"]}
    assert half(judged(values)["a"]) == half(judged(values, moderated=False)["a"])
    seen = columns({"base": [1.0] * 5, "a": [1.1, 1.2, 1.1, 1.3, 1.2], "b": [1.0, 1.1, 1.2, 1.1, 1.0]})
    assert (
        compare(seen, TPS, "base", blocks_max=8, moderated=True)[0].low
        == compare(seen, TPS, "base", blocks_max=8)[0].low
    )


def test_alike_treatments_are_judged_more_sharply_and_a_noisy_one_is_not_hidden() -> None:
    rng = np.random.default_rng(3)
    alike = {name: rng.normal(0.0, 0.02, 6).tolist() for name in ("base", "a", "b", "c", "d")}
    sharp, plain = judged(alike), judged(alike, moderated=False)
    assert sum(map(half, sharp.values())) < 0.9 * sum(map(half, plain.values()))
    noisy = {**alike, "d": rng.normal(0.0, 0.5, 6).tolist()}
    # It never gets an interval below its own with the whole error rate to itself.
    own = judged(noisy, moderated=False)["d"].spread * criticals(8, 0.05)[1] / sqrt(6)
    assert half(judged(noisy)["d"]) >= own * (1 - 1e-9)


@given(st.lists(st.floats(-1.0, 1.0), min_size=24, max_size=24), st.integers(5, 7))
def test_what_happens_after_a_treatment_left_does_not_change_its_interval(noise: list[float], last: int) -> None:
    base, a, b = noise[:8], noise[8:16], noise[16:]
    before = judged({"base": base[:last], "a": a[:last], "b": b[:last]})["b"]
    after = judged({"base": base, "a": a, "b": b[:last]})["b"]
    assert (after.low, after.high) == (before.low, before.high)


def test_a_treatment_without_a_block_tells_nothing_of_one_that_has_it() -> None:
    values = {"base": [0.0] * 6, "a": [0.1, 0.0, 0.2, 0.1, 0.3, 0.1], "b": [0.1, 0.2, 0.1, 0.0, 0.1]}
    found = judged(values)
    assert found["a"].peers is not None
    assert found["a"].peers.contrasts == 1
    assert half(found["a"]) == half(judged(values, moderated=False)["a"])
    assert found["b"].peers is not None
    assert found["b"].peers.contrasts == 2


def test_conditions_tell_nothing_of_each_other_and_share_the_error_rate() -> None:
    rng = np.random.default_rng(5)
    seen = [
        Observation(block, arm, condition, "", float(exp(rng.normal(0.0, spread))))
        for condition, spread in (("quiet", 0.01), ("loud", 1.0))
        for block in range(1, 7)
        for arm in ("base", "a", "b")
    ]
    found = compare(seen, TPS, "base", blocks_max=8, primary=True, moderated=True)
    assert {effect.condition: effect.peers.family for effect in found if effect.peers} == {"quiet": 2, "loud": 2}
    assert max(half(each) for each in found if each.condition == "quiet") < 0.1
    assert {effect.comparisons for effect in found} == {4}


def test_differences_are_moderated_too() -> None:
    seen = columns({"base": [0.5] * 5, "a": [0.5 + x / 100 for x in SHAPE], "b": [0.5 + x / 50 for x in SHAPE]})
    a, _ = compare(seen, HOT_SHARE, "base", blocks_max=5, primary=True, moderated=True)
    assert a.peers is not None
    assert a.peers.variance == pytest.approx((1e-4 + 4e-4) / 2)


@given(st.integers(5, 40), st.floats(2.0, 20.0), st.integers(0, 3))
def test_more_freedom_never_widens_and_keeps_the_nominal_error(blocks: int, value: float, prior: int) -> None:
    found = with_more_freedom(value, blocks, prior)
    assert found <= value * (1 + 1e-9)
    assert 2 * stats.t.sf(found, blocks - 1 + prior) == pytest.approx(2 * stats.t.sf(value, blocks - 1), rel=1e-6)


@given(st.integers(5, 20), st.integers(0, 20))
def test_all_of_the_error_is_spent_in_two_stages_too(first: int, more: int) -> None:
    last = first + more
    shares = [spent(blocks, last, first) for blocks in range(FIRST_LOOK - 1, last + 1)]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    if more:
        assert spent(first, last, first) == pytest.approx(0.9)
