"""sysbench, HammerDB and PostgresBench: their numbers, their failures, and what only looks like theirs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pgassay.record.foreign.hammerdb import is_sqlite, read_hammerdb
from pgassay.record.foreign.postgresbench import is_postgresbench, read_postgresbench
from pgassay.record.foreign.sysbench import is_sysbench, read_sysbench
from pgassay.record.foreign.values import Reading
from tests.record.foreign.made import SAMPLES, hammerdb, postgresbench


def sysbench(name: str) -> Reading | str:
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    assert is_sysbench(text)
    return read_sysbench(name, text)


def test_sysbench_s_totals_and_seconds() -> None:
    reading = sysbench("sysbench_oltp_update_index")
    assert isinstance(reading, Reading)
    (run,) = reading.runs
    assert run.fields == {"threads": "4"}
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
    assert "cut short" in str(read_sysbench("x", text.partition("SQL statistics")[0]))
    late = read_sysbench("x", f"FATAL: lost it\n{text}")
    assert isinstance(late, Reading)
    assert [reason.code for reason in late.runs[0].problems] == ["aborted"]


def test_hammerdb_s_jobs(tmp_path: Path) -> None:
    path = hammerdb(tmp_path / "hammer.DB")
    assert is_sqlite(path.read_bytes()[:64])
    reading = read_hammerdb(path)
    assert isinstance(reading, Reading)
    assert [run.responses["nopm"] for run in reading.runs] == [42332.0, 38385.0]
    assert [run.responses["tpm"] for run in reading.runs] == [84664.0, 76770.0]
    first = reading.runs[0]
    assert (first.responses["neword_p95_ms"], reading.runs[1].responses.get("neword_p95_ms")) == (7.5, None)
    assert first.planned_s == 300.0
    assert {first.fields[name] for name in ("virtual_users", "warehouses")} == {"8", "800"}
    assert [(each.place.rpartition(" ")[2], each.reason) for each in reading.left_out] == [
        ("build", "is no timed test (a schema's build, check or deletion, or a query workload)"),
        ("failed", "has no result: Vuser 3:FINISHED FAILED"),
    ]


def test_an_old_hammerdb_says_it_the_other_way_round(tmp_path: Path) -> None:
    path = hammerdb(tmp_path / "hammer.DB", (7,))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE JOBOUTPUT SET output = 'TEST RESULT : System achieved 60501 PostgreSQL TPM at 13207 NOPM'"
            " WHERE output LIKE 'TEST RESULT%'"
        )
    reading = read_hammerdb(path)
    assert isinstance(reading, Reading)
    assert (reading.runs[0].responses["nopm"], reading.runs[0].responses["tpm"]) == (13207.0, 60501.0)


def test_sqlite_files_of_others_are_named(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE JOBMAIN(jobid TEXT)")
    assert read_hammerdb(other) == "is an SQLite file without HammerDB's column JOBMAIN.db"
    empty = tmp_path / "empty.db"
    with closing(sqlite3.connect(empty)) as database, database:
        database.execute("CREATE TABLE x(y)")
    assert read_hammerdb(empty) == "is an SQLite file without HammerDB's table JOBMAIN"
    torn = tmp_path / "torn.db"
    torn.write_bytes(hammerdb(tmp_path / "whole.DB").read_bytes()[:5000])
    assert "cannot be read" in str(read_hammerdb(torn))


def test_postgresbench_s_runs_in_their_order() -> None:
    text = postgresbench("crunchy", (14790.0, 13300.0, 8571.0))
    assert is_postgresbench(text)
    reading = read_postgresbench("a.json", text)
    assert [run.responses["tps"] for run in reading.runs] == [14790.0, 13300.0, 8571.0]
    assert [run.fields["run"] for run in reading.runs] == ["1", "2", "3"]
    assert reading.runs[0].fields["scale_factor"] == "6849"
    assert reading.runs[0].planned_s == 600.0
    assert reading.runs[0].seconds == pytest.approx(600.0)
    assert reading.repetition == "run"


def test_postgresbench_tolerates_what_is_missing_and_names_what_is_wrong() -> None:
    reading = read_postgresbench(
        "a.json", '{"system": "x", "results": [{"tps": "fast"}, 7, {"failed_transactions": 3}]}'
    )
    assert [run.responses["tps"] for run in reading.runs] == [None, None]
    assert [(each.place, each.reason) for each in reading.left_out] == [("a.json result 2", "is no object")]
    assert [reason.detail for reason in reading.runs[1].problems] == ["3 transactions failed"]
    assert not any(
        map(is_postgresbench, ("", "[1]", '{"results": []}', '{"system": 1, "results": 2}', "{", "[" * 9999))
    )
