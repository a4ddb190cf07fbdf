"""HammerDB and PostgresBench: their numbers, their failures, and what only looks like theirs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pgassay.importing.hammerdb import HammerDbReader, read_hammerdb, read_log
from pgassay.importing.postgresbench import is_postgresbench, read_postgresbench
from pgassay.importing.reader import ForeignFile, Options, Reading
from tests.importing.made import hammerdb, postgresbench


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
    assert [(each.place, each.reason) for each in reading.left_out] == [("a.json result 2", "is not an object")]
    assert [reason.detail for reason in reading.runs[1].problems] == ["3 transactions failed"]
    assert not any(
        map(is_postgresbench, ("", "[1]", '{"results": []}', '{"system": 1, "results": 2}', "{", "[" * 9999))
    )


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
