"""Claims on two responses of a trial and on two conditions: planted ratios are found, arms without partners named."""

import random
from dataclasses import replace
from math import exp
from typing import Any

import pytest

from pgassay.analysis.claims import Mark, is_paired, judge, paired_effect, sides, weakest
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.study.model import Claim, Study
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Better, Response, Scale

WAL = Response("wal_wa", "write amplification of the WAL", "ratio", Better.LOWER)
NOISE = [0.004, -0.003, 0.002, -0.004, 0.001, 0.0, -0.002]
STUDY: dict[str, Any] = {
    "study": {"format": 1},
    "factors": {"server.full_page_writes": ["on", "off"]},
    "conditions": {"load.scenario": ["a", "b"]},
    "covariates": {"load.threads": ["1", "32"]},
    "fixed": {"drive.data": "csd"},
}
THREADS = {"1": 3.0, "32": 1.0}
IMAGES = {"on": 1.0, "off": 1.5}


@pytest.fixture
def study() -> Study:
    return parse_recorded("paired", STUDY)


def claim(treatment: dict[str, str], against: dict[str, str], per: str = "", **bounds: float) -> Claim:
    return Claim("a finding", "a paper", "wal_wa", treatment, against, **bounds, per=per)  # type: ignore[arg-type]


def seen(study: Study, *, of_wal: bool) -> list[Observation]:
    """The data's write amplification moves from block to block, the WAL's with it and with threads and images."""
    found = []
    for block, noise in enumerate(NOISE, 1):
        for arm in study.arms:
            level = {name: each.typed for name, each in arm.levels.items()}
            data = exp(3.0 * noise * block)
            wal = 0.5 * data * THREADS[level["load.threads"]] * IMAGES[level["server.full_page_writes"]] * exp(noise)
            found.append(Observation(block, *arm.place, wal if of_wal else data))
    return found


def effect(study: Study, asked: Claim) -> Effect:
    found = sides(asked, study)
    assert found is not None
    divisors = seen(study, of_wal=False) if asked.per else None
    return paired_effect(asked, found, WAL, seen(study, of_wal=True), divisors, blocks_max=10, looks="every block")


@pytest.mark.parametrize(
    ("asked", "ratio"),
    [
        (claim({"server.full_page_writes": "on", "load.threads": "32"}, {}, "data_wa"), 0.5),
        (claim({"server.full_page_writes": "off", "load.threads": "1"}, {}, "data_wa"), 2.25),
        (claim({"server.full_page_writes": "off"}, {"server.full_page_writes": "on"}, "data_wa"), 1.5),
        (claim({"server.full_page_writes": "off", "load.threads": "1"}, {"load.threads": "32"}, "data_wa"), 3.0),
        (claim({"load.threads": "32"}, {"load.threads": "1"}), 1 / 3),
    ],
)
def test_a_planted_ratio_is_found(study: Study, asked: Claim, ratio: float) -> None:
    assert is_paired(asked, study)
    found = effect(study, asked)
    assert found.blocks == len(NOISE)
    assert found.estimate == pytest.approx(ratio, rel=0.01)
    assert found.low <= ratio <= found.high


def test_the_mark_goes_by_the_interval(study: Study) -> None:
    asked = claim({"load.threads": "32"}, {"load.threads": "1"}, high=1.0)
    assert judge(asked, effect(study, asked)).mark is Mark.REPRODUCED
    asked = claim({"load.threads": "32"}, {"load.threads": "1"}, low=1.0)
    assert judge(asked, effect(study, asked)).mark is Mark.CONTRADICTED


def test_the_partner_differs_in_the_levels_of_against_alone(study: Study) -> None:
    found = sides(claim({"load.scenario": "b", "load.threads": "32"}, {"load.threads": "1"}), study)
    assert found is not None
    assert found.mine.name == "server.full_page_writes=on, load.scenario=b, load.threads=32"
    assert found.theirs.name == "server.full_page_writes=on, load.scenario=b, load.threads=1"


@pytest.mark.parametrize("against", [{"load.threads": "64"}, {"load.threads": "1", "drive.data": "ssd"}])
def test_without_a_partner_there_are_no_sides(study: Study, against: dict[str, str]) -> None:
    assert sides(claim({"load.threads": "32"}, against), study) is None


def test_two_treatments_of_one_response_are_no_pair(study: Study) -> None:
    asked = claim({"server.full_page_writes": "off"}, {"server.full_page_writes": "on"})
    assert not is_paired(asked, study)


def test_a_trial_without_its_divisor_is_left_out_by_name(study: Study) -> None:
    asked = claim({"load.threads": "32"}, {"load.threads": "1"}, "data_wa")
    found = sides(asked, study)
    assert found is not None
    divisors = [each._replace(value=0.0 if each.block == 3 else each.value) for each in seen(study, of_wal=False)]
    effect = paired_effect(asked, found, WAL, seen(study, of_wal=True), divisors, blocks_max=10, looks="every block")
    assert effect.blocks == len(NOISE) - 1
    assert any("3" in each for each in effect.left_out)
    assert effect.scale is Scale.RATIO


