"""Pass, fail or not known: by the interval and by nothing else, with the reason where it is not known."""

from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.boundaries import critical
from pgassay.analysis.effects import Certainty, Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Outcome, judge_change, judge_value, means
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.thresholds import Limit, Relation

P99 = Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER)
SURE = Certainty(0.95, 1, 10, every_block=True)


def effect(low: float, high: float, *, blocks: int = 8, refused: str = "", nothing: str = "") -> Effect:
    return Effect(
        "b", "", "", P99.name, Scale.RATIO, blocks, (low * high) ** 0.5, low, high, 0.95, "a test", (),
        refused=refused, nothing_in_common=nothing,
    )  # fmt: skip


def limit(relation: str, value: float, *, change: bool = True) -> Limit:
    return Limit("p99 …", P99, Relation(relation), value, change)


@pytest.mark.parametrize(
    ("relation", "value", "outcome"),
    [
        ("<", 1.2, "pass"), ("<", 1.1, "not known"), ("<", 1.05, "not known"), ("<", 0.9, "fail"), ("<", 0.8, "fail"),
        ("<=", 1.1, "pass"), ("<=", 0.9, "not known"), ("<=", 0.8, "fail"),
        (">", 0.8, "pass"), (">", 0.9, "not known"), (">", 1.1, "fail"), (">", 1.2, "fail"),
        (">=", 0.9, "pass"), (">=", 1.1, "not known"), (">=", 1.2, "fail"),
    ],
)  # fmt: skip
def test_the_whole_interval_decides(relation: str, value: float, outcome: str) -> None:
    found = judge_change(limit(relation, value), effect(0.9, 1.1))
    assert found.outcome == outcome
    assert bool(found.why) == (outcome == "not known")


@given(
    st.sampled_from(list(Relation)), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.0, 5.0), st.floats(0, 1)
)
def test_pass_and_fail_hold_for_every_value_inside_the_interval(
    relation: Relation, value: float, low: float, width: float, share: float
) -> None:
    high = low + width
    outcome = judge_change(Limit("…", P99, relation, value, True), effect(low, high)).outcome
    inside = min(low + share * width, high)
    meets = {
        Relation.BELOW: inside < value, Relation.AT_MOST: inside <= value,
        Relation.ABOVE: inside > value, Relation.AT_LEAST: inside >= value,
    }[relation]  # fmt: skip
    if outcome is Outcome.PASS:
        assert meets
    if outcome is Outcome.FAIL:
        assert not meets


def test_what_is_too_early_refused_or_objected_to_is_not_known() -> None:
    early = judge_change(limit("<", 9.0), effect(0.0, inf, blocks=2))
    assert (early.outcome, early.why) == (Outcome.UNKNOWN, "cannot be judged yet (2 blocks; a verdict takes 5)")
    refused = judge_change(limit("<", 9.0), effect(0.9, 1.1, refused="timing is off"))
    assert (refused.outcome, refused.why) == (Outcome.UNKNOWN, "not compared: timing is off")
    objected = judge_change(limit("<", 9.0), effect(0.9, 1.1), "fixed-order: …")
    assert (objected.outcome, objected.why) == (Outcome.UNKNOWN, "fixed-order: …")
    alone = judge_change(limit("<", 9.0), effect(0.9, 1.1, blocks=0, nothing="b has no valid trial"))
    assert alone.why == "b has no valid trial"


def test_a_value_is_judged_by_its_mean_over_the_blocks() -> None:
    seen = [Observation(block, "b", "", "", value) for block, value in enumerate((4.0, 4.2, 4.4, 4.1, 4.3), start=1)]
    (mean,) = means(seen, P99, [Place("b")], SURE)
    assert mean.estimate == pytest.approx((4.0 * 4.2 * 4.4 * 4.1 * 4.3) ** 0.2)
    half = (mean.high / mean.low) ** 0.5
    assert half > 1.0 + 0.9 * critical(5, 10, 0.05) * 0.0377 / 5**0.5, "the spread of the logarithms is 3.77 %"
    assert judge_value(limit("<", 5.0, change=False), mean).outcome is Outcome.PASS
    assert judge_value(limit("<", 4.2, change=False), mean).outcome is Outcome.UNKNOWN
    assert judge_value(limit("<", 3.0, change=False), mean).outcome is Outcome.FAIL
    (wider,) = means(seen, P99, [Place("b")], Certainty(0.95, 6, 10, every_block=True))
    assert wider.low < mean.low < mean.high < wider.high
    assert wider.comparisons == 6


def test_a_mean_without_trials_or_with_few_is_unbounded() -> None:
    seen = [Observation(block, "b", "", "", 4.0) for block in (1, 2, 3, 4)]
    few, none = means(seen, P99, [Place("b"), Place("c")], SURE)
    assert (few.blocks, few.low, few.high) == (4, 0.0, inf)
    assert none.blocks == 0
    assert isnan(none.estimate)
    found = judge_value(limit("<", 5.0, change=False), few)
    assert (found.outcome, found.why) == (Outcome.UNKNOWN, "cannot be judged yet (4 blocks; a verdict takes 5)")
    assert not found.bounded
