"""Planted factors, curves and courses are found, and shown in every form as secondary."""

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest

from pgassay.analysis.seconds import UNKNOWN, Steadiness
from pgassay.report import contents, curves, factors, page, text
from pgassay.report.findings import Findings
from pgassay.report.seconds import warnings
from pgassay.report.section import Surface
from pgassay.report.trials import SHOWN, TrialRow, rows_of, shown
from pgassay.study.responses import Status
from tests.report.blocks import plain
from tests.report.crossed import BLOCKS, make_crossed

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


def test_curves_have_a_band_and_a_figure(findings: Findings) -> None:
    curve = next(each for each in findings.curves if each.treatment == f"{PAGE}, {WAL}")
    assert [point.covariate for point in curve.points] == ["load.clients=1", EIGHT]
    assert curve.points[1].low < 2000 * 1.8 < curve.points[1].high
    assert {row["at"] for row in curves.rows_of(findings.curves, findings.primary)} == {1.0, 8.0}


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
    html = page.write(findings, tmp_path, pictures=False).read_text(encoding="utf-8")
    body = html[: html.index('<script type="module">')]
    for wanted in (
        '<span class="small">secondary</span>',
        "Sections marked secondary decide nothing",
        "interaction",
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
