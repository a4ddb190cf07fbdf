"""Emulated service times in a report: the worst error of a place, the label on speeds, what is said of late drives."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.verdicts import Kind
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import drives
from pgassay.report.findings import Findings
from pgassay.report.headline import label
from pgassay.report.regimes import regimes_of
from pgassay.study.levels import Level
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run
from tests.report.blocks import tables


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    return Findings(make_run(tmp_path / "run"))


def timed(trial: TrialRecord, error: float | None) -> TrialRecord:
    """The trial on an emulated drive that answered so much too late."""
    levels = {"drive.data": LevelRecord("ssd", "ssd"), "drive.timing": LevelRecord("sata-ssd", "sata-ssd")}
    measured = {"service_time_error": error, "asked_service_us": 90.0, "late_answers": 0.25}
    return replace(trial, levels={**trial.levels, **levels}, responses={**trial.responses, **measured})


def test_a_place_is_as_good_as_its_worst_trial(findings: Findings) -> None:
    one, other, *_ = [each for each in findings.trials if each.treatment == "table.fillfactor=75"]
    place = one.place
    assert drives.errors_of([timed(one, 0.01), timed(other, 0.2)]) == {place: 0.2}
    assert drives.errors_of([timed(one, 0.2), timed(other, None)]) == {place: None}
    invalid = next(each for each in findings.trials if each.status is Status.INVALID)
    assert drives.errors_of([timed(invalid, 0.5)]) == {}


def test_speeds_made_by_service_times_carry_the_label(findings: Findings) -> None:
    texts = [each.verdict.text for each in findings.verdicts]
    assert texts
    assert not any(drives.LABEL in text for text in texts)
    chosen = {"drive.data": Level("ssd", "ssd"), "drive.timing": Level("sata-ssd", "sata-ssd")}
    findings.study = replace(findings.study, fixed={**findings.study.fixed, **chosen})
    speeds = findings.judged(findings.primary)
    assert speeds
    assert all(each.verdict.text.endswith(f"({drives.LABEL})") for each in speeds)
    assert {each.verdict.kind for each in speeds} == {Kind.BETTER, Kind.EQUIVALENT}
    usual = findings.study
    findings.study = replace(usual, fixed={**usual.fixed, "drive.dilation": Level("4", "4")})
    slow = [each.verdict.text for each in findings.judged(findings.primary)]
    assert slow == [each.verdict.text.replace(")", ", clock slowed 4×)") for each in speeds]
    assert label(findings) == "on emulated drives with emulated service times (clock slowed 4×)"
    findings.study = usual
    assert label(findings) == "on emulated drives with emulated service times"
    late = dict.fromkeys(findings.service_errors, 0.5)
    findings.__dict__["service_errors"] = late
    told = findings.judged(findings.primary)
    assert len(told) == len(speeds)
    assert all(each.verdict.text.endswith("emulated service times, which a drive missed by 50 %)") for each in told)
    sizes = findings.judged(findings.responses["table_bytes"])
    assert len(sizes) == len(speeds)
    assert not any(drives.LABEL in each.verdict.text for each in sizes)


def test_the_drives_table_tells_how_late_they_were(findings: Findings) -> None:
    assert not list(drives._timing_notes(findings.trials))
    trials = [timed(each, 0.3 if each.number == 2 else 0.02) for each in findings.trials]
    findings.__dict__["trials"] = tuple(trials)
    (table,) = tables(drives.SECTION, findings)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["answered later than requested by, mean"] == ("2.0 %",) * 3
    assert rows["answers more than 10 % late"] == ("25.0 %",) * 3
    said = " ".join(table.notes)
    assert "emulated service times (sata-ssd)" in said
    assert "up to 30 % later" in said
    assert "clock slowed" not in said
    slow = {"drive.dilation": LevelRecord("4", "4")}
    dilated = [replace(each, levels={**each.levels, **slow}) for each in trials]
    (sentence,) = (each for each in drives._timing_notes(dilated) if "clock slowed 4×" in each)
    assert "the processor is 4 times as fast" in sentence
    assert any("clock slowed 4×" in each for each in regimes_of(dilated))
    assert not any("clock slowed" in each for each in regimes_of(trials))
