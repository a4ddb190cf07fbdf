"""Planted factors, curves, bounds and courses are found, and shown in every form as secondary."""

import json
from dataclasses import replace
from math import isnan, sqrt
from pathlib import Path

import pytest

from pgassay.analysis.capacities import MeasuredCapacity, Resource, bounds
from pgassay.analysis.steadiness import UNKNOWN, Steadiness
from pgassay.report import contents, curves, factors, page, sensitivity, text
from pgassay.report.bottleneck import bounded, capacities, costs_with_cpu, processors
from pgassay.report.findings import Findings
from pgassay.report.seconds import warnings
from pgassay.report.section import Surface
from pgassay.report.trials import SHOWN, TrialRow, rows_of, shown
from pgassay.study.levels import Level
from pgassay.study.responses import Status
from tests.report.blocks import plain
from tests.report.crossed import BLOCKS, CPU_US, PROCESSORS, make_crossed

PAGE, WAL = "build.block_size=4kB", "build.wal_block_size=16kB"
EIGHT = "load.clients=8"


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_crossed(tmp_path_factory.mktemp("crossed") / "run"))


def test_main_effects_and_the_interaction_are_found(findings: Findings) -> None:
    found = factors.factorial_of(findings)
    assert found is not None
    at_eight = {each.treatment: each for each in (*found.main, *found.interactions) if each.covariate == EIGHT}
    assert at_eight[PAGE].estimate == pytest.approx(1.2 * sqrt(1.5), rel=0.02)
    assert at_eight[f"{PAGE} * {WAL}"].low < 1.5 < at_eight[f"{PAGE} * {WAL}"].high
    assert found.confounded == ()


def test_other_methods_find_the_effect_too(findings: Findings) -> None:
    row = next(row for row in sensitivity.checks(findings) if row.effect.treatment == f"{PAGE}, {WAL}")
    assert row.hodges_lehmann is not None
    assert row.hodges_lehmann.estimate == pytest.approx(1.8, rel=0.02)
    assert row.instability is not None
    assert row.instability.low < 1.0 < row.instability.high


def test_curves_have_a_band_and_a_figure(findings: Findings) -> None:
    curve = next(each for each in findings.curves if each.treatment == f"{PAGE}, {WAL}")
    assert [point.covariate for point in curve.points] == ["load.clients=1", EIGHT]
    assert curve.points[1].low < 2000 * 1.8 < curve.points[1].high
    assert {row["at"] for row in curves.rows_of(findings.curves, findings.primary)} == {1.0, 8.0}


def test_the_processors_bound_it_and_the_rest_is_not_available(findings: Findings) -> None:
    found = next(each for place, each in bounded(findings).items() if place.covariate == EIGHT)
    assert [each.per_s for each in found.bounds] == [pytest.approx(PROCESSORS * 1e6 / CPU_US)]
    assert any("WAL" in reason and "not known" in reason for reason in found.left_out)


def test_capacities_follow_the_control_group_and_never_guess() -> None:
    cpu = {"usable_processors": 8, "cgroup_limit": "150000 100000"}
    assert processors({"cpu": cpu}, cores_varied=False).per_s == 1.5e6
    for host in ({}, {"cpu": None}, {"cpu": {"usable_processors": None}}):
        assert isnan(processors(host, cores_varied=False).per_s)
    assert "varies" in processors({"cpu": cpu}, cores_varied=True).source
    assert costs_with_cpu({"server_cpu_us_per_transaction": 3.0})["cpu_us_per_transaction"] is None
    apart = {"server_cpu_us_per_transaction": 3.0, "client_cpu_us_per_transaction": 4.0, "client_busy_share": 0.5}
    assert costs_with_cpu(apart)["cpu_us_per_transaction"] == 3.0, "the client has processors of its own"


