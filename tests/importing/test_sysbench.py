"""sysbench's outputs as foreign runs: their numbers, their failures, and what only looks like theirs."""

import pytest

from pgassay.importing.reader import ForeignFile, Options, Reading
from pgassay.importing.sysbench import SysbenchReader, read_sysbench
from tests.importing.made import SAMPLES


def sysbench(name: str) -> Reading | str:
    file = ForeignFile.open(SAMPLES / f"{name}.txt")
    assert SysbenchReader().recognises(file, Options())
    return read_sysbench(name, file.text)


def test_sysbench_s_totals_and_seconds() -> None:
    reading = sysbench("sysbench_oltp_update_index")
    assert isinstance(reading, Reading)
    (run,) = reading.runs
    assert run.fields == {
        "threads": "4",
        "statements": "writes, one a transaction",
        "version": "1.0.20 (using system LuaJIT 2.1.0-beta3)",
        "client_program": "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
        "options": "Report intermediate results every 1 second(s)",
    }
    assert run.seconds == 20.0128
    assert run.responses == {
        "tps": 10461.13, "qps": 10461.13, "latency_ms": 0.38, "latency_max_ms": 15.0, "latency_p99_ms": 0.64,
        "ignored_errors_share": 0.0,
    }  # fmt: skip
    assert len(run.series) == 20
    assert [run.series[0].value, run.series[19].value] == [11248.87, 10218.44]
    assert not run.problems


def test_sysbench_s_ignored_errors_are_a_share() -> None:
    reading = sysbench("sbtpcc_RR")
    assert isinstance(reading, Reading)
    assert reading.runs[0].responses["ignored_errors_share"] == pytest.approx(186 / (1412 + 186))
    assert any("ignored errors" in remark for remark in reading.remarks)


def test_sysbench_that_died_or_measured_something_else_is_no_run() -> None:
    died = sysbench("sysbench_missing_table_insert")
    assert died == 'sysbench gave up without a result: PQexec() failed: 7 relation "sbtest3" does not exist'
    assert sysbench("sysbench_cpu") == "is sysbench's output of another test than a database's"
    text = (SAMPLES / "sysbench_oltp_update_index.txt").read_text(encoding="utf-8")
    assert "incomplete" in str(read_sysbench("x", text.partition("SQL statistics")[0]))
    late = read_sysbench("x", f"FATAL: lost it\n{text}")
    assert isinstance(late, Reading)
    assert [reason.code for reason in late.runs[0].problems] == ["aborted"]
