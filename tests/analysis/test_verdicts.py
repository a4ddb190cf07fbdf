"""The words, and that five blocks are the least for any of them."""

from math import exp, inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.compare import compare
from pgassay.analysis.verdicts import Kind, Verdict, verdict
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response

from ._make import HOT_SHARE, LATENCY_MS, TPS, columns, noisy

NOISE = np.asarray([-0.01, 0.006, 0.012, -0.004, -0.007, 0.003, 0.011, -0.011])


def of(ratio: float, response: Response = TPS, noise: float = 1.0, blocks: int = 8, **more: object) -> Verdict:
    base = [100.0] * blocks
    values = [100.0 * ratio * exp(noise * float(step)) for step in NOISE[:blocks]]
    (effect,) = compare(columns({"base": base, "a": values}), response, "base", blocks_max=30)
    return verdict(effect, response, resolution=0.02, blocks_max=30, **more)  # type: ignore[arg-type]


def test_better_and_worse_follow_the_responses_direction() -> None:
    assert of(1.1).kind is Kind.BETTER
    assert of(0.9).kind is Kind.WORSE
    assert of(1.1, LATENCY_MS).kind is Kind.WORSE
    assert of(0.9, LATENCY_MS).kind is Kind.BETTER
    assert of(1.1, Response("x", "x", "1/s", Better.NEITHER)).kind is Kind.DIFFERENT
    assert of(1.1).text == "better: transactions per second 10 % higher"


def test_equivalent_comes_before_a_difference_too_small_to_matter() -> None:
    found = of(1.005, noise=0.1)
    assert found.kind is Kind.EQUIVALENT
    assert found.text == "equivalent within ±2 % (0.50 % higher)"


def test_a_treatment_without_any_valid_trial_is_told_as_such() -> None:
    (effect,) = compare(columns({"base": [100.0] * 6, "a": [nan] * 6}), TPS, "base", blocks_max=30)
    found = verdict(effect, TPS, resolution=0.02, blocks_max=30)
    assert found.kind is Kind.UNRESOLVED
    assert found.text.endswith("; a has no usable value")


def test_unresolved_says_what_it_takes() -> None:
    found = of(1.01, noise=2.0, block_s=60.0)
    assert found.kind is Kind.UNRESOLVED
    assert not found.settled
    assert found.more_blocks is not None
    assert found.more_s == found.more_blocks * 60.0
    assert found.text.startswith(f"unresolved: needs about {found.more_blocks} more blocks, ")


def test_what_the_study_cannot_do_is_said_early() -> None:
    found = of(1.01, noise=4.0)
    assert found.more_blocks is not None
    assert found.more_blocks > 22
    assert found.text.endswith("; the run had room for 22")


@given(st.integers(0, 4), st.floats(0.2, 5.0), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_nothing_is_decided_below_five_blocks(blocks: int, ratio: float, seed: int) -> None:
    values = noisy(np.random.default_rng(seed), {"base": 100.0, "a": 100.0 * ratio}, max(blocks, 1), 0.0001)
    seen = columns({name: column[:blocks].tolist() for name, column in values.items()}) if blocks else []
    (effect,) = compare(seen, TPS, "base", blocks_max=30, arms=[Place("base"), Place("a")], looks="once")
    found = verdict(effect, TPS, resolution=0.02, blocks_max=30)
    assert found.kind is Kind.UNRESOLVED
    assert found.more_blocks == 5 - blocks


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
def test_below_five_blocks_there_is_no_forecast_only_the_least(blocks: int) -> None:
    found = of(1.01, noise=50.0, blocks=blocks, block_s=60.0)
    lacking = 5 - blocks
    assert found.text == f"unresolved: needs at least {lacking} more block{'s' * (lacking > 1)} (a verdict takes 5)"
    assert found.more_s == 60.0 * lacking


def test_a_study_of_fewer_than_five_blocks_says_that_it_cannot_tell() -> None:
    (effect,) = compare(columns({"base": [100.0], "a": [110.0]}), TPS, "base", blocks_max=2)
    found = verdict(effect, TPS, resolution=0.02, blocks_max=2)
    assert found.text == "unresolved: needs at least 4 more blocks (a verdict takes 5); the run had room for 1"


def test_a_failure_is_told_but_a_settled_arm_keeps_its_verdict() -> None:
    assert of(1.1, failure="no space").text == "failed: no space"


def test_shares_are_judged_in_percentage_points() -> None:
    base = [0.50, 0.51, 0.49, 0.50, 0.52, 0.50]
    near = [0.505, 0.513, 0.497, 0.504, 0.527, 0.506]
    (effect,) = compare(columns({"base": base, "a": near}), HOT_SHARE, "base", blocks_max=30)
    assert verdict(effect, HOT_SHARE, resolution=0.02, blocks_max=30).kind is Kind.EQUIVALENT
    assert verdict(effect, HOT_SHARE, resolution=0.001, blocks_max=30).kind is Kind.BETTER


def test_no_data_at_all_is_unresolved_not_a_number() -> None:
    (effect,) = compare(columns({"base": [1.0], "a": [nan]}), TPS, "base", blocks_max=30)
    assert (effect.low, effect.high) == (0.0, inf)
    assert verdict(effect, TPS, resolution=0.02, blocks_max=30).kind is Kind.UNRESOLVED


def test_an_effect_on_the_edge_may_be_out_of_reach() -> None:
    found = of(1.0, noise=400.0)
    assert found.kind is Kind.UNRESOLVED
    assert found.more_blocks is None
    assert "needs more blocks than can be run" in found.text


@pytest.mark.parametrize(("seconds", "words"), [(40.0, "40 s"), (720.0, "12 min"), (15_600.0, "4 h 20 min")])
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    from pgassay.analysis.numbers import duration

    assert duration(seconds) == words