def test_what_a_calibration_measured_of_the_drive_bounds_wal_writes_reads_and_flushes(findings: Findings) -> None:
    host = {"capacities": {"measured_utc": "2026-01-02", "flushes": 500.0, "written_bytes": 1e8, "reads": "many"}}
    found = {each.response: each for each in capacities(host, findings.study, findings.trials)}
    assert found["disk_flushes_per_transaction"].per_s == 500.0
    assert found["wal_bytes_per_transaction"].per_s == found["disk_written_bytes_per_transaction"].per_s == 1e8
    assert "calibrated 2026-01-02" in found["wal_bytes_per_transaction"].source
    assert isnan(found["disk_reads_per_transaction"].per_s), "not a number"
    assert "pgassay calibrate" in found["disk_reads_per_transaction"].source
    told = bounds({"disk_flushes_per_transaction": 0.25, "wal_bytes_per_transaction": 1e4}, [*found.values()], 1000.0)
    assert [round(each.per_s) for each in told.bounds] == [2000, 10_000]
    study = [
        MeasuredCapacity(Resource.READS, 9000.0, "measured"),
        MeasuredCapacity(Resource.FLUSHES, 800.0, "measured"),
    ]
    deeper = {each.response: each for each in capacities(host, findings.study, findings.trials, study)}
    assert deeper["disk_reads_per_transaction"].per_s == 9000.0
    assert deeper["disk_flushes_per_transaction"].per_s == 800.0, "more than one stream's"
    assert deeper["wal_bytes_per_transaction"].per_s == 1e8
    drive = {"drive.data": Level("directory:/x", "directory:/x")}
    chosen = replace(findings.study, fixed={**findings.study.fixed, **drive})
    assert isnan({each.response: each for each in capacities(host, chosen, ())}["wal_bytes_per_transaction"].per_s)


def test_courses_come_from_the_record_or_from_the_series(findings: Findings) -> None:
    courses = findings.courses
    assert courses[3].kind is Steadiness.WARMING
    assert courses[3].truncation_s == 20.0
    assert courses[4].kind is Steadiness.DRIFTING
    assert (courses[5].kind, courses[5].error, courses[5].cycle_s) == (Steadiness.CYCLIC, 12.5, 20.0)
    flat = sum(each.kind is Steadiness.FLAT for each in courses.values())
    assert flat >= len(courses) - 6
    said = list(warnings(findings.trials, courses, findings.run.responses))
    assert any(sentence.startswith("1 of 48 valid trials (3) were still warming up") for sentence in said)
    assert any("cycles" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("window_s", "said"),
    [
        (300.0, "have too few values a second"),
        (20.0, "are too short (below 30 s)"),
        (None, "have too few values a second"),
    ],
)
def test_a_long_window_is_never_called_too_short(findings: Findings, window_s: float | None, said: str) -> None:
    """Others' outputs report every ten seconds, or not at all."""
    trials = [replace(trial, regime={"window_s": window_s}) for trial in findings.trials]
    unknown = {trial.number: UNKNOWN for trial in trials}
    (sentence,) = warnings(trials, unknown, findings.run.responses)
    assert sentence == f"all valid trials (48) {said} to judge whether they were steady"


def test_text_json_and_page_say_it_and_call_it_secondary(findings: Findings, tmp_path: Path) -> None:
    shown_text = text.render(findings)
    for section in contents.sections():
        blocks = section.shown(findings, Surface.TERMINAL)
        assert (f"\n{section.title}{' (secondary)' if section.secondary else ''}\n" in shown_text) == bool(blocks)
    found = json.loads(json.dumps(plain(findings), allow_nan=False))
    assert {each["steadiness"] for each in found["courses"]} >= {"flat", "warming", "drifting", "cyclic"}
    assert len(found["beside"]["curves"]) == 4
    assert len(found["beside"]["factors"]["main"]) == 4
    assert found["beside"]["bounds"][0]["bounds"]["bounds"][0]["capacity"]["per_s"] == PROCESSORS * 1e6
    html = page.write(findings, tmp_path, pictures=False).read_text(encoding="utf-8")
    body = html[: html.index('<script type="module">')]
    for wanted in (
        '<span class="small">secondary</span>',
        "Sections marked secondary decide nothing",
        "Hodges–Lehmann",
        "interaction",
        "saturates first",
        "A limit says which resource would be full first, by what is known of each; the bottleneck says what",
        'id="curve"',
        "drifting",
    ):
        assert wanted in body, wanted


def test_a_page_shows_doubtful_trials_first() -> None:
    row = TrialRow(1, 1, 1, "a", Status.VALID, 1.0, None, Steadiness.FLAT, 0.0, None)
    many = [replace(row, number=number) for number in range(1, 2 * SHOWN)]
    many.append(replace(row, number=2 * SHOWN, steadiness=Steadiness.DRIFTING))
    rows = shown(many)
    assert len(rows) == SHOWN
    assert rows[-1].number == 2 * SHOWN
    assert [each.number for each in rows[:3]] == [1, 2, 3]


def test_every_trial_has_a_row(findings: Findings) -> None:
    rows = rows_of(findings.trials, findings.courses, findings.primary.name)
    assert len(rows) == BLOCKS * 8
    assert rows[4].error == 12.5
    assert [row.number for row in rows if row.doubtful][:3] == [3, 4, 5]
