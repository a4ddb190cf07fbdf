"""What is written is read again; what is no capture, is damaged, or comes from a later version is refused by name."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture import files
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Capture, Data, Moment, Statement
from pgassay.cli import main
from pgassay.errors import UsageError
from tests.capture.test_scripts import capture

WHOLE = capture(Statement(1, "SELECT $1", 3, 4.5, 3, parameters=(("a", None),)))


def written(path: Path, found: Capture = WHOLE) -> Path:
    with files.new_directory(path) as folder:
        files.write(found, folder, path.name)
    return path


def test_a_capture_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert WHOLE.load is not None
    load = replace(WHOLE.load, moments=(Moment(0.0, {"active": 1}, {"CPU": 1}),), counters={"commits": 5.0})
    found = replace(WHOLE, load=load, secrets=("a",))
    path = written(tmp_path / "app.capture", found)
    assert files.read(path) == found
    assert path.stat().st_mode & 0o077 == 0
    assert "app.capture work_mem" in (path / "README").read_text()


def test_a_capture_without_a_load_is_one(tmp_path: Path) -> None:
    found = replace(WHOLE, load=None)
    assert files.read(written(tmp_path / "a", found)) == found


def test_nothing_is_left_of_one_that_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), files.new_directory(tmp_path / "a"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "a")
    with pytest.raises(UsageError, match="exists already"):
        written(tmp_path / "a")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: (path / "capture.json").unlink(), "it has no capture.json"),
        (lambda path: (path / "capture.json").write_text("{"), "capture.json"),
        (lambda path: (path / "load.json").write_text('{"window_s": "long"}'), "load.json"),
        (lambda path: (path / "statistics.json").unlink(), "statistics.json"),
    ],
)
def test_a_damaged_one_is_named(tmp_path: Path, damage: "object", said: str) -> None:
    path = written(tmp_path / "a")
    damage(path)  # type: ignore[operator]
    with pytest.raises(CaptureError, match=re.escape(said)):
        files.read(path)


def test_missing_data_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a", replace(WHOLE, data=Data("dump", "data.dump", 5, 5)))
    with pytest.raises(CaptureError, match=r"its data, data\.dump, are missing"):
        files.read(path)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    head = json.loads((path / "capture.json").read_text())
    (path / "capture.json").write_text(json.dumps({**head, "format": 2}))
    with pytest.raises(CaptureError, match="format 2"):
        files.read(path)


@pytest.mark.parametrize("kind", ["synthetic", "basebackup", "backup"])
def test_data_that_no_version_makes_any_more_are_refused_by_name(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a")
    head = json.loads((path / "capture.json").read_text())
    head["data"] = {"kind": kind, "file": "load.json", "bytes": 5, "database_bytes": 5, "physical": {"state": "shut"}}
    (path / "capture.json").write_text(json.dumps(head))
    for command in (["ask", str(path), "work_mem=4MB,64MB", "--dry-run"], ["advise", str(path), "--dry-run"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert f'"{path}" has data of the kind {kind}, which this version does not read' in said
        assert "hint: capture again with --data dump" in said
