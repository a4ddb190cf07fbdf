"""Each factor against its own baseline with the others held, and what its speed moved with."""

from pathlib import Path

import pytest

from pgassay.report.factors import SECTION, compared, pairs
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables
from tests.report.driven import make_driven

UPDATES = "load.scenario=oltp_update_non_index, load.threads=4"
DELETES = "load.scenario=oltp_delete, load.threads=4"


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_driven(tmp_path_factory.mktemp("driven") / "run"))


def test_every_pair_differs_in_one_factor_only(driven: Findings) -> None:
    assert {each.name for each in pairs(driven.study)} == {
        "csd against ssd at table.fillfactor=100", "csd against ssd at table.fillfactor=75",
        "75 against 100 at drive.data=ssd", "75 against 100 at drive.data=csd",
    }  # fmt: skip


def test_one_factor_has_nothing_to_hold(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert pairs(findings.study) == ()
    assert tables(SECTION, findings) == []


def test_the_planted_effects_are_found_with_intervals(driven: Findings) -> None:
    found = {
        (each.pair.name, each.condition, effect.response): effect
        for each in compared(driven)
        for effect in each.effects
    }
    ssd = found["75 against 100 at drive.data=ssd", UPDATES, "physical_bytes"]
    csd = found["75 against 100 at drive.data=csd", UPDATES, "physical_bytes"]
    assert ssd.low < 1.2 < ssd.high
    assert csd.high < 1.05 < ssd.low, "much on the one drive, little on the other"
    amplified = found["csd against ssd at table.fillfactor=75", UPDATES, "write_amplification"]
    assert amplified.low < 0.4 < amplified.high


def test_speed_is_compared_within_a_drive_only(driven: Findings) -> None:
    (between,) = (table for table in tables(SECTION, driven) if table.title == f"drive.data alone: {UPDATES}")
    row = next(row for row in between.rows if row[0] == "queries per second")
    assert row[1:] == ("–", "–")


def test_the_gain_is_told_with_hot_and_wal_and_its_absence_without(driven: Findings) -> None:
    told = {(each.pair.name, each.condition): each.sentence for each in compared(driven)}
    gain = told["75 against 100 at drive.data=ssd", UPDATES]
    assert "with share of updates that were HOT" in gain
    assert "WAL, per transaction 37.5 % lower" in gain
    assert "[+" in gain, "the gain has its interval"
    none = told["75 against 100 at drive.data=csd", DELETES]
    assert "cannot be distinguished from the baseline's" in none
    assert "no row was updated, so no update could be HOT" in none
    assert not told["csd against ssd at table.fillfactor=75", UPDATES]


def test_json_holds_the_same(driven: Findings) -> None:
    rows = plain(driven)["one_factor"]
    assert len(rows) == 8
    assert {row["factor"] for row in rows} == {"drive.data", "table.fillfactor"}
