"""Marks: an interval that holds both answers gives neither."""

from dataclasses import replace
from math import exp

import pytest

from pgassay.analysis.claims import (
    Mark,
    by_role,
    effect_of,
    instances,
    judge,
    missing_levels,
    needed_parts,
    treatment_of,
    undeclared,
)
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.study.model import Claim, Study
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Better, Response, Scale

from ._make import TPS, columns

STEPS = [-0.01, 0.01, 0.004, -0.004, 0.0, 0.006, -0.006]


def effect(ratio: float, noise: float = 1.0, blocks: int = 7) -> Effect:
    values = [100.0 * ratio * exp(noise * step) for step in STEPS[:blocks]]
    seen = columns({"table.fillfactor=100": [100.0] * blocks, "table.fillfactor=75": values})
    (found,) = compare(seen, TPS, "table.fillfactor=100", blocks_max=30, primary=True)
    return found


def claim(low: float | None = 1.05, high: float | None = None, untestable: str = "") -> Claim:
    return Claim("75 is faster", "a paper", "tps", {"table.fillfactor": "75"}, {"table.fillfactor": "100"}, low, high,
                 untestable=untestable)  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "low", "high", "mark"),
    [
        (1.2, 1.05, None, Mark.REPRODUCED),
        (1.2, 1.05, 1.5, Mark.REPRODUCED),
        (1.0, 1.05, None, Mark.CONTRADICTED),
        (1.2, None, 1.05, Mark.CONTRADICTED),
        (1.05, 1.05, None, Mark.NOT_TESTABLE),
    ],
)
def test_marks(ratio: float, low: float | None, high: float | None, mark: Mark) -> None:
    found = judge(claim(low, high), effect(ratio))
    assert found.mark is mark
    assert found.text.startswith(mark.value)


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (1.1, 1.35, "inside 1.10–1.35"),
        (1.1, None, "inside 1.10 or more"),
        (None, 1.35, "inside 1.35 or less"),
        (1.3, 1.5, "outside 1.30–1.50"),
    ],
)
def test_the_band_is_printed_beside_the_mark(low: float | None, high: float | None, says: str) -> None:
    assert judge(claim(low, high), effect(1.2)).text.endswith(f"], {says}")


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (0.0, None, "inside 0 points or more"),
        (0.05, 0.5, "inside 5–50 points"),
        (None, 0.1, "outside 10 points or less"),
    ],
)
def test_a_difference_of_shares_is_in_points_as_everywhere(low: float | None, high: float | None, says: str) -> None:
    """One page had "74.1 percentage points higher" and "here +0.741 [+0.647, +0.835], inside 0.00 or more"."""
    hot = Response("hot_share", "HOT", "share", Better.HIGHER, Scale.DIFFERENCE)
    seen = columns({"table.fillfactor=100": [0.5] * 7, "table.fillfactor=75": [0.7 + step / 100 for step in STEPS[:7]]})
    (found,) = compare(seen, hot, "table.fillfactor=100", blocks_max=30, primary=True)
    text = judge(claim(low, high), found, points=True).text
    assert ": here +20.0 points [+" in text
    assert text.endswith(f"], {says}")


def test_a_magnitude_that_the_interval_excludes_is_contradicted_though_the_direction_is_open() -> None:
    """Between -5 and +5 %: more or less than before is open, a third more it is not."""
    found = judge(replace(claim(1.17, 1.5), magnitude=1.33), effect(1.0, noise=3.0))
    assert found.mark is Mark.CONTRADICTED
    assert found.text.endswith("outside 1.17–1.50")


def test_a_magnitude_is_not_shown_by_a_band_that_holds_no_effect() -> None:
    found = judge(replace(claim(1.0, 1.5), magnitude=1.33), effect(1.2))
    assert found.mark is Mark.NOT_TESTABLE
    assert "its range includes no effect" in found.text


def test_a_wide_interval_says_how_many_blocks_more() -> None:
    found = judge(claim(), effect(1.07, noise=4.0))
    assert found.mark is Mark.NOT_TESTABLE
    assert found.more_blocks is not None
    assert f"about {found.more_blocks} more block" in found.text


def test_what_cannot_be_tested_says_why() -> None:
    assert "another drive" in judge(claim(untestable="needs another drive"), effect(2.0)).text
    assert judge(claim(), None).mark is Mark.NOT_TESTABLE
    assert "states no range" in judge(claim(None, None), effect(2.0)).text
    assert "needs 5" in judge(claim(), effect(2.0, blocks=4)).text


def test_the_effect_of_a_claim_holds_all_its_levels() -> None:
    assert effect_of(claim(), [effect(1.2)]) is not None
    other = Claim("x", "y", "tps", {"table.fillfactor": "7"}, {}, 1.0)
    assert effect_of(other, [effect(1.2)]) is None
    assert effect_of(Claim("x", "y", "latency_ms", {"table.fillfactor": "75"}, {}, 1.0), [effect(1.2)]) is None


CROSSED = {
    "study": {"format": 1},
    "factors": {"table.fillfactor": [100, 75], "drive.data": ["ssd", "csd"]},
    "conditions": {"load.threads": [1, 4]},
    "fixed": {"drive.timing": "off"},
}


def test_levels_that_a_study_holds_are_no_part_of_its_labels() -> None:
    study = parse_recorded("crossed", CROSSED)
    held = {"drive.timing": "off", "table.fillfactor": "75"}
    assert needed_parts(held, study) == {"table.fillfactor=75"}
    assert needed_parts({"drive.timing": "on"}, study) == {"drive.timing=on"}, "held, but otherwise"
    found = effect_of(Claim("x", "y", "tps", held, {}, 1.0), [effect(1.2)], needed_parts(held, study))
    assert found is not None


