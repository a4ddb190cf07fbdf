"""Speed is not compared between emulated drives without service times; everything else is."""

from math import isnan

import pytest

from pgassay.analysis.claims import judge
from pgassay.analysis.compare import (
    ACCEPTABLE_ERROR,
    Errors,
    compare,
    is_speed,
    refusal_by_errors,
    refusal_by_levels,
    without_refused,
)
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import explain
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.study.levels import Combination, Level, Place
from pgassay.study.model import Claim, Design, Study
from pgassay.study.responses import Better, Response, Scale

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
NAND = Response("nand_bytes_per_transaction", "NAND", "bytes", Better.LOWER, cost=True)


def levels(**each: str) -> dict[str, Level]:
    return {name.replace("_", "."): Level(value, value) for name, value in each.items()}


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        (levels(drive_data="ssd"), levels(drive_data="csd"), True),
        (levels(drive_data="image"), levels(drive_data="csd"), True),
        (levels(drive_data="image"), levels(drive_data="directory"), False),
        (levels(drive_data="csd"), levels(drive_data="csd"), False),
        (levels(drive_data="csd", drive_data_codec="lz4"), levels(drive_data="csd"), True),
        (levels(drive_data="image", drive_wal="/x.toml"), levels(drive_data="image"), True),
        (levels(drive_data="csd", drive_timing="on"), levels(drive_data="ssd", drive_timing="on"), False),
        (levels(drive_data="csd", drive_timing="off"), levels(drive_data="ssd", drive_timing="on"), True),
        (levels(drive_data="ssd", drive_timing="sata-ssd"), levels(drive_data="ssd", drive_timing="hdd-7200"), False),
        (levels(drive_data="image"), levels(drive_data="ssd", drive_timing="on"), True),
        (
            levels(drive_data="csd", drive_timing="on", drive_dilation="4"),
            levels(drive_data="ssd", drive_timing="on", drive_dilation="4"),
            False,
        ),
        (
            levels(drive_data="csd", drive_timing="on", drive_dilation="4"),
            levels(drive_data="csd", drive_timing="on"),
            True,
        ),
        (levels(drive_data="ssd", drive_timing="on", x="1"), levels(drive_data="ssd", drive_timing="on"), False),
        (levels(table_fillfactor="75"), levels(table_fillfactor="100"), False),
    ],
)
def test_which_pairs_are_refused(one: dict[str, Level], other: dict[str, Level], refused: bool) -> None:
    assert bool(refusal_by_levels(one, other)) is refused
    assert bool(refusal_by_levels(other, one)) is refused


def screened_effect(response: Response, timing: str = "off", errors: Errors | None = None) -> Effect:
    drives = {"drive.data": (Level("ssd", "ssd"), Level("csd", "csd"))}
    treatments = tuple(Combination({"drive.data": level}) for level in drives["drive.data"])
    fixed = {"drive.timing": Level(timing, timing)}
    study = Study("s", "", "", drives, treatments, Design(treatments[0]), response.name, fixed=fixed)
    seen = [
        Observation(block, treatment.name, "", "", 100.0 * (2 if treatment is treatments[1] else 1) + block % 3)
        for block in range(8)
        for treatment in treatments
    ]
    effects = compare(seen, response, treatments[0].name, blocks_max=8, primary=True)
    (effect,) = without_refused(effects, study, response, treatments[0].name, errors)
    return effect


def judged(response: Response, timing: str = "off", errors: Errors | None = None) -> tuple[Kind, str, bool]:
    effect = screened_effect(response, timing, errors)
    found = verdict(effect, response, resolution=0.02, blocks_max=8)
    return found.kind, found.text, isnan(effect.estimate)


def test_a_refused_speed_has_no_value_and_says_why() -> None:
    kind, text, empty = judged(TPS)
    assert kind is Kind.NOT_COMPARED
    assert text.startswith("not compared: timing is off")
    assert empty


def test_why_says_that_it_was_refused_and_what_the_costs_tell() -> None:
    told = explain(screened_effect(TPS), [screened_effect(NAND)], (TPS, NAND))
    assert "transactions per second was not compared: timing is off" in told.text
    assert "which can be compared: NAND" in told.text
    assert "yet" not in told.text
    assert explain(screened_effect(TPS), (), (TPS, NAND)).text.endswith("use of the CPU")


def test_a_claim_on_a_refused_speed_is_not_testable_for_that_reason() -> None:
    claim = Claim("faster", "", "tps", {}, {}, low=1.0)
    assert "not compared: timing is off" in judge(claim, screened_effect(TPS)).text


def errors_of(ssd: float | None, csd: float | None) -> Errors:
    return {Place("drive.data=ssd"): ssd, Place("drive.data=csd"): csd}


def test_speeds_are_compared_once_both_drives_kept_to_their_service_times() -> None:
    kind, text, empty = judged(TPS, "tlc-nvme", errors_of(0.02, ACCEPTABLE_ERROR))
    assert (kind, empty) == (Kind.BETTER, False), text
    assert judged(TPS, "tlc-nvme")[0] is Kind.BETTER, "the schedule goes by levels alone"


@pytest.mark.parametrize(
    ("errors", "says"),
    [
        (errors_of(0.02, 0.35), "answered 35 % later"),
        (errors_of(0.35, 0.0), "answered 35 % later"),
        (errors_of(None, 0.0), "was not measured"),
        ({}, "was not measured"),
    ],
)
def test_drives_that_were_late_or_unmeasured_are_not_compared(errors: Errors, says: str) -> None:
    kind, text, empty = judged(TPS, "tlc-nvme", errors)
    assert (kind, empty) == (Kind.NOT_COMPARED, True)
    assert says in text
    assert judged(NAND, "tlc-nvme", errors)[0] is Kind.WORSE, "costs are"


def test_doubt_is_about_the_worse_of_two() -> None:
    assert refusal_by_errors([0.0, ACCEPTABLE_ERROR]) == ""
    assert "11 % later" in refusal_by_errors([0.0, 0.11])


def test_a_cost_of_the_same_drives_is_compared() -> None:
    assert judged(NAND)[0] is Kind.WORSE
    assert Scale.RATIO is NAND.scale


@pytest.mark.parametrize(
    ("unit", "name", "speed"),
    [("1/s", "tps", True), ("1/min", "new_orders_per_minute", True), ("bytes", "read_bytes_per_s", True),
     ("ms", "latency_ms", True), ("bytes", "table_bytes", False), ("share", "failed_share", False)],
)  # fmt: skip
def test_rates_and_times_are_speeds_whatever_their_unit(unit: str, name: str, speed: bool) -> None:
    assert is_speed(Response(name, "", unit, Better.HIGHER)) is speed
    assert not is_speed(Response(name, "", unit, Better.HIGHER, cost=True))
