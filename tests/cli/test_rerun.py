"""`export --capsule` and `rerun`: what they print, refuse, and how they end; a run is made by a fake of `run`."""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main, rerun
from pgassay.record.formats import IMPORTED
from pgassay.testing import planted
from pgassay.testing.planted import make_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    return make_run(tmp_path / "runs/first").path


@pytest.fixture
def capsule(run: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["export", str(run), "--capsule", "first.capsule"]) == 0
    assert capsys.readouterr().out == "first.capsule\n"
    return Path("first.capsule")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any], argparse.Namespace]]:
    """What would have been run; a planted run is made in its place."""
    found: list[tuple[str, dict[str, Any], argparse.Namespace]] = []

    def run_document(name: str, document: dict[str, Any], arguments: argparse.Namespace) -> int:
        found.append((name, document, arguments))
        print("the run's own result")
        make_run(arguments.out)
        return 0

    monkeypatch.setattr(rerun, "run_document", run_document)
    return found


def test_a_capsule_is_run_again_and_compared(
    capsule: Path, run: Path, ran: list[tuple[str, dict[str, Any], argparse.Namespace]],
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    shutil.rmtree(run)
    temporary = run.parents[1] / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))  # others unpack capsules below /tmp meanwhile
    assert main(["rerun", str(capsule), "--out", "again", "--strict"]) == 0
    ((name, document, arguments),) = ran
    assert name == "fillfactor"
    assert "seed" not in document["design"]
    assert arguments.out == Path("again").absolute()
    said = capsys.readouterr().out
    assert "again against first: 5 agree, 0 differ, 2 unresolved" in said
    assert "now by then: 0.0 %" in said
    assert "reproduced then, reproduced now" in said
    assert list(temporary.iterdir()) == [], "what was unpacked is given back"


def test_json_is_one_document(
    run: Path, ran: list[tuple[str, dict[str, Any], argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rerun", str(run), "--out", "again", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["original"], found["rerun"]) == ("first", "again")
    assert found["counts"]["differ"] == 0
    contrast = found["contrasts"][0]
    assert (contrast["outcome"], contrast["original"]["verdict"], contrast["estimate"]) == ("agree", "better", 1.0)
    assert ran[0][2].quiet


def test_another_effect_differs(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(planted.TPS, "75", 1500.0)
    other = make_run(Path("runs/other")).path
    assert main(["rerun", str(run), "--with", str(other)]) == 0
    assert "table.fillfactor=75: differ" in capsys.readouterr().out
    assert main(["rerun", str(run), "--with", str(other), "--strict"]) == 1


def test_what_is_no_study_of_ours_is_not_run_again(
    run: Path, ran: list[tuple[str, dict[str, Any], argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    host = run / "host.json"
    facts = json.loads(host.read_text())
    facts["facts"][IMPORTED] = {"source": "pgbench"}
    host.write_text(json.dumps(facts))
    assert main(["rerun", str(run), "--out", "again"]) == 2
    assert "pgassay did not measure a study there" in capsys.readouterr().err
    assert ran == []


def test_faults_are_told(capsule: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["rerun", "nowhere"], "does not exist"),
        (["rerun", str(run / "study.toml")], "is not a capsule"),
        (["rerun", str(run), "--out", str(run)], "exists already"),
        (["rerun", str(run), "--with", "nowhere"], "does not exist"),
        (["rerun", str(run), "--set", "load.scale=1"], "unrecognized argument"),
        (["export", str(run), "--capsule", str(capsule)], "exists already"),
        (["export", str(run), "--capsule", "x", "--out", "y"], "cannot be used together"),
        (["export", str(run), "--capsule", "x", "--as", "cache-csv"], "cannot be used together"),
        (["export", str(run), "--capsule", "x", "--json"], "not allowed with argument"),
        (["export", str(run), "--capsule", "absent/x"], "could not write the capsule"),
    ):
        assert main(words) == 2, words
        assert said in capsys.readouterr().err, words
    assert not Path("x").exists()
