"""Effects against scipy, and what they say when there is little or odd data."""

from math import exp, inf, isnan, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.compare import compare
from pgassay.study.levels import Place
from pgassay.study.responses import Scale

from ._make import HOT_SHARE, TPS, columns, noisy

BASE = [100.0, 110.0, 95.0, 120.0, 105.0, 99.0]
MORE = [111.0, 119.0, 106.0, 130.0, 117.0, 108.0]


def test_one_look_is_the_paired_t_test_on_logarithms() -> None:
    (effect,) = compare(columns({"base": BASE, "a": MORE}), TPS, "base", blocks_max=30, looks="once")
    oracle = stats.ttest_rel(np.log(MORE), np.log(BASE)).confidence_interval(0.95)
    assert effect.estimate == pytest.approx(stats.gmean(MORE) / stats.gmean(BASE))
    assert effect.low == pytest.approx(exp(oracle.low))
    assert effect.high == pytest.approx(exp(oracle.high))
    assert "one look" in effect.method


def test_one_look_on_a_difference_scale_is_the_paired_t_test() -> None:
    base, more = [0.5, 0.6, 0.4, 0.5, 0.55], [0.7, 0.75, 0.66, 0.69, 0.8]
    (effect,) = compare(columns({"base": base, "a": more}), HOT_SHARE, "base", blocks_max=30, looks="once", level=0.9)
    oracle = stats.ttest_rel(more, base).confidence_interval(0.9)
    assert effect.scale is Scale.DIFFERENCE
    assert effect.low == pytest.approx(oracle.low)
    assert effect.high == pytest.approx(oracle.high)


def test_looking_every_block_costs_width_and_so_do_more_comparisons() -> None:
    seen = columns({"base": BASE, "a": MORE, "b": MORE[::-1]})
    once = compare(seen, TPS, "base", blocks_max=30, looks="once", comparisons=1)[0]
    always = compare(seen, TPS, "base", blocks_max=30, comparisons=1)[0]
    family = compare(seen, TPS, "base", blocks_max=30, primary=True)[0]
    assert always.low < once.low < once.high < always.high
    assert family.low < always.low
    assert family.comparisons == 2
    assert family.inner is None
    (older, _) = compare(seen, TPS, "base", blocks_max=30, primary=True, inner=True)
    assert older.inner is not None
    assert family.low == older.low < older.inner[0] < older.inner[1] < older.high == family.high


def test_a_secondary_response_stands_alone() -> None:
    effects = compare(columns({"base": BASE, "a": MORE, "b": MORE}), TPS, "base", blocks_max=30)
    assert [effect.comparisons for effect in effects] == [1, 1]


def test_below_five_blocks_there_is_an_estimate_without_an_interval() -> None:
    (effect,) = compare(columns({"base": BASE[:4], "a": MORE[:4]}), TPS, "base", blocks_max=30)
    assert effect.estimate > 1.0
    assert (effect.low, effect.high) == (0.0, inf)
    assert not effect.bounded
    assert any("an interval needs 5" in reason for reason in effect.left_out)


def test_a_treatment_without_trials_is_named_and_counted() -> None:
    arms = [Place("base"), Place("a"), Place("gone")]
    seen = columns({"base": BASE, "a": MORE})
    a, gone = compare(seen, TPS, "base", blocks_max=30, primary=True, arms=arms)
    assert a.comparisons == 2
    assert gone.blocks == 0
    assert isnan(gone.estimate)
    assert "gone has no valid trial" in gone.left_out


@pytest.mark.parametrize(
    ("blocks_max", "words"),
    [
        (2, "no interval below 5 blocks"),
        (5, "Student's t on block-wise contrasts, one look at 5 blocks"),
        (30, "Student's t on block-wise contrasts, alpha spending over looks at 5 to 30 blocks"),
    ],
)
def test_the_method_names_the_looks_that_there_can_be(blocks_max: int, words: str) -> None:
    (effect,) = compare(columns({"base": BASE[:2], "a": MORE[:2]}), TPS, "base", blocks_max=blocks_max)
    assert effect.method == words


def test_the_baseline_is_compared_inside_each_condition() -> None:
    seen = columns({"base": BASE, "a": MORE}, "threads=1") + columns({"base": MORE, "a": BASE}, "threads=8")
    one, eight = compare(seen, TPS, "base", blocks_max=30)
    assert (one.condition, eight.condition) == ("threads=1", "threads=8")
    assert one.estimate == pytest.approx(1 / eight.estimate)


def test_equal_contrasts_are_said_to_have_no_width() -> None:
    (effect,) = compare(columns({"base": [10.0] * 5, "a": [10.1] * 5}), TPS, "base", blocks_max=30)
    assert effect.low == pytest.approx(effect.high)
    assert any("no width" in reason for reason in effect.left_out)


def test_more_blocks_than_planned_are_named() -> None:
    (effect,) = compare(columns({"base": BASE, "a": MORE}), TPS, "base", blocks_max=5)
    assert any("6 blocks where 5 were planned" in reason for reason in effect.left_out)


@given(st.integers(0, 10_000), st.floats(0.01, 100.0), st.integers(5, 20))
@settings(max_examples=25, deadline=None)
def test_units_and_block_effects_do_not_matter(seed: int, factor: float, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    values = noisy(rng, {"base": 100.0, "a": 105.0}, blocks, 0.03)
    shift = np.exp(rng.normal(0.0, 1.0, blocks))
    (plain,) = compare(columns({k: v.tolist() for k, v in values.items()}), TPS, "base", blocks_max=30)
    (moved,) = compare(
        columns({k: (factor * shift * v).tolist() for k, v in values.items()}), TPS, "base", blocks_max=30
    )
    for name in ("estimate", "low", "high"):
        assert log(getattr(moved, name)) == pytest.approx(log(getattr(plain, name)), abs=1e-9)
