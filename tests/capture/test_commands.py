"""What the two commands refuse before they touch a server or a cluster."""

from pathlib import Path

import pytest

from pgassay.cli import main
from tests.capture.test_files import written


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere", "work_mem=4MB,64MB"), '"nowhere" is not a capture: it has no capture.json'),
        (("nowhere",), "nothing is asked"),
        (("nowhere", "work_mem=4MB"), "one level"),
    ],
)
def test_a_wrong_question_is_an_error(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ask", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--pace", "source", "--replay"), "--pace and --replay cannot be used together"),
        (("--pace", "busiest", "--set", "load.script=a.sql"), "--pace and load.script cannot be used together"),
        (("--pace", "source", "--set", "load.rate=5"), "--pace and load.rate cannot be used together"),
        (("--pace", "source", "load.rate=5,10"), "--pace and load.rate cannot be used together"),
        (("--count", "--pace", "source"), "--count and --pace cannot be used together"),
        (("--count", "--replay"), "--count and --replay cannot be used together"),
        (("--count", "--objective", "tps"), "--count and --objective cannot be used together"),
        (("--pace", "busiest"), "the capture has no log, so its busiest minute is not known"),
        (("--pace", "twice"), "invalid choice: 'twice'"),
    ],
)
def test_a_pace_or_a_count_that_cannot_be_is_refused_by_name(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a")
    assert main(["ask", str(path), "work_mem=4MB,64MB", *words]) == 2
    assert said in capsys.readouterr().err


def test_literals_are_kept_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "host=/nowhere", "--with-literals", "--no-literals"]) == 2
    assert "not allowed with argument --with-literals" in capsys.readouterr().err


def test_a_directory_that_exists_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a")
    assert main(["capture", "host=/nowhere", "--out", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err, "it is known before the server is asked"
