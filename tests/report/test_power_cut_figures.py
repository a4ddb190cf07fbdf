"""Figures of power cuts: what is drawn of a cut and of a page."""

from dataclasses import replace
from pathlib import Path

from pgassay.record.power_cuts import CutRecord
from pgassay.report.findings import Findings
from pgassay.report.power_cuts import arms, drawn_cuts, lsn, range_rows, request_rows, torn
from pgassay.study.levels import Arm
from tests.report.blocks import figures
from tests.report.cut_runs import LOST, SOUND, TORN, make_cuts


def test_a_page_is_drawn_range_by_range() -> None:
    """Its first sectors arrived; of all sectors the first and the last differ between old and new."""
    found = [(row["bytes"], row["holds"]) for row in range_rows(TORN)]
    assert found == [
        ("0 to 511", "as written"),
        ("512 to 7679", "the same in both"),
        ("7680 to 8191", "as before the write"),
    ]
    assert {row["after the cut"] for row in range_rows(TORN)} == {TORN.detail}
    assert (lsn(1 << 32), lsn(255)) == ("1/0", "0/FF")


def test_a_cut_is_drawn_request_by_request_from_the_flush_to_the_cut() -> None:
    found = [*request_rows(SOUND)]
    assert [(row["first"], row["arrived"], row["KiB"], row["of KiB"]) for row in found[:2]] == [
        (-2, "in part", 4, 8),
        (-1, "reached the medium", 8, 8),
    ]
    assert [(row["first"], row["sign"]) for row in found[2:]] == [(-2, "flush"), (0, "cut, sound after it")]


def test_no_flush_is_drawn_before_requests_that_were_left_out() -> None:
    cut = replace(LOST, requests=300, strip=[[9, 2, 0]])
    signs = [row["sign"] for row in request_rows(cut) if row["kind"] == "sign"]
    assert signs == ["cut, damage after it"]


def test_of_each_treatment_the_first_damage_is_drawn_or_else_the_cut_with_most_writes(tmp_path: Path) -> None:
    sound = [SOUND, replace(SOUND, requests=5), replace(SOUND, strip=None, requests=9)]

    def plan(arm: Arm) -> list[CutRecord]:
        return [*sound, TORN, LOST] if arm.levels["server.fsync"].typed == "on" else sound

    damaged, _, unhurt, *_ = arms(Findings(make_cuts(tmp_path / "run", plan)))
    assert [(place, cut.verdict) for place, cut in drawn_cuts(damaged)] == [(4, "damaged_page")]
    assert [(place, cut.verdict) for place, cut in torn(damaged)] == [(4, "damaged_page")]
    assert [(place, cut.requests) for place, cut in drawn_cuts(unhurt)] == [(2, 5)]
    assert [place for place, _ in torn(unhurt)] == [1]


def test_the_page_draws_them_and_recovery_where_its_wal_is_known(tmp_path: Path) -> None:
    run = make_cuts(tmp_path / "run")
    drawn = {each.name for each in figures(Findings(run))}
    assert {"cut-writes", "torn-page"} <= drawn
    assert "cut-recovery" not in drawn
    known = make_cuts(tmp_path / "known", lambda arm: [replace(SOUND, redo_bytes=each * 2.0**20) for each in (1, 2)])
    (recovery,) = (each for each in figures(Findings(known)) if each.name == "cut-recovery")
    assert recovery.title == "What recovery takes"
