"""What somebody else wrote is listed before it runs, and runs only where the user says so; one's own asks nothing.

Before, `rerun` of a stranger's capsule and `run` of another account's study executed their scripts at once.
"""

import argparse
import io
import json
import os
import pwd
import sys
from pathlib import Path

import pytest

from pgassay.cli import _trust, main
from pgassay.errors import UsageError
from pgassay.record.calibrations import STUDY as STUDY_OF_CALIBRATIONS
from pgassay.record.values import LevelRecord
from pgassay.testing.planted import make_run
from tests.capture.test_files import written
from tests.packages import Install

Said = pytest.CaptureFixture[str]
STUDY = """
[study]
title = "a"
question = "b?"

[factors]
"server.work_mem" = ["4MB", "64MB"]

[fixed]
"load.script" = "hostile.sql"
"server.archive_command" = "touch executed"
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of another account")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUDO_UID", raising=False)
    (tmp_path / "hostile.sql").write_text("\n\\shell touch executed\x1b[2J\nSELECT 1;\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def given_away(path: Path) -> Path:
    os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    return path


def refused(said: Said, *words: str) -> str:
    """The command ends with 2, and nothing has run."""
    assert main(list(words)) == 2
    text = said.readouterr().err
    assert "nothing of it was executed" in text
    assert "hint: read what it would execute, then add --trust" in text
    assert not list(Path().rglob("executed"))
    assert not Path("again").exists()
    assert "\x1b" not in text
    return text


def test_a_capsule_is_not_run_untold(folder: Path, capsys: Said) -> None:
    script = folder / "hostile.sql"
    run = make_run(
        folder / "first",
        discarded=False,
        fixed=("load.script=hostile.sql",),
        kept={"script_1_hostile.sql": script.read_bytes()},
        levels={"load.script": LevelRecord("hostile.sql", str(script))},
    )
    assert main(["export", str(run.path), "--capsule", "a.capsule"]) == 0
    script.unlink()
    capsys.readouterr()
    text = refused(capsys, "rerun", "a.capsule", "--out", "again")
    assert '"a.capsule" was not made by your account (it is a capsule). It would execute:' in text
    assert f"  load.script: {script} (" in text


@as_root
def test_another_accounts_study_is_not_run_untold(folder: Path, capsys: Said) -> None:
    given_away(folder / "study.toml")
    text = refused(capsys, "run", "study.toml", "--out", "again")
    assert "server.archive_command: touch executed" in text
    assert "hostile.sql" in text


@as_root
def test_another_accounts_capture_is_not_played_untold(folder: Path, capsys: Said) -> None:
    capture = written(folder / "app.capture")
    given_away(capture / "load.json")
    text = refused(capsys, "ask", "app.capture", "work_mem=4MB,64MB", "--out", "again")
    assert "load.json (" in text
    given_away(capture)
    refused(capsys, "advise", "app.capture", "--out", "again")


@as_root
def test_another_accounts_run_is_not_continued_untold(folder: Path, capsys: Said) -> None:
    run = make_run(folder / "first", finished=False)
    given_away(run.path)
    refused(capsys, "resume", "first")
    refused(capsys, "rerun", "first", "--out", "again")


@as_root
def test_another_accounts_calibration_is_not_continued_untold(folder: Path, capsys: Said) -> None:
    """Nor is any run that calls itself one; a calibration has factors of its own, too."""
    run = make_run(folder / "first", finished=False, fixed=("load.script=hostile.sql",)).path
    header = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**header, "study": STUDY_OF_CALIBRATIONS}))
    study = (run / "study.toml").read_text().replace("[fixed]", '[fixed]\n"calibration.series" = "1"')
    (run / "study.toml").write_text(study)
    given_away(run)
    assert "hostile.sql" in refused(capsys, "resume", "first")


@as_root
def test_programs_of_another_accounts_run_are_named(folder: Path, capsys: Said) -> None:
    run = make_run(folder / "first", finished=False).path
    facts = json.loads((run / "host.json").read_text())
    facts["facts"]["postgres"] = [{"bindir": "/evil/bin", "version": "postgres (PostgreSQL) 16.4", "found_by": "named"}]
    (run / "host.json").write_text(json.dumps(facts))
    given_away(run)
    assert "PostgreSQL's programs in /evil/bin" in refused(capsys, "resume", "first")


@as_root
def test_the_package_that_makes_a_drive_is_named(folder: Path, capsys: Said, install: Install) -> None:
    code = "from pgassay.drive.block.image import *\n"
    code += "class Disk(ImageVolume): pass\nODD = PluginDrive(Disk, 'an odd disk')"
    install("pg-odd", "[pgassay.drives]\nodd = odd_disks:ODD\n", code, "odd_disks")
    study = STUDY.replace("[fixed]", '[fixed]\n"drive.data" = "compressing=plugin:odd"')
    given_away(folder / "study.toml").write_text(study)
    assert "  drive.data: the plug-in odd_disks\n" in refused(capsys, "run", "study.toml", "--out", "again")


@as_root
def test_links_do_not_make_it_ours(folder: Path) -> None:
    study, link = given_away(folder / "study.toml"), folder / "link.toml"
    link.symlink_to(study)
    with pytest.raises(UsageError, match="not made by your account"):
        _trust.require(link, (), argparse.Namespace(trust=False))


@as_root
def test_who_called_sudo_is_oneself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = given_away(folder / "study.toml")
    monkeypatch.setenv("SUDO_UID", str(pwd.getpwnam("nobody").pw_uid))
    _trust.require(study, (), argparse.Namespace(trust=False))


def test_ones_own_asks_nothing(folder: Path, capsys: Said) -> None:
    _trust.require(folder / "study.toml", (), argparse.Namespace(trust=False))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False)])
def test_a_terminal_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, runs: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", screen)
    ended = False
    try:
        _trust.require(folder / "a.capsule", ["load.script: x"], argparse.Namespace(trust=False), packed=True)
    except UsageError:
        ended = True
    assert ended is not runs
    assert "  load.script: x\nRun it? [y/N] " in screen.getvalue()


def test_trust_is_enough(folder: Path, capsys: Said) -> None:
    _trust.require(folder / "a.capsule", ["x"], argparse.Namespace(trust=True), packed=True)
    assert capsys.readouterr() == ("", "")
