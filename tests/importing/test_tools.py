"""HammerDB: its numbers, their failures, and what only looks like theirs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pgassay.importing.files import read_files
from pgassay.importing.hammerdb import HammerDbReader, read_hammerdb, read_log, read_report
from pgassay.importing.reader import ForeignFile, Options, Reading
from tests.importing.made import hammerdb, hammerdb_report


def test_hammerdb_s_jobs(tmp_path: Path) -> None:
    path = hammerdb(tmp_path / "hammer.DB")
    assert HammerDbReader().recognises(ForeignFile.open(path), Options())
    reading = read_hammerdb(path)
    assert isinstance(reading, Reading)
    assert [run.responses["nopm"] for run in reading.runs] == [42332.0, 38385.0]
    assert [run.responses["tpm"] for run in reading.runs] == [84664.0, 76770.0]
    first = reading.runs[0]
    assert (first.responses["neword_p95_ms"], reading.runs[1].responses.get("neword_p95_ms")) == (7.5, None)
    assert first.planned_s == 300.0
    assert {first.fields[name] for name in ("virtual_users", "warehouses")} == {"8", "800"}
    assert [(each.place.rpartition(" ")[2], each.reason) for each in reading.left_out] == [
        ("build", "is not a timed test (a schema's build, check or deletion, or a query workload)"),
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


def test_a_database_may_hold_anything_in_any_place(tmp_path: Path) -> None:
    """SQLite's columns have no types; a text where a latency belongs ended the program."""
    path = hammerdb(tmp_path / "hammer.DB", (7,))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE JOBTIMING SET p95_ms = 'slow', p50_ms = x'00'")
        database.execute("INSERT INTO JOBTCOUNT VALUES ('job1', 'many', 'tpm', 'today')")
    reading = read_hammerdb(path)
    assert isinstance(reading, Reading)
    assert [reading.runs[0].responses[f"neword_{name}_ms"] for name in ("p50", "p95", "p99")] == [None, None, 9.5]
    assert reading.runs[0].series == ()


def test_a_view_that_never_ends_is_no_job(tmp_path: Path) -> None:
    path = hammerdb(tmp_path / "hammer.DB")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE JOBMAIN")
        database.execute(
            "CREATE VIEW JOBMAIN AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS jobid, '' AS db, '' AS bm, '' AS jobdict, '' AS timestamp FROM n"
        )
    assert read_hammerdb(path) == "is an SQLite file without HammerDB's table JOBMAIN"


def test_a_query_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.importing.hammerdb._STEPS_MOST", 20_000)
    path = hammerdb(tmp_path / "hammer.DB")
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany("INSERT INTO JOBOUTPUT VALUES (?, 1, 'x')", [(f"job{row}",) for row in range(30_000)])
    assert read_hammerdb(path) == "is an SQLite file that cannot be read: interrupted"


