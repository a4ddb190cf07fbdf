"""`design.precision`: a treatment with a verdict stays until its interval is narrow, unless others need its time."""

from collections.abc import Mapping
from dataclasses import replace
from math import log

import numpy as np
import pytest

from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.design.schedule import History
from pgassay.design.stopping import effects_of, verdicts_of
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response

from ._make import play, study

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)


def asked(precision: float | None, treatments: int = 2, budget_s: float | None = None) -> Study:
    plain = study(treatments, blocks_max=20, budget_s=budget_s)
    return replace(plain, design=replace(plain.design, precision=precision))


def seen(cv: float, blocks: int, times: float = 2.0) -> list[Observation]:
    """f=1 is so many times as fast as f=0, give or take `cv`."""
    noise = np.random.default_rng(7)
    return [
        Observation(block, arm, "", "", value * float(np.exp(noise.normal(0.0, cv))))
        for block in range(1, blocks + 1)
        for arm, value in (("f=0", 1000.0), ("f=1", 1000.0 * times))
    ]


@pytest.mark.parametrize(("precision", "precise"), [(None, True), (0.001, False), (0.5, True)])
def test_a_verdict_is_precise_when_its_interval_is_as_narrow_as_asked(precision: float | None, precise: bool) -> None:
    found = verdicts_of(asked(precision), TPS, seen(0.02, 6))["f=1"]
    assert (found.kind, found.settled, found.precise) == (Kind.BETTER, True, precise)


def test_the_width_is_half_the_interval_on_the_logarithmic_scale() -> None:
    observations = seen(0.02, 6)
    effect = effects_of(asked(None), TPS, observations)["f=1"]
    half = log(effect.high / effect.low) / 2
    just = float(np.expm1(half))
    assert verdicts_of(asked(just * 1.001), TPS, observations)["f=1"].precise
    assert not verdicts_of(asked(just * 0.999), TPS, observations)["f=1"].precise


@pytest.mark.parametrize(("precision", "precise"), [(0.000001, False), (0.02, True)])
def test_that_there_is_no_difference_has_an_interval_too(precision: float, precise: bool) -> None:
    found = verdicts_of(asked(precision), TPS, seen(0.001, 6, times=1.0))["f=1"]
    assert (found.kind, found.precise) == (Kind.EQUIVALENT, precise)


def decided(**arms: bool) -> Mapping[str, Verdict]:
    """Arms that are better, precisely or not."""
    return {arm.replace("_", "="): Verdict(Kind.BETTER, "better", precise=precise) for arm, precise in arms.items()}


def test_a_run_goes_on_after_a_verdict_until_it_is_precise() -> None:
    def verdicts(history: History) -> Mapping[str, Verdict]:
        return decided(f_1=history.block >= 9)

    history, *_, stop = play(asked(0.04), verdicts=verdicts)
    assert history.block == 9
    assert stop is not None
    assert stop.reason == "every verdict is settled"


def test_the_budget_ends_what_never_gets_precise() -> None:
    history, *_, stop = play(asked(0.04, budget_s=30.0), verdicts=lambda _: decided(f_1=False))
    assert history.block == 15, "two trials of a second each, 30 s"
    assert stop is not None
    assert "budget" in stop.reason


def test_a_decided_treatment_makes_room_for_one_that_has_no_verdict_yet() -> None:
    """Three arms of a second each and ten blocks still needed by one: 30 s are left of 45 s, then there are fewer."""

    def verdicts(history: History) -> Mapping[str, Verdict]:
        still = Verdict(Kind.UNRESOLVED, "unresolved", 10 if history.block == 5 else 15 - history.block)
        return {**decided(f_1=False), "f=2": still}

    wide, *_ = play(asked(0.04, 3, budget_s=45.0), verdicts=verdicts)
    assert not wide.drops, "there is time for both"
    tight, _, drops, _ = play(asked(0.04, 3, budget_s=44.0), verdicts=verdicts)
    assert [drop.arm.name for drop in drops] == ["f=1"]
    assert tight.block > 5
