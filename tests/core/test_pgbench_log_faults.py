"""What the log reader makes of empty, torn, malformed and missing logs, of clock jumps and of bad arguments."""

import math
import os
from pathlib import Path

import pytest

from pgassay._core import PgbenchLogError, read_pgbench_logs

SAMPLES = Path(__file__).parents[1] / "samples"
LOGS = sorted(SAMPLES.glob("samp.*"))
GOOD = "0 1 1535 0 1795229900 324444\n"


def test_torn_last_lines_are_not_counted(tmp_path: Path) -> None:
    whole, torn = tmp_path / "log.1", tmp_path / "log.1.1"
    whole.write_text(GOOD)
    torn.write_text(GOOD + "0 2 47")
    log = read_pgbench_logs([whole, torn])
    assert log.lines == 2
    assert "torn=1" in repr(log)


def test_empty_logs_have_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    for start_us in (None, 5):
        log = read_pgbench_logs([path], start_us=start_us)
        assert (log.lines, len(log.series), log.scripts, log.first_us, log.start_us) == (0, 0, {}, None, start_us)
        assert log.totals.latency.quantile(0.5) is None
        assert list(log.series["transactions"]) == []


def test_garbage_is_named_by_file_line_and_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(GOOD * 3 + "0 4 12x4 0 1795229900 1\n" + GOOD)
    with pytest.raises(PgbenchLogError, match='log: line 4: time is not a number: "0 4 12x4 0 1795229900 1"') as caught:
        read_pgbench_logs([path])
    error = caught.value
    assert (error.path, error.line_number, error.text) == (str(path), 4, "0 4 12x4 0 1795229900 1")
    with pytest.raises(PgbenchLogError, match=r"expected 6 fields, found 7 \(--rate adds a lag"):
        read_pgbench_logs(sorted(SAMPLES.glob("ratetx.*")))


def test_a_jump_of_the_clock_is_an_error_and_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(GOOD + "0 2 100 0 0 0\n")
    with pytest.raises(PgbenchLogError, match="line 2: its time is more than 604800 intervals away"):
        read_pgbench_logs([path])


def test_times_of_different_runs_are_too_far_apart(tmp_path: Path) -> None:
    first, second = tmp_path / "log.1", tmp_path / "log.2"
    first.write_text(GOOD)
    second.write_text(GOOD.replace("17952", "16952"))
    with pytest.raises(PgbenchLogError, match="intervals a"):
        read_pgbench_logs([first, second])


def test_files_that_cannot_be_read_are_os_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_pgbench_logs([tmp_path / "nothing"])
    assert caught.value.filename == str(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            read_pgbench_logs([path])


def test_bad_arguments_are_refused() -> None:
    for interval_s in (0.0, -1.0, 1e-9, math.inf, math.nan):
        with pytest.raises(ValueError, match="interval_s"):
            read_pgbench_logs(LOGS, interval_s=interval_s)
    with pytest.raises(ValueError, match="no log file given"):
        read_pgbench_logs([])
    with pytest.raises(ValueError, match="given twice"):
        read_pgbench_logs([*LOGS, LOGS[0]])
