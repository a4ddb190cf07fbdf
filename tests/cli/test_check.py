"""`pgassay check` on decisions: an error where the same rule decides otherwise, a note where it may be another one."""

import json
from pathlib import Path

import pytest

from pgassay import __version__
from pgassay.cli import main
from pgassay.design.schedule import RULE
from pgassay.lab.decisions import UNKNOWN_RULE, rules_of
from pgassay.record.journal import Entry, Kind
from pgassay.record.reading import Run
from pgassay.testing.planted import make_run
from tests.security.test_forged_records import with_right_checksums


def planted(path: Path, **header: object) -> Run:
    """A run whose one decision, the last, no design would make of its trials."""
    run = make_run(path, discarded=False)
    told = json.loads((path / "run.json").read_text(encoding="utf-8"))
    (path / "run.json").write_text(json.dumps({**told, **header}), encoding="utf-8")
    with_right_checksums(path)
    return run


def test_another_decision_by_the_same_rule_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path / "run", rule=RULE)
    assert main(["check", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().out
    assert told.startswith("error: journal.jsonl line ")
    assert told.endswith(
        ": the decision differs from the one that follows from the study, the seed and the trials before it\n"
    )


def test_decisions_of_another_rule_are_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path / "run", rule=RULE + 1)
    assert main(["check", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == (
        f"note: journal.jsonl: its decisions were not replayed: pgassay {__version__} made them with rule {RULE + 1}, "
        f"this one has rule {RULE}\n"
    )


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({}, " before records named the rule of their decisions, which may have changed since"),
        ({"rule": RULE, "program_version": "0.0.1"}, ""),
    ],
)
def test_what_another_version_decided_is_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: dict[str, object], why: str
) -> None:
    run = planted(tmp_path / "run", **header)
    assert main(["check", str(tmp_path / "run")]) == 0
    (line,) = (entry.seq for entry in run.journal if entry.kind == Kind.DECISION)
    assert capsys.readouterr().out == (
        f"note: journal.jsonl: 1 decision (journal line {line}) would be different now: pgassay "
        f"{header.get('program_version', __version__)} wrote the record{why}\n"
    )


def test_a_resumed_run_has_the_rules_of_all_that_went_on_with_it(tmp_path: Path) -> None:
    header = make_run(tmp_path / "run").header
    resumed = [Entry(number, 0, Kind.RESUMED, data) for number, data in enumerate([{"rule": 3}, {}], 1)]
    assert rules_of(header, resumed) == {UNKNOWN_RULE, 3}
    assert rules_of(header, resumed[:1]) == {UNKNOWN_RULE, 3}
    assert rules_of(header, ()) == {UNKNOWN_RULE}


@pytest.mark.parametrize(
    ("fixed", "named"),
    [
        ("schema.partition=orders BY HASH (id) INTO 8", "schema.partition"),
        ("load.driver=go-tpc", 'the load "go-tpc"'),
        ("host.cores=node:0", "host.cores=node:0"),
    ],
)
def test_a_record_with_what_this_version_does_not_know_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fixed: str, named: str
) -> None:
    run = str(make_run(tmp_path / "run", fixed=[fixed], discarded=False).path)
    for command in (["show", run], ["report", run, "--no-figures"]):
        assert main(command) == 0
    capsys.readouterr()
    assert main(["check", run]) == 0
    assert capsys.readouterr().out == (
        f"note: journal.jsonl: its decisions were not replayed: this version does not know {named}\n"
    )


def test_a_record_with_authors_tables_is_read_and_its_decisions_are_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = planted(tmp_path / "run").path
    with (run / "study.toml").open("a", encoding="utf-8") as study:
        study.write('\n[[published]]\ndrive = "a"\n\n[published.figures]\ndrive = { response = "tps" }\n')
    with_right_checksums(run)
    assert main(["show", str(run)]) == 0
    capsys.readouterr()
    assert main(["check", str(run)]) == 0
    assert "would be different now" in capsys.readouterr().out, "replayed"
