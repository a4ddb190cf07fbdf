"""A report of a run with damage: every form names what it does without, and no form shows a number for it."""

from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.importing.imported_run import of_run
from pgassay.record.reading import Run
from pgassay.report import page, text
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import plain

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Trial 3 is a picture, the series of trial 5 is cut, and no index makes up for it."""
    run = make_run(tmp_path / "run").path
    (run / "index.parquet").unlink()
    (run / "trials" / "000003" / "trial.json").write_bytes(PNG)
    series = run / "trials" / "000005" / "series.parquet"
    series.write_bytes(series.read_bytes()[:100])
    return run


def test_text_page_and_json_name_what_is_left_out(damaged: Path) -> None:
    findings = Findings(Run.open(damaged, leave_out=True))
    trial = "trial 3 cannot be read and is left out: trials/000003/trial.json is not what was committed"
    series = "the seconds of trial 5 cannot be read, so its course is not known: trials/000005/series.parquet"
    found = plain(findings)
    assert found["unread"][0] == trial
    assert found["unread"][1].startswith(series)
    assert found["trials"]["all"] == 25
    assert [each["blocks"] for each in found["verdicts"]] == [7, 8]
    assert "block 1: table.fillfactor=75 is missing, so there is nothing to compare" in found["verdicts"][0]["left_out"]
    shown = text.render(findings)
    assert trial in shown
    assert series in shown
    assert "block 1: table.fillfactor=75 is missing" in shown
    body = page.html(findings, page.chapters(findings, drawn=False))
    assert "Trial 3 cannot be read and is left out" in body
    assert "The seconds of trial 5 cannot be read" in body


def test_commands_without_such_a_place_warn(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(damaged)]) == 0
    told = capsys.readouterr()
    assert "pgassay: warning: trial 3 cannot be read and is left out" in told.err
    assert len(told.out.splitlines()) == 1 + 25


def test_lint_names_it_with_the_trials_that_are_no_results(damaged: Path) -> None:
    judged = of_run(damaged, "")
    assert [place for place, _ in judged.left_out] == ["trial 1", "trial 3", "trial 26"]
    assert dict(judged.left_out)["trial 1"] == "invalid; why"


def test_a_run_of_which_nothing_can_be_read_has_no_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    (run / "index.parquet").unlink()
    for file in run.glob("trials/*/trial.json"):
        file.write_bytes(PNG)
    found = plain(Findings(Run.open(run, leave_out=True)))
    assert len(found["unread"]) == 26
    assert {each["estimate"] for each in found["verdicts"]} == {None}
    assert {each["verdict"] for each in found["verdicts"]} == {"unresolved"}
