"""`export --capsule` and `rerun`: what they print, refuse, and how they end; a run is made by a fake of `run`."""

import argparse
import json
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main, rerun
from pgassay.interfaces.places import UserFiles
from pgassay.record import capsule as capsule_file
from pgassay.record.formats import IMPORTED
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord
from pgassay.testing import planted
from pgassay.testing.planted import make_run
from tests.security.test_forged_records import with_right_checksums


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    return make_run(tmp_path / "runs/first", discarded=False).path


@pytest.fixture
def capsule(run: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["export", str(run), "--capsule", "first.capsule"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("first.capsule will have\n  the record of 24 trials with the outputs of all programs, "), (
        said
    )
    assert said.endswith(", readable by you alone (mode 0600)\n")
    return Path("first.capsule")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any], argparse.Namespace]]:
    """What would have been run; a planted run is made in its place."""
    found: list[tuple[str, dict[str, Any], argparse.Namespace]] = []

    def run_document(name: str, document: dict[str, Any], arguments: argparse.Namespace, files: UserFiles) -> int:
        arguments.contents = {str(path): here.read_text() for path, here in files.places.items()}
        found.append((name, document, arguments))
        print("the run's own result")
        make_run(arguments.out, discarded=False)
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
    assert "again against first: 3 agree, 0 differ, 4 unresolved" in said
    assert "now by then: 0.0 %" in said
    assert "reproduced then, reproduced now" in said
    assert list(temporary.iterdir()) == [], "what was unpacked is given back"


Ran = list[tuple[str, dict[str, Any], argparse.Namespace]]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run by a script and on a dump, as `compare -f mine.sql --set load.init=rows.dump` of an earlier version had it:
    paths as typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.sql").write_text("SELECT 1;")
    (tmp_path / "rows.dump").write_text("1\tAda")
    (tmp_path / "secret.key").write_text("a key")
    run = make_run(
        tmp_path / "first",
        discarded=False,
        fixed=("load.script=mine.sql", "load.init=rows.dump"),
        kept={"script_1_mine.sql": b"SELECT 1;"},
        levels={
            f"load.{name}": LevelRecord(file, str(tmp_path / file))
            for name, file in (("script", "mine.sql"), ("init", "rows.dump"))
        },
    )
    study = run.path / "study.toml"
    study.write_text(re.sub('question = "[^"]*"', f'question = "{tmp_path}/secret.key"', study.read_text()))
    with_right_checksums(run.path)
    return run.path


def test_a_capsule_lists_what_it_has_and_leaves_rows_and_secrets_out(scripted: Path, capsys: Captured) -> None:
    words = ["export", str(scripted), "--capsule", "a.capsule"]
    assert main([*words, "--dry-run"]) == 0
    assert not Path("a.capsule").exists()
    listed = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(listed)
    here = scripted.parent
    assert f"  {here}/mine.sql (load.script), 9 B\n" in listed
    left_out = listed.partition("left out\n")[2]
    assert left_out == f"  {here}/rows.dump (load.init), 5 B with values of your rows: --with-data packs it\n"
    content = Path("a.capsule").read_bytes()
    assert (b"a key" in content, b"Ada" in content) == (False, False)
    assert stat.S_IMODE(Path("a.capsule").stat().st_mode) == 0o600
    assert main(["export", str(scripted), "--capsule", "b.capsule", "--with-data"]) == 0
    assert b"Ada" in Path("b.capsule").read_bytes()


def test_a_capsule_is_repeated_from_another_directory_with_the_users_own_copy_of_the_rows(
    scripted: Path, ran: Ran, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = scripted.parent
    assert main(["export", str(scripted), "--capsule", "a.capsule"]) == 0
    (here / "elsewhere").mkdir()
    (here / "mine.sql").unlink()
    (here / "rows.dump").rename(here / "elsewhere/mine.dump")
    monkeypatch.chdir(here / "elsewhere")
    assert main(["rerun", "../a.capsule", "--out", "again"]) == 2
    said = capsys.readouterr().err
    assert f"the capsule does not have {here}/rows.dump, which load.init names" in said
    assert "--file load.init=PATH" in said
    assert main(["rerun", "../a.capsule", "--out", "again", "--file", "load.init=mine.dump"]) == 0
    ((_, document, arguments),) = ran
    assert document["load"]["script"] == str(here / "mine.sql"), "by the name that the original has"
    assert arguments.contents == {f"{here}/mine.sql": "SELECT 1;", f"{here}/rows.dump": "1\tAda"}


def test_a_strangers_capsule_names_no_file_of_this_machine(scripted: Path, ran: Ran, capsys: Captured) -> None:
    """Its study is made to name a file that is here; trials may say what they like of it."""
    secret = scripted.parent / "secret.key"
    study = scripted / "study.toml"
    study.write_text(study.read_text().replace('"mine.sql"', f'"{secret}"'))
    contents = capsule_file.contents_of(Run.open(scripted), scripted / "none", ())
    capsule_file.write(contents, scripted.parent / "evil.capsule")
    assert main(["rerun", "evil.capsule", "--out", "again"]) == 2
    assert "the capsule does not have" in capsys.readouterr().err
    assert ran == []


def test_a_run_is_repeated_from_another_directory_with_the_copies_of_its_scripts(
    scripted: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scripted.parent / "mine.sql").unlink()
    monkeypatch.chdir("/")
    assert main(["rerun", str(scripted), "--out", str(scripted.parent / "again")]) == 0
    assert ran[0][2].contents == {str(scripted.parent / "mine.sql"): "SELECT 1;"}


def test_a_changed_record_has_no_capsule(scripted: Path, capsys: Captured) -> None:
    (scripted / "trials/000002/script_1_mine.sql").write_text("SELECT 2;")
    assert main(["export", str(scripted), "--capsule", "a.capsule"]) == 1
    said = capsys.readouterr().err
    assert "error: trial 2: script_1_mine.sql was changed" in said
    assert "no capsule was written" in said
    assert not Path("a.capsule").exists()


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
        (["export", str(run), "--capsule", "x", "--json"], "not allowed with argument"),
        (["export", str(run), "--with-data"], "--with-data needs --capsule"),
        (["rerun", str(run), "--file", "load.init=study.none"], "names no file"),
        (["rerun", str(run), "--file", f"load.init={run}/study.toml"], "the study names no such file"),
        (["export", str(run), "--capsule", "absent/x"], "could not write the capsule"),
    ):
        assert main(words) == 2, words
        assert said in capsys.readouterr().err, words
    assert not Path("x").exists()
