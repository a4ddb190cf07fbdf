"""Verdicts by arm, as the schedule gets them."""

import numpy as np

from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind
from pgassay.design.stopping import effects_of, verdicts_of
from pgassay.study.responses import Better, Response, Scale

from ._make import study

TPS = Response("tps", "tps", "1/s", Better.HIGHER)


def observed(ratios: dict[str, float], blocks: int, cv: float, covariates: int = 1) -> list[Observation]:
    rng = np.random.default_rng(2)
    points = [f"x={point}" for point in range(covariates)] if covariates > 1 else [""]
    return [
        Observation(block, name, "", point, 100 * ratio * float(np.exp(rng.normal(0, cv))))
        for block in range(1, blocks + 1)
        for name, ratio in ratios.items()
        for point in points
    ]


def test_each_arm_has_its_verdict_by_label() -> None:
    found = verdicts_of(study(3), TPS, observed({"f=0": 1.0, "f=1": 1.3, "f=2": 1.0}, 6, 0.03))
    assert set(found) == {"f=1", "f=2"}
    assert found["f=1"].kind is Kind.BETTER
    assert not found["f=2"].settled


def test_all_arms_of_the_study_share_the_error_even_before_they_ran() -> None:
    effects = effects_of(study(4), TPS, observed({"f=0": 1.0, "f=1": 1.3}, 6, 0.03))
    assert {effect.comparisons for effect in effects.values()} == {3}
    assert effects["f=3"].blocks == 0


def test_a_point_of_a_curve_without_any_valid_trial_is_not_known() -> None:
    share = Response("hot_share", "HOT share", "1", Better.HIGHER, Scale.DIFFERENCE)
    for response in (TPS, share):
        found = verdicts_of(study(1, covariates=2), response, [])
        assert {verdict.kind for verdict in found.values()} == {Kind.UNRESOLVED}


def test_a_curve_alone_is_settled_by_precision() -> None:
    asked = study(1, covariates=2)
    quiet = verdicts_of(asked, TPS, observed({"f=0": 1.0}, 8, 0.002, covariates=2))
    loud = verdicts_of(asked, TPS, observed({"f=0": 1.0}, 8, 0.2, covariates=2))
    assert set(quiet) == set(loud) == {"f=0, x=0", "f=0, x=1"}
    assert all(verdict.settled for verdict in quiet.values())
    assert not any(verdict.settled for verdict in loud.values())
    assert all("more block" in verdict.text for verdict in loud.values())
