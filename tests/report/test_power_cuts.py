"""What a report says of power cuts: safe with a bound, unsafe with the first damage, and what was not looked for."""

from dataclasses import replace

import pytest

from pgassay.record.power_cuts import FILE, CutRecord, encode
from pgassay.record.reading import Run
from pgassay.record.trials import trial_path
from pgassay.report import power_cuts
from pgassay.report.case import Text
from pgassay.report.findings import Findings
from pgassay.report.power_cuts import SECTION, answer, treatments
from pgassay.report.section import Drawing, Figure, Surface
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables

PAGE = {
    "block": 9, "bytes": 8192, "old_lsn": 1 << 32, "new_lsn": (1 << 32) + 255, "sectors": [255, 0],
    "changed": [1, 128], "torn": True,
}  # fmt: skip
SOUND = CutRecord(1, 1, 1, "all", 1, 2, 4, 1, 1, 0.5, 900.0, "sound", recovery_ms=70.0, ledger=True, page=PAGE,
                  strip=[[9, 2, 1]])  # fmt: skip
TORN = replace(SOUND, verdict="damaged_page", detail="invalid page in block 3", recovery_ms=None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ten sound cuts in each trial; in those of one treatment the third one tore a page."""
    made = make_run(tmp_path_factory.mktemp("cuts") / "run")
    bad = made.trials[0].treatment
    for trial in made.trials:
        cuts = [replace(SOUND, epoch=epoch) for epoch in range(10)]
        if trial.treatment == bad:
            cuts[2] = replace(TORN, epoch=2)
        (trial_path(made.path, trial.number) / FILE).write_bytes(encode(cuts))
    return made


def test_each_treatment_is_safe_with_a_bound_or_unsafe_with_its_first_damage(run: Run) -> None:
    bad = run.trials[0].treatment
    found = {each.name: each for each in treatments(Findings(run))}
    said = {name: answer(each, Text()) for name, each in found.items()}
    assert "is unsafe" in said[bad]
    assert "at cut 3, damaged a page" in said[bad]
    safe = next(name for name in said if name != bad)
    assert f"{safe} is safe here: 0 of {len(found[safe].cuts)} cuts" in said[safe]
    assert 0 < found[safe].risk.upper < 0.1


def test_the_tables_have_the_evidence(run: Run) -> None:
    overview, *damage = tables(SECTION, Findings(run))
    assert len(overview.rows) == len(treatments(Findings(run)))
    assert len(damage) == 1
    assert damage[0].rows[0][2:] == ("damaged a page", "invalid page in block 3")
    assert not any("not looked for" in note for note in overview.notes)


def test_what_was_not_looked_for_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "power_cuts", lambda run, number: (replace(SOUND, ledger=False),))
    overview, *_ = tables(SECTION, Findings(run))
    assert any("lost commits and half transactions are not looked for" in note for note in overview.notes)


def test_the_figures_draw_a_torn_page_and_lost_writes(run: Run) -> None:
    figures = [block for block in SECTION.shown(Findings(run), Surface.PAGE) if isinstance(block, Figure)]
    drawn = [figure.draw() for figure in figures]
    assert len(drawn) == 2
    assert all(isinstance(each, Drawing) for each in drawn)


def test_json_has_the_counts(run: Run) -> None:
    told = plain(Findings(run))["power_cuts"]
    bad = next(each for each in told if each["treatment"] == run.trials[0].treatment)
    assert bad["verdicts"]["damaged_page"] == bad["damaged_cuts"] == bad["damaged"]


def test_a_run_without_cuts_says_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "power_cuts", lambda run, number: ())
    findings = Findings(run)
    assert SECTION.shown(findings, Surface.PAGE) == ()
    assert "power_cuts" not in plain(findings)
