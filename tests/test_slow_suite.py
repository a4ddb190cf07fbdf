"""All slow tests, several files at a time: their order, what a resumed suite leaves out, and how a failure is named."""

import json
import sys
import threading
import time
from pathlib import Path

import pytest

from pgassay.untrusted import json_lines
from tests import slow_share, slow_suite
from tests.slow_results import BEGAN, COLLECTED, FAILED, PASSED, SKIPPED
from tests.slow_share import SlowTest, collected
from tests.slow_suite import Batch, Result, batches, done, overdue, report, results, run_all

WRITTEN = """\
import time
import pytest

def test_passes(): pass
@pytest.mark.alone
def test_fails(): assert 1 == 2
def test_skips(): pytest.skip("there is none")
@pytest.mark.timeout(1, func_only=True)
def test_hangs(): time.sleep(100)
def test_comes_after_it(): pass
def test_dies():
    import os
    os._exit(3)
def test_never_began(): pass
"""


def write(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_longest_file_begins_first_and_what_must_be_alone_is_last() -> None:
    tests = [
        SlowTest("a.py::one"),
        SlowTest("b.py::one", alone=True),
        SlowTest("b.py::two"),
        SlowTest("c.py::one"),
        SlowTest("c.py::two"),
    ]
    seconds = {"a.py::one": 50.0, "b.py::one": 900.0, "b.py::two": 10.0, "c.py::one": 30.0, "c.py::two": 40.0}
    assert batches(tests, seconds) == [
        Batch("c.py", ("c.py::one", "c.py::two"), 70.0),
        Batch("a.py", ("a.py::one",), 50.0),
        Batch("b.py", ("b.py::two",), 10.0),
        Batch("b.py", ("b.py::one",), 900.0, alone=True),
    ]


def test_a_test_that_was_never_timed_counts_as_long() -> None:
    (batch,) = batches([SlowTest("a.py::one"), SlowTest("a.py::two")], {"a.py::one": 5.0})
    assert batch.expected_s == 5.0 + slow_share.UNKNOWN_S


def test_what_passed_or_was_skipped_is_done_and_a_line_cut_short_is_not_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "results.jsonl",
        {"test": "a", "event": COLLECTED, "alone": False},
        {"test": "b", "event": FAILED, "seconds": 3.0},
        {"test": "b", "event": PASSED, "seconds": 2.0},
        {"test": "c", "event": SKIPPED, "seconds": 0.1},
        {"test": "d", "event": BEGAN, "at_s": 1.0, "limit_s": 5.0},
    )
    with path.open("a", encoding="utf-8") as file:
        file.write('{"test": "e", "ev')
    found = results(path)
    assert found["b"] == Result(PASSED, 2.0)
    assert set(found) == {"b", "c", "d"}
    assert done(found) == {"b", "c"}
    assert results(tmp_path / "none") == {}


def test_a_test_long_past_its_limit_is_overdue(tmp_path: Path) -> None:
    began = {"test": "a", "event": BEGAN, "at_s": 1000.0, "limit_s": 50.0}
    running = write(tmp_path / "running", began)
    last_s = 1050.0 + slow_suite.PATIENCE_S
    assert overdue(running, last_s) is None
    assert overdue(running, last_s + 1.0) == "a"
    assert overdue(write(tmp_path / "ended", began, {"test": "a", "event": PASSED, "seconds": 9.0}), 1e9) is None
    assert overdue(tmp_path / "none", 1e9) is None


def test_each_end_is_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pytest of its own, whose process dies before the last test."""
    (tmp_path / "test_written.py").write_text(WRITTEN, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = alone\n", encoding="utf-8")

    def words(path: Path, *more: str) -> list[str]:
        ours = ["-c", "pytest.ini", "--rootdir", ".", "-p", "tests.slow_results", "--results-to", str(path)]
        return [sys.executable, "-m", "pytest", "-q", "-n", "0", *ours, *more]

    monkeypatch.setenv("PYTHONPATH", str(slow_share.ROOT))
    for each in (slow_share, slow_suite):
        monkeypatch.setattr(each, "ROOT", tmp_path)
        monkeypatch.setattr(each, "pytest_words", words)
    tests = collected(tmp_path)
    assert [test.name for test in tests if test.alone] == ["test_written.py::test_fails"]
    run_all(batches(tests, {}), tmp_path, 2)
    found = results(tmp_path / "results.jsonl")
    assert {name.partition("::test_")[2]: result.event for name, result in found.items()} == {
        "passes": PASSED, "fails": FAILED, "skips": SKIPPED, "hangs": FAILED, "comes_after_it": PASSED, "dies": BEGAN,
    }  # fmt: skip
    whys = {
        str(each["test"]): each["why"] for each in json_lines(tmp_path / "test_written-alone.jsonl") if "why" in each
    }
    assert "assert 1 == 2" in str(whys["test_written.py::test_fails"])
    told = report(tests, found, tmp_path)
    assert "did not run: test_written.py::test_never_began" in told
    assert "hung or was cut short: test_written.py::test_dies" in told
    assert "failed: test_written.py::test_hangs" in told
    assert "3 of 7 slow tests passed, 1 of them by a skip" in told


def test_what_hangs_for_good_is_interrupted_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_share.interruptible()
    monkeypatch.setattr(slow_suite, "POLL_S", 0.05)
    path = write(tmp_path / "x.jsonl", {"test": "x.py::one", "event": BEGAN, "at_s": 1.0, "limit_s": 5.0})
    script = f"import shutil, time; shutil.copy({str(path)!r}, {str(tmp_path / 'batch.jsonl')!r}); time.sleep(600)"
    monkeypatch.setattr(slow_suite, "pytest_words", lambda *_: [sys.executable, "-c", script])
    began_s = time.monotonic()
    found = slow_suite.run_batch(Batch("batch.py", ("x.py::one", "x.py::two"), 1.0), tmp_path, threading.Event())
    assert time.monotonic() - began_s < 600
    assert found == {"x.py::one": Result(FAILED)}


def test_a_suite_that_is_interrupted_ends_its_tests_and_counts_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_share.interruptible()
    monkeypatch.setattr(slow_suite, "POLL_S", 0.05)
    path = write(tmp_path / "x.jsonl", {"test": "x.py::one", "event": BEGAN, "at_s": time.time(), "limit_s": 900.0})
    script = f"import shutil, time; shutil.copy({str(path)!r}, {str(tmp_path / 'batch.jsonl')!r}); time.sleep(600)"
    monkeypatch.setattr(slow_suite, "pytest_words", lambda *_: [sys.executable, "-c", script])
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    assert done(slow_suite.run_batch(Batch("batch.py", ("x.py::one",), 1.0), tmp_path, stop)) == set()
    assert stop.is_set()
