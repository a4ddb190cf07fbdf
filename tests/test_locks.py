"""A lock of one process at a time, and lists of which torn lines do not count."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgassay.locks import FileLock
from pgassay.record.disk import RealDisk
from pgassay.untrusted import json_lines

TAKE = """import sys
from pathlib import Path
from pgassay.locks import FileLock
print(FileLock(Path(sys.argv[1])).take())"""


def taken_elsewhere(path: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", TAKE, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_one_process_at_a_time_has_it(tmp_path: Path) -> None:
    path = tmp_path / "made" / "a.lock"
    mine, other = FileLock(path), FileLock(path)
    assert not mine.held
    assert mine.take()
    assert mine.take(), "taking it twice is harmless"
    assert (mine.held, other.take(), other.held, taken_elsewhere(path)) == (True, False, False, False)
    mine.release()
    mine.release()
    assert (mine.held, path.exists()) == (False, True)
    assert taken_elsewhere(path)
    assert other.take(), "the process that had it is gone"
    other.release()


def test_a_child_that_is_no_program_yet_holds_no_lock_that_was_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    lock = fcntl.flock

    def noted(number: int, how: int) -> None:
        opened.append(number)
        lock(number, how)

    monkeypatch.setattr(fcntl, "flock", noted)
    mine, kept = FileLock(tmp_path / "a.lock"), RealDisk().lock(tmp_path / "b.lock", "we")
    assert mine.take()
    copies = [os.dup(each) for each in opened]  # as a child of another thread has them between fork and exec
    mine.release()
    kept.release()
    assert FileLock(tmp_path / "a.lock").take()
    RealDisk().lock(tmp_path / "b.lock", "others").release()
    for each in copies:
        os.close(each)


def test_a_lock_that_cannot_be_made_is_no_lock_of_another(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        FileLock(tmp_path / "file" / "a.lock").take()


def test_only_whole_objects_of_a_list_count(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    assert list(json_lines(path)) == []
    path.write_text('{"a": 1}\n{"a": \n[2]\n3\n\n{"a": 4}\n{"a": 5', encoding="utf-8")
    assert list(json_lines(path)) == [{"a": 1}, {"a": 4}]
