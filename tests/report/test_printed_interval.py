"""The interval that is printed is the one that decides: whatever was measured, text and verdict agree as printed."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.report import words
from pgassay.report.answer import headline
from pgassay.report.case import Case
from pgassay.report.findings import Judged
from pgassay.report.forest import forest_row
from pgassay.report.json_values import effect_values
from pgassay.study.responses import Better, Response, Scale

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
HOT = Response("hot_share", "share of updates that were HOT", "share", Better.HIGHER, Scale.DIFFERENCE)
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)(?:\.\d+)?")


def measured(response: Response, change: float, noise: float, blocks: int, seed: int, *, inner: bool = False) -> Effect:
    """An effect of two arms; `change` and `noise` in per cent or points."""
    chance = np.random.default_rng(seed)
    base, other = chance.normal(0.0, noise / 100.0, (2, blocks))
    if response.scale is Scale.RATIO:
        columns = {"base": 1000.0 * np.exp(base), "a": 1000.0 * (1.0 + change / 100.0) * np.exp(other)}
    else:
        columns = {"base": 0.5 + base, "a": 0.5 + change / 100.0 + other}
    seen = [
        Observation(block, name, "", "", float(value))
        for name, column in columns.items()
        for block, value in enumerate(column, 1)
    ]
    (effect,) = compare(seen, response, "base", blocks_max=12, primary=True, inner=inner)
    return effect


def ends(shown: str) -> tuple[float, float]:
    """Of `+1.2 % [-0.3, +2.8]`."""
    low, high = re.findall(_NUMBER, shown[shown.index("[") :])
    return float(low.replace(",", "")), float(high.replace(",", ""))


@pytest.mark.parametrize("response", [TPS, HOT], ids=lambda each: str(each.name))
@given(
    change=st.floats(-20.0, 20.0),
    noise=st.floats(0.01, 8.0),
    blocks=st.integers(5, 12),
    resolution=st.sampled_from([0.005, 0.01, 0.02, 0.025, 0.1, 0.125]),
    seed=st.integers(0, 10_000),
)
@example(change=0.9, noise=0.35, blocks=5, resolution=0.02, seed=1)  # the inner interval alone lay within
@example(change=0.05, noise=0.02, blocks=5, resolution=0.0001, seed=3)
@settings(max_examples=150, deadline=None)
def test_every_printed_verdict_agrees_with_the_printed_interval(
    response: Response, change: float, noise: float, blocks: int, resolution: float, seed: int
) -> None:
    effect = measured(response, change, noise, blocks, seed)
    found = verdict(effect, response, resolution=resolution, blocks_max=12)
    low, high = ends(words.effect(effect, response))
    if found.kind is Kind.EQUIVALENT:
        (shown,) = re.findall(r"within ±([\d.]+) (?:%|points)", found.text)
        assert -float(shown) <= low <= high <= float(shown)
    elif found.kind is Kind.BETTER:
        assert 0.0 < low <= high
    elif found.kind is Kind.WORSE:
        assert low <= high < 0.0
    else:
        assert found.kind is Kind.UNRESOLVED
        assert low <= 0.0 <= high
    # The page's forest, the headline and the JSON show the same interval.
    row = forest_row(effect, "a")
    assert row is not None
    assert row["text"] == words.effect(effect, response)
    told = headline(Case(response, "base", [Judged(effect, found)])).sentences[0]
    (span,) = re.findall(r"95 % interval ([^)]*)", told)
    shown_ends = sorted(abs(float(each.replace(",", ""))) for each in re.findall(_NUMBER, span))
    assert shown_ends == pytest.approx(sorted((abs(low), abs(high))))
    values = effect_values(effect)
    assert (values["low"], values["high"]) == (effect.low, effect.high)
    assert "equivalence" not in values


def test_a_record_of_an_older_rule_names_the_interval_that_decided() -> None:
    for seed in range(200):
        effect = measured(TPS, 0.6, 0.5, 6, seed, inner=True)
        found = verdict(effect, TPS, resolution=0.02, blocks_max=12)
        if found.kind is Kind.EQUIVALENT and effect.high > 1.02 and effect.low < 1.0:
            break
    else:
        raise AssertionError("no study between the two intervals")
    assert effect.inner is not None
    assert re.fullmatch(r"equivalent within ±2 % by its 90 % interval, [-+.\d]+ to [-+.\d]+ %", found.text)
    low, high = effect_values(effect)["equivalence"]
    assert (low, high) == effect.inner
    assert verdict(measured(TPS, 0.6, 0.5, 6, seed), TPS, resolution=0.02, blocks_max=12).kind is Kind.UNRESOLVED
