"""Every built-in study, in every size, names only factors and levels that this bench knows, and claims to be met."""

import re

import pytest

from pgassay.lab.catalogue import every_factor
from pgassay.probe.registry import Probes
from pgassay.study import builtin
from pgassay.study.document import SIZES, Overrides, read, resolve
from pgassay.study.model import Study
from pgassay.study.parsing import parse

SIZED = [(name, size) for name in builtin.names() for size in ("", *SIZES)]


def study_of(name: str, size: str) -> Study:
    document = read(name, builtin.find(name)[1])
    return parse(name, resolve(name, document, Overrides(size=size)), every_factor(), size=size)


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_it_parses_in_this_size(name: str, size: str) -> None:
    study = study_of(name, size)
    assert study.design.blocks_min >= 5, "no verdict comes from fewer"
    assert len(study.treatments) > 1 or study.covariates


@pytest.mark.parametrize("name", builtin.names())
def test_every_testable_claim_meets_an_arm_of_some_size(name: str) -> None:
    """A level misspelt in a claim would leave it untestable for ever, without a word; --set gives levels of others."""
    sizes = [study_of(name, size) for size in ("", *SIZES)]
    known = [set(arm.name.split(", ")) for study in sizes for arm in study.arms]
    varied = {factor for study in sizes for arm in study.arms for factor in arm.levels}
    for claim in sizes[0].claims:
        for levels in (claim.treatment, claim.against):
            settable = {factor: typed for factor, typed in levels.items() if factor not in varied}
            for factor, typed in settable.items():
                found = every_factor().find(factor)
                assert found is not None, (claim.text, factor)
                assert found.parse(factor, typed).typed == typed, claim.text
            parts = {f"{factor}={typed}" for factor, typed in levels.items() if factor not in settable}
            assert claim.untestable or any(parts <= arm for arm in known), (claim.text, levels)


@pytest.mark.parametrize("name", builtin.names())
def test_the_reasons_of_claims_name_responses_that_are_measured(name: str) -> None:
    study = study_of(name, "")
    known = {study.primary, *study.secondary, *(response.name for response in Probes().responses)}
    for claim in study.claims:
        assert set(re.findall(r"\{([a-z0-9_]+)\}", claim.otherwise)) <= known, claim.text


def test_page_and_wal_block_are_crossed_in_every_size_of_wal_block() -> None:
    for size in ("", *SIZES):
        study = study_of("wal-block", size)
        pages, blocks = (len(study.factors[f"build.{each}"]) for each in ("block_size", "wal_block_size"))
        assert len(study.treatments) == pages * blocks >= 4


def test_the_wide_study_has_narrow_and_wide_rows_in_and_out_of_line_inside_and_beyond_memory() -> None:
    study = study_of("page-size-wide", "")
    assert len(study.factors["build.block_size"]) == 6
    points = [{name: level.typed for name, level in arm.condition.levels.items()} for arm in study.arms]
    for script in ("simple-update", "select-only"):
        mine = [point for point in points if point["load.script"] == script]
        assert {(point["load.row_bytes"], point["host.memory"]) for point in mine} >= {("100", "all"), ("100", "256MB")}
        wide = {(point["load.row_bytes"], point["load.row_storage"]) for point in mine}
        assert wide >= {(width, storage) for width in ("1000", "4000") for storage in ("plain", "toasted")}
