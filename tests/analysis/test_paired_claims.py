"""Claims on two responses of a trial and on two conditions: planted ratios are found, arms without partners named."""

from math import exp
from typing import Any

import pytest

from pgassay.analysis.claims import Mark, judge
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.paired_claims import is_paired, paired_effect, sides
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
