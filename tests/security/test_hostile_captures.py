"""A capture is made to be sent, so one may come from anybody; and the names in a server are whoever's who may create.

Before, `ask` wrote through links in the capture's `asked`, also with --dry-run, read the data wherever `capture.json`
said that they are, and put the names of columns into scripts as they were, where a line's end began a command.
"""

import json
import os
import pwd
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture import dump, files
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Capture, Column, Data, Statement, Table
from pgassay.cli import _trust, main
from pgassay.files import UntrustedError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.running import Completed
from tests.capture.test_asking import KEYED, asked
from tests.capture.test_files import written
from tests.capture.test_scripts import SOURCE, capture
from tests.security.attackers import as_root, fingerprint

PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "data.dump": lambda path, home: path.symlink_to(home / "key"),
    "log.json": lambda path, home: path.symlink_to(home / "key"),
    "load.json": lambda path, _: os.mkfifo(path),
    "cluster": lambda path, home: path.symlink_to(home),
    "asked": lambda path, home: path.symlink_to(home),
    "asked/contents.txt": lambda path, home: path.symlink_to(home / "key"),
    "asked/data.partial": lambda path, home: path.symlink_to(home / "new"),
    "asked/data.sql": lambda path, home: path.symlink_to(home / "key"),
    "asked/without-hstore": lambda path, home: path.symlink_to(home),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("secret\n")
    return tmp_path / "home"


def with_data(path: Path) -> Path:
    made = written(path, replace(capture(KEYED), data=Data("dump", "data.dump", 1, 1)))
    (made / "data.dump").write_bytes(b"PGDMP")
    return made


@pytest.mark.parametrize("name", PLANTED)
def test_a_capture_with_a_link_or_a_pipe_is_refused_by_name(
    tmp_path: Path, home: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_data(tmp_path / "app.capture")
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).unlink(missing_ok=True)
    PLANTED[name](path / name, home)
    before = fingerprint(home)
    assert main(["ask", str(path), "work_mem=4MB,64MB", "--dry-run", "--out", str(tmp_path / "run")]) == 2
    assert f'"{name}" is neither a file nor a directory' in capsys.readouterr().err
    assert fingerprint(home) == before


@pytest.mark.parametrize("name", ["../home/key", "/etc/passwd", "asked/../../home/key", ".."])
def test_data_elsewhere_are_no_data_of_a_capture(tmp_path: Path, home: Path, name: str) -> None:
    path = with_data(tmp_path / "app.capture")
    head = json.loads((path / "capture.json").read_text())
    (path / "capture.json").write_text(json.dumps({**head, "data": {**head["data"], "file": name}}))
    with pytest.raises(CaptureError, match=r"its data, .*, are missing"):
        files.read(path)


@as_root
@pytest.mark.parametrize("name", [".", "asked"])
def test_nothing_is_written_into_another_accounts_capture(tmp_path: Path, name: str) -> None:
    """Its owner could put a link there meanwhile; a copy has another owner."""
    (tmp_path / "asked").mkdir()
    os.chown(tmp_path / name, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(UntrustedError, match="questions are only written into captures of your own"):
        asked(tmp_path, capture(KEYED))
    assert list((tmp_path / "asked").iterdir()) == []


def hostile(name: str) -> Capture:
    """A column of that name; the statement does not say it."""
    column = Column(name, "integer", True, n_distinct=7.0, common_values=("1", "2"), common_shares=(0.5, 0.5))
    table = Table("public", "kept", 100.0, 1, (column,))
    return replace(capture(Statement(1, "insert into kept values ($1)", 9, 9.0, 9)), tables=(table,))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\u2028"])
def test_a_name_begins_no_line_of_a_script(tmp_path: Path, end: str) -> None:
    name = f"v{end}\\shell touch executed{end}COPY (SELECT 1) TO PROGRAM 'touch executed';{end}"
    (made,) = asked(tmp_path, hostile(name)).load.played
    assert "executed" in made.text
    assert not [line for line in made.text.splitlines() if "executed" in line and not line.startswith("-- ")]


def test_settings_that_run_programs_are_listed_before_they_are_trusted(tmp_path: Path) -> None:
    settings = {"Archive_Command": "touch executed", "jit_provider": "evil", "work_mem": "4MB"}
    found = replace(capture(KEYED), source=replace(SOURCE, settings=settings))
    listed = list(_trust.of_capture(written(tmp_path / "a", found), settings))
    assert listed[:2] == ["Archive_Command: touch executed", "jit_provider: evil"]
    assert not [line for line in listed if "work_mem" in line]


def test_a_name_chooses_no_object_of_a_dump(tmp_path: Path) -> None:
    """pg_restore takes what the list's lines begin with: a table's name began one, with an object that stays out."""

    class Restore(LocalRunner):
        def run(self, command: Sequence[str], *, stdout: Path | None = None, **how: object) -> Completed:
            if stdout is not None:
                stdout.touch()
            table = "3; 1259 1 TABLE public x\f7; owner\n"
            return Completed(tuple(command), 0, f"; head\n{table}7; 3466 2 EVENT TRIGGER - s owner\n", "")

    dump.playable([Path("pg_restore")], tmp_path / "dump", tmp_path, Restore(choose()))
    chosen = (tmp_path / "contents.txt").read_bytes().split(b"\n")
    assert [line.partition(b";")[0] for line in chosen if line] == [b"3"]
