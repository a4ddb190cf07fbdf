"""Two runs of one study: agreement needs the same decided verdict, and sizes that are not shown to differ."""

from dataclasses import replace
from math import exp, inf, isnan, nan, sqrt

import numpy as np
import pytest

from pgassay.analysis.claims import Mark
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.replication import Outcome, claim_again, replicated
from pgassay.analysis.verdicts import Kind
from pgassay.study.responses import Better, Response, Scale

TPS = Response("tps", "throughput", "1/s", Better.HIGHER)
HOT = Response("hot_share", "HOT", "share", Better.HIGHER, scale=Scale.DIFFERENCE)


def effect(estimate: float, low: float, high: float, scale: Scale = Scale.RATIO, refused: str = "") -> Effect:
    return Effect("b", "", "", "tps", scale, 8, estimate, low, high, 0.95, "planted", (), refused=refused)


@pytest.mark.parametrize(
    ("then", "now", "outcome"),
    [
        ((1.20, 1.15, 1.25, Kind.BETTER), (1.21, 1.17, 1.25, Kind.BETTER), Outcome.AGREE),
        ((1.20, 1.15, 1.25, Kind.BETTER), (1.50, 1.45, 1.55, Kind.BETTER), Outcome.DIFFER),
        ((1.20, 1.15, 1.25, Kind.BETTER), (0.90, 0.85, 0.95, Kind.WORSE), Outcome.DIFFER),
        ((1.20, 1.15, 1.25, Kind.BETTER), (1.18, 0.95, 1.46, Kind.UNRESOLVED), Outcome.UNRESOLVED),
        ((1.03, 1.01, 1.05, Kind.BETTER), (1.01, 0.99, 1.03, Kind.EQUIVALENT), Outcome.UNRESOLVED),
        ((1.00, 0.70, 1.40, Kind.UNRESOLVED), (1.00, 0.70, 1.40, Kind.UNRESOLVED), Outcome.UNRESOLVED),
        ((1.00, 0.99, 1.01, Kind.EQUIVALENT), (1.00, 0.99, 1.01, Kind.EQUIVALENT), Outcome.AGREE),
    ],
)
def test_outcomes(
    then: tuple[float, float, float, Kind], now: tuple[float, float, float, Kind], outcome: Outcome
) -> None:
    assert replicated(effect(*then[:3]), then[3], effect(*now[:3]), now[3]).outcome is outcome
    assert replicated(effect(*now[:3]), now[3], effect(*then[:3]), then[3]).outcome is outcome, "whichever was first"


def test_the_interval_adds_the_half_widths_in_squares() -> None:
    found = replicated(
        effect(1.0, exp(-0.3), exp(0.3)), Kind.BETTER, effect(exp(0.1), exp(-0.3), exp(0.5)), Kind.BETTER
    )
    assert (found.estimate, found.low, found.high) == pytest.approx((exp(0.1), exp(-0.4), exp(0.6)))
    other = replicated(
        effect(0.1, 0.0, 0.2, Scale.DIFFERENCE), Kind.BETTER, effect(0.3, 0.2, 0.4, Scale.DIFFERENCE), Kind.BETTER
    )
    half = sqrt(0.02)
    assert (other.estimate, other.low, other.high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    assert other.outcome is Outcome.DIFFER


@pytest.mark.parametrize("broken", [effect(nan, 0.0, inf), effect(1.0, 0.0, inf), effect(nan, nan, nan, refused="why"),
                                    effect(1.0, 0.0, 2.0)])  # fmt: skip
def test_without_an_interval_nothing_is_known(broken: Effect) -> None:
    for pair in ((broken, effect(1.2, 1.1, 1.3)), (effect(1.2, 1.1, 1.3), broken)):
        found = replicated(pair[0], Kind.BETTER, pair[1], Kind.BETTER)
        assert found.outcome is Outcome.UNRESOLVED
        assert isnan(found.low)
        assert found.why


def test_a_treatment_that_fails_again_agrees() -> None:
    whole, broken = effect(1.2, 1.1, 1.3), effect(nan, 0.0, inf)
    assert replicated(broken, Kind.FAILED, broken, Kind.FAILED).outcome is Outcome.AGREE
    assert replicated(broken, Kind.FAILED, whole, Kind.BETTER).outcome is Outcome.DIFFER


def test_claims() -> None:
    assert claim_again(Mark.REPRODUCED, Mark.REPRODUCED) is Outcome.AGREE
    assert claim_again(Mark.CONTRADICTED, Mark.CONTRADICTED) is Outcome.AGREE
    assert claim_again(Mark.REPRODUCED, Mark.CONTRADICTED) is Outcome.DIFFER
    assert claim_again(Mark.REPRODUCED, Mark.NOT_TESTABLE) is Outcome.UNRESOLVED


def simulated(chance: np.random.Generator, gain: float) -> Effect:
    """An effect of 8 blocks at 5 % noise beside a common part."""
    values = [
        Observation(
            block, name, "", "", float(1000 * (gain if name == "b" else 1) * exp(chance.normal(0, 0.05) + common))
        )
        for block, common in enumerate(chance.normal(0, 0.2, 8), start=1)
        for name in ("a", "b")
    ]
    (found,) = compare(values, TPS, "a", blocks_max=8, looks="once", primary=True)
    return found


def test_the_same_effect_is_rarely_said_to_differ_and_another_one_is_found() -> None:
    """1000 pairs with one truth: at most 5 % of the intervals exclude it (three standard errors allowed)."""
    chance = np.random.default_rng(7)
    pairs = [(simulated(chance, 1.2), simulated(chance, 1.2)) for _ in range(1000)]
    wrong = sum(
        replicated(first, Kind.BETTER, second, Kind.BETTER).outcome is Outcome.DIFFER for first, second in pairs
    )
    assert wrong <= 1000 * (0.05 + 3 * sqrt(0.05 * 0.95 / 1000))
    found = [replicated(simulated(chance, 1.0), Kind.BETTER, simulated(chance, 1.5), Kind.BETTER) for _ in range(20)]
    assert all(each.outcome is Outcome.DIFFER for each in found)
    assert replace(found[0], why="").scale is Scale.RATIO
