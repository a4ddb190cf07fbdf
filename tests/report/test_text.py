"""On a terminal the answer is one screen, whatever the study; its headline or all of the report is one option."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.report import text, verdict
from pgassay.report.findings import Findings
from pgassay.report.headline import SHOWN, reasons
from pgassay.report.section import Section, Sentences, VerdictRow, Verdicts
from pgassay.report.warnings import reasons as warnings
from pgassay.testing.planted import make_run
from tests.report.crossed import make_crossed

ENDING = ("report: page", "more: --verbose")


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_crossed(tmp_path_factory.mktemp("crossed") / "run"))


def fits(shown: str) -> bool:
    lines = shown.splitlines()
    return len(lines) <= text.LINES and max(map(len, lines)) <= text.COLUMNS


def test_one_screen_has_verdicts_reasons_doubts_and_where_the_rest_is(findings: Findings) -> None:
    shown = text.brief(findings, ENDING)
    assert fits(shown)
    assert shown.splitlines()[-2:] == list(ENDING)
    for judged in findings.verdicts:
        assert judged.effect.place.name in shown
        assert judged.verdict.text in " ".join(shown.split())
    assert "\nWhy\n" in shown
    assert "\nWhat to distrust\n" in shown


def test_a_study_of_many_comparisons_still_fits(crossed: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fits(text.brief(crossed, ENDING))
    rows = tuple(VerdictRow(f"a={i}, b=1", "+1.0 %", "better", "better: by a lot " * 9, "5 blocks") for i in range(99))
    many = replace(verdict.SECTION, describe=lambda _: (Verdicts(rows),))
    monkeypatch.setattr(verdict, "SECTION", many)
    shown = text.brief(crossed, ENDING)
    assert fits(shown)
    told = sum(f"a={i}  " in shown for i in range(99))
    assert 1 < told < 99
    assert f"… and {99 - told} more" in shown


def test_doubts_are_cut_before_the_last_verdicts(crossed: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(VerdictRow(f"a={i}", f"+{i}.0 %", "equivalent", "equivalent within ±5 %", "5 blocks") for i in (1, 2))
    monkeypatch.setattr(verdict, "SECTION", replace(verdict.SECTION, describe=lambda _: (Verdicts(rows),)))
    monkeypatch.setattr(text, "_headline", lambda _: [["  said"]] * 11)
    monkeypatch.setattr(text, "reasons", lambda _: ["one", "two", "three"])
    monkeypatch.setattr("pgassay.report.warnings.reasons", lambda _: ["first", "second " * 30])
    shown = text.brief(crossed, (*ENDING, "record: run"))
    assert fits(shown)
    assert "+1.0 %" in shown
    assert "+2.0 %" in shown
    assert "  first\n  … and 1 more\n" in shown


def test_what_all_comparisons_share_is_said_once(crossed: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(VerdictRow(f"a={i}, b=1", "–", "unresolved", "unresolved: needs more", "1 block") for i in range(3))
    monkeypatch.setattr(verdict, "SECTION", replace(verdict.SECTION, describe=lambda _: (Verdicts(rows),)))
    shown = text.brief(crossed)
    assert shown.count("unresolved: needs more") == 1
    assert shown.count("b=1") == 0


def test_a_curve_without_comparisons_says_what_the_curve_says(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = (Sentences(("it bends at 4 clients",)), Sentences(("in brackets: 95 % intervals",), small=True))
    monkeypatch.setattr(verdict, "SECTION", Section("verdict", "Verdict", lambda _: blocks))
    shown = text.brief(findings)
    assert "  it bends at 4 clients\n" in shown
    assert "in brackets" not in shown


def test_reasons_are_the_costs_that_surely_moved(findings: Findings) -> None:
    """The planted run halves WAL, and its HOT share rises: both are told, each once."""
    told = reasons(findings)
    assert 1 < len(told) <= SHOWN
    assert any(each.startswith("WAL, per transaction ") for each in told)
    assert len({each.partition(" ")[0] for each in told}) == len(told)
    shown = text.brief(findings)
    assert all(" ".join(each.split()) in " ".join(shown.split()) for each in told)


def test_doubts_begin_with_what_was_lost(findings: Findings) -> None:
    lost = Findings(findings.run)
    lost.__dict__["trials"] = findings.trials[:5]
    assert warnings(lost)[0].startswith("1 of 5 trials were discarded")


def test_show_is_as_long_as_it_is_asked_to_be(findings: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(findings.run.path)
    said = {}
    for option in ("", "--verbose", "--quiet"):
        assert main(["show", path, *([option] if option else [])]) == 0
        said[option] = capsys.readouterr().out
    assert said[""].endswith(f"more: pgassay show {path} --verbose\n")
    assert fits(said[""].replace(path, "run"))
    assert said["--quiet"] == text.headline(findings)
    assert len(said["--quiet"].splitlines()) < 10
    assert text.render(findings) in said["--verbose"]
    assert main(["show", path, "--verbose", "--quiet"]) == 2


def test_where_the_page_is_or_how_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    assert main(["show", str(run.path)]) == 0
    assert f"report: pgassay report {run.path} writes it\n" in capsys.readouterr().out
    assert main(["report", str(run.path), "--no-figures"]) == 0
    written = capsys.readouterr().out.strip()
    assert main(["show", str(run.path)]) == 0
    assert f"report: {written}\n" in capsys.readouterr().out