def test_the_course_of_a_job_is_that_of_its_timed_minutes(tmp_path: Path) -> None:
    path = hammerdb(tmp_path / "hammer.DB", (7,))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE JOBMAIN SET jobdict = jobdict || ' tpcc {pg_rampup 1}'")
        database.executemany(
            "INSERT INTO JOBTCOUNT VALUES ('job1', ?, ?, ?)",
            [(value, metric, f"2026-06-01 10:0{minute}:30") for minute, value, metric in
             ((1, 60, "tpm"), (2, 120, "tpm"), (3, 600, "tpm"), (3, 1, "qph"), (7, 660, "tpm"), (8, 0, "tpm"))],
        )  # fmt: skip
    reading = read_hammerdb(path)
    assert isinstance(reading, Reading)
    assert [(each.monotonic_ns // 10**9, each.value) for each in reading.runs[0].series] == [(60, 10.0), (300, 11.0)]


def test_a_job_report_of_hammerdb_6(tmp_path: Path) -> None:
    path = tmp_path / "6A367B02652203E213737313.json"
    path.write_text(hammerdb_report(322648, tpm=((5, 60), (65, 600), (95, 660), (185, 720), (195, 0))))
    assert HammerDbReader().recognises(ForeignFile.open(path), Options())
    reading, _ = read_files([path], Options(), compared=False)
    (run,) = reading.runs
    assert (run.responses["nopm"], run.responses["tpm"], run.responses["neword_p95_ms"]) == (322648.0, 645296.0, 2.5)
    assert run.planned_s == 120.0
    assert {name: run.fields[name] for name in ("virtual_users", "warehouses", "version", "server_version")} == {
        "virtual_users": "5", "warehouses": "20", "version": "v6.0", "server_version": "17.5",
    }  # fmt: skip
    assert [(each.monotonic_ns // 10**9, each.value) for each in run.series] == [(30, 11.0), (120, 12.0)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (hammerdb_report(1, job={"benchmark": "TPROC-H"}, result={"geomean_seconds": 1.5}), "of TPROC-H without NOPM"),
        (hammerdb_report(1)[:-1], "cannot be read"),
        (hammerdb_report(1, result=[]), "without NOPM"),
    ],
)
def test_a_job_report_without_a_result_says_why(text: str, why: str) -> None:
    assert why in str(read_report("a.json", text))


def test_a_job_report_may_hold_anything_in_any_place() -> None:
    reading = read_report(
        "a.json",
        hammerdb_report(
            7,
            system=[1],
            response_times={"rows": [3, {"name": "NEWORD", "p95_ms": "slow"}]},
            transaction_count={"series": [4, {"metric": "tpm", "points": [5, {"timestamp": 6, "value": []}]}]},
        ),
    )
    assert isinstance(reading, Reading)
    assert (reading.runs[0].responses["nopm"], reading.runs[0].series) == (7.0, ())


def test_reports_are_not_told_apart_by_their_jobs_names(tmp_path: Path) -> None:
    for name, nopm in (("6A367B02652203E213737313", 100), ("6ABAB2A2484603E213938363", 101)):
        (tmp_path / f"{name}.json").write_text(hammerdb_report(nopm))
    _, roles = read_files([tmp_path], Options(), compared=False)
    assert not [each for each in roles.levels if each.field in ("file", "folder")]


def test_what_jobs_result_prints() -> None:
    text = (
        'HAMMERDB RESULT\n[\n  "6A7E2CDBC7F603E293439383",\n  "2026-08-13 20:45:15",\n'
        '  "8 Active Virtual Users configured",\n'
        '  "TEST RESULT : System achieved 26018 NOPM from 60408 PostgreSQL TPM"\n]\n'
    )
    reading = read_log("result.json", text + text.replace("8 Active", "16 Active"))
    assert isinstance(reading, Reading)
    found = [(run.fields["virtual_users"], run.responses["nopm"]) for run in reading.runs]
    assert found == [("8", 26018.0), ("16", 26018.0)]


def timed(users: int, nopm: int, before: str = "") -> str:
    return (
        f"{before}Vuser 1:{users} Active Virtual Users configured\n"
        f"Vuser 1:TEST RESULT : System achieved {nopm} NOPM from {2 * nopm} PostgreSQL TPM\n"
    )


@pytest.mark.parametrize("active", ["Active ", ""])
def test_each_result_of_a_short_hammerdb_log_has_its_own_virtual_users(active: str) -> None:
    """A log cut down to these two lines gave each result the users of the next run; version 2 has no "Active"."""
    text = "".join(timed(users, 800 * users) for users in (1, 2, 4)).replace("Active ", active)
    reading = read_log("hammerdb.log", text)
    assert isinstance(reading, Reading)
    found = [(run.fields["virtual_users"], run.responses["nopm"]) for run in reading.runs]
    assert found == [("1", 800.0), ("2", 1600.0), ("4", 3200.0)]


def test_results_whose_virtual_users_stand_elsewhere_have_none() -> None:
    results = "".join(f"Vuser 1:TEST RESULT : System achieved {each} NOPM from 9 PostgreSQL TPM\n" for each in (5, 6))
    reading = read_log("log", results + "".join(f"Vuser 1:{each} Active Virtual Users configured\n" for each in (1, 4)))
    assert isinstance(reading, Reading)
    assert [run.fields["virtual_users"] for run in reading.runs] == ["", ""]


def test_oracle_s_settings_have_no_prefix_and_its_passwords_are_not_read() -> None:
    """Runs of 10 and of 100 warehouses were repetitions of one treatment."""
    first = " tpcc_pass        = SECRET\n count_ware       = 10\nVuser 1:RUNNING\n"
    again = "Changed tpcc:count_ware from 10 to 100 for Oracle\nVuser 1:Beginning rampup time of 2 minutes\n"
    start = "Vuser 1:Beginning rampup time of 2 minutes\n"
    reading = read_log("log", timed(3, 8043, first + start) + timed(3, 9043, again))
    assert isinstance(reading, Reading)
    assert [run.fields["warehouses"] for run in reading.runs] == ["10", "100"]
    assert "SECRET" not in str(reading)