IMAGES_OFF, IMAGES_ON = {"server.full_page_writes": "off"}, {"server.full_page_writes": "on"}
MANY, ONE = {"load.threads": "32"}, {"load.threads": "1"}
LESS = 0.8
"""What switching images off does more at many threads than at one."""


def interacting(study: Study, *, at: str = "32") -> list[Observation]:
    """Each trial has noise of its own beside that of its block."""
    found = []
    chance = random.Random("interacting")
    for each, arm in zip(seen(study, of_wal=True), [*study.arms] * len(NOISE), strict=True):
        levels = {name: level.typed for name, level in arm.levels.items()}
        more = LESS if (levels["server.full_page_writes"], levels["load.threads"]) == ("off", at) else 1.0
        found.append(each._replace(value=more * exp(chance.gauss(0.0, 0.003)) * (each.value or 0.0)))
    return found


def against_a_change(study: Study, values: list[Observation], response: Response = WAL, **bounds: float) -> Effect:
    asked = replace(claim({**IMAGES_OFF, **MANY}, IMAGES_ON, "", **bounds), than=(ONE,))
    found = sides(asked, study)
    assert found is not None
    (than,) = found.than
    return paired_effect(asked, found, response, values, None, blocks_max=10, looks="every block", than=than)


def test_a_change_against_the_same_change_elsewhere_is_found(study: Study) -> None:
    assert is_paired(replace(claim(IMAGES_OFF, IMAGES_ON), than=(ONE,)), study)
    found = against_a_change(study, interacting(study))
    assert found.blocks == len(NOISE)
    assert found.estimate == pytest.approx(LESS, rel=0.01)
    assert found.low <= LESS <= found.high
    assert found.place.name == "server.full_page_writes=off, load.scenario=a, load.threads=32"


@pytest.mark.parametrize(
    ("bounds", "mark"),
    [({"high": 1.0}, Mark.REPRODUCED), ({"low": 1.0}, Mark.CONTRADICTED), ({"low": LESS}, Mark.NOT_TESTABLE)],
)
def test_the_mark_of_a_ratio_of_ratios_goes_by_its_one_interval(
    study: Study, bounds: dict[str, float], mark: Mark
) -> None:
    asked = replace(claim({**IMAGES_OFF, **MANY}, IMAGES_ON, "", **bounds), than=(ONE,))
    assert judge(asked, against_a_change(study, interacting(study))).mark is mark


def test_differences_are_held_against_each_other_by_subtraction(study: Study) -> None:
    shares = Response("hot_share", "HOT", "share", Better.HIGHER, Scale.DIFFERENCE)
    values = [each._replace(value=-0.1 if each.treatment.endswith("off") else 0.0) for each in seen(study, of_wal=True)]
    values = [
        each._replace(value=(each.value or 0.0) - 0.2)
        if each.treatment.endswith("off") and each.covariate.endswith("32")
        else each
        for each in values
    ]
    found = against_a_change(study, values, shares)
    assert found.estimate == pytest.approx(-0.2)
    assert found.scale is Scale.DIFFERENCE


def test_a_block_without_one_of_the_four_trials_is_left_out_by_name(study: Study) -> None:
    values = [
        each
        for each in interacting(study)
        if not (each.block == 2 and each.treatment.endswith("on") and each.covariate.endswith("=1"))
    ]
    found = against_a_change(study, values)
    assert found.blocks == len(NOISE) - 1
    assert any("2" in each for each in found.left_out)


def test_the_levels_of_than_are_in_place_of_both_sides_own(study: Study) -> None:
    asked = replace(claim({**IMAGES_OFF, **MANY}, {**IMAGES_ON, **MANY}), than=(ONE, {"load.scenario": "b"}))
    found = sides(asked, study)
    assert found is not None
    names = [(each.mine.name, each.theirs.name) for each in (found, *found.than)]
    rest = ["load.scenario=a, load.threads=32", "load.scenario=a, load.threads=1", "load.scenario=b, load.threads=32"]
    assert names == [(f"server.full_page_writes=off, {each}", f"server.full_page_writes=on, {each}") for each in rest]
    assert sides(replace(asked, than=(ONE, {"load.threads": "64"})), study) is None


def test_of_several_the_weakest_comparison_is_the_mark(study: Study) -> None:
    asked = replace(claim({**IMAGES_OFF, **MANY}, IMAGES_ON, high=1.0), than=(ONE, {"load.scenario": "b"}))
    found = sides(asked, study)
    assert found is not None
    marks = []
    for than in found.than:
        effect = paired_effect(
            asked, found, WAL, interacting(study), None, blocks_max=10, looks="every block", than=than
        )
        assert effect.comparisons == 2
        marks.append((judge(asked, effect), effect))
    assert [each.mark for each, _ in marks] == [Mark.REPRODUCED, Mark.NOT_TESTABLE], "the same in both scenarios"
    told = weakest(asked, marks)
    assert told.mark is Mark.NOT_TESTABLE
    assert told.text.endswith("; the weakest of 2, against load.scenario=b")