def test_a_treatment_under_a_name_is_found_by_its_levels() -> None:
    """Claims of a study with names of its own were said to have no valid trial."""
    study = parse_recorded("named", {**CROSSED, "study": {"format": 1, "called": ["a", "b", "c", "d"]}})
    ours = {"table.fillfactor": "75", "drive.data": "csd"}
    assert needed_parts({**ours, "load.threads": "4"}, study) == {"d", "load.threads=4"}
    assert needed_parts({"load.threads": "4"}, study) == {"load.threads=4"}
    assert needed_parts({"drive.data": "csd"}, study) == {"drive.data=csd"}, "of two treatments: neither is meant"
    assert treatment_of(ours, study) == "d"


def test_the_treatment_of_levels_is_found_in_any_order() -> None:
    study = parse_recorded("crossed", CROSSED)
    levels = {"drive.data": "csd", "table.fillfactor": "100", "drive.timing": "off"}
    assert treatment_of(levels, study) == "table.fillfactor=100, drive.data=csd"
    assert treatment_of({"table.fillfactor": "100"}, study) is None, "of two drives"
    assert treatment_of({**levels, "drive.timing": "on"}, study) is None


def test_levels_that_a_study_does_not_have_are_missing() -> None:
    study = parse_recorded("crossed", CROSSED)
    there = {"drive.data": "csd", "load.threads": "4", "drive.timing": "off"}
    assert missing_levels(Claim("x", "y", "tps", there, {"table.fillfactor": "100"}), study) == ()
    absent = {"table.fillfactor": "50", "drive.timing": "on"}
    assert missing_levels(Claim("x", "y", "tps", absent, absent), study) == ("table.fillfactor=50", "drive.timing=on")


def on_drives(*drives: str, claimed: dict[str, str], against: dict[str, str]) -> tuple[Claim, Study]:
    study = parse_recorded("s", {"factors": {"drive.data": list(drives), "table.fillfactor": [100, 75]}})
    return Claim("less flash", "a paper", "tps", claimed, against, high=1.0), study


CSD, SSD = {"drive.data": "csd", "table.fillfactor": "75"}, {"drive.data": "ssd", "table.fillfactor": "75"}


def test_claims_go_by_what_a_drive_is() -> None:
    normal, compressing = "normal=device:/dev/a", "compressing=device:/dev/b"
    about, study = on_drives(normal, compressing, claimed=CSD, against=SSD)
    (found,) = by_role(about, study)
    assert (found.treatment["drive.data"], found.against["drive.data"]) == (compressing, normal)
    assert (found.text, missing_levels(found, study)) == ("less flash", ())
    assert treatment_of(found.against, study) == f"drive.data={normal}, table.fillfactor=75"


def test_several_drives_in_a_role_are_judged_one_by_one() -> None:
    about, study = on_drives("csd", "compressing=device:/dev/b", "ssd", claimed=CSD, against=SSD)
    found = by_role(about, study)
    assert [each.treatment["drive.data"] for each in found] == ["csd", "compressing=device:/dev/b"]
    assert [each.against["drive.data"] for each in found] == ["ssd", "ssd"]
    assert found[1].text == "less flash (drive.data=compressing=device:/dev/b, drive.data=ssd)"


def test_a_drive_of_which_nobody_said_what_it_is_takes_no_role() -> None:
    about, study = on_drives("csd", "device:/dev/b", claimed=CSD, against=SSD)
    assert by_role(about, study) == (about,)
    assert undeclared(about, study) == ("device:/dev/b",)
    assert missing_levels(about, study) == ("drive.data=ssd",)
    other = replace(about, treatment={"table.fillfactor": "75"}, against={})
    assert undeclared(other, study) == ()


def test_a_described_drive_is_asked_for_its_role_and_takes_it() -> None:
    about, study = on_drives("ssd", "mine.toml", claimed=CSD, against=SSD)
    assert undeclared(about, study) == ("mine.toml",)
    about, study = on_drives("ssd", "compressing=mine.toml", claimed=CSD, against=SSD)
    (found,) = by_role(about, study)
    assert found.treatment["drive.data"] == "compressing=mine.toml"
    assert (undeclared(about, study), missing_levels(found, study)) == ((), ())


def test_than_goes_by_what_a_drive_is_as_well_and_its_levels_may_be_missing() -> None:
    normal, compressing = "normal=device:/dev/a", "compressing=device:/dev/b"
    about, study = on_drives(normal, compressing, claimed=CSD, against={"table.fillfactor": "100"})
    (found,) = by_role(replace(about, than=({"drive.data": "ssd"},)), study)
    assert found.than == ({"drive.data": normal},)
    assert missing_levels(found, study) == ()
    other = replace(found, than=({"load.threads": "4"}, {"drive.data": normal}))
    assert missing_levels(other, study) == ("load.threads=4",)


def test_a_claim_of_each_level_is_one_claim_a_level() -> None:
    study = parse_recorded("crossed", CROSSED)
    about = Claim("less", "a paper", "tps", CSD, SSD, high=1.0, each="load.threads")
    found = instances(about, study)
    assert [(each.text, each.treatment["load.threads"]) for each in found] == [
        ("less (load.threads=1)", "1"), ("less (load.threads=4)", "4"),
    ]  # fmt: skip
    assert instances(replace(about, each="drive.timing"), study) == (replace(about, each="drive.timing"),), "held"
    assert len(instances(replace(about, each="load.rows"), study)) == 1
