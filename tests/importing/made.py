"""Options as the command line would give them, and small files of every kind that is read."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "samples"

# HammerDB's tables with the columns that are read, and a few that are passed over.
HAMMERDB = """
CREATE TABLE JOBMAIN(jobid TEXT primary key, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME NOT NULL);
CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, p99_ms REAL, p95_ms REAL, p50_ms REAL,
  summary INTEGER, elapsed_ms REAL);
CREATE TABLE JOBTCOUNT(jobid TEXT, counter INTEGER, metric TEXT, timestamp DATETIME NOT NULL);
CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT);
"""


def hammerdb(path: Path, nopm: tuple[int, ...] = (42332, 38385), users: int = 8) -> Path:
    """Timed jobs with results, a schema build, and a job whose virtual user failed before the result."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(HAMMERDB)
        _job(database, "build", ["Vuser 1:CREATING TPCC SCHEMA", "Vuser 1:FINISHED SUCCESS"], 0)
        for place, value in enumerate(nopm, start=1):
            lines = [
                "Timing test period of 5 in minutes",
                f"{users} Active Virtual Users configured",
                f"TEST RESULT : System achieved {value} NOPM from {2 * value} PostgreSQL TPM",
                "Vuser 1:FINISHED SUCCESS",
            ]
            _job(database, f"job{place}", lines, place)
        database.execute("INSERT INTO JOBTIMING VALUES ('job1', 1, 'NEWORD', 10, 9.5, 7.5, 2.5, 1, 300000)")
        _job(database, "failed", ["Timing test period of 5 in minutes", "Vuser 3:FINISHED FAILED"], 90)
    return path


def _job(database: sqlite3.Connection, jobid: str, lines: list[str], minute: int) -> None:
    settings = "connection {pg_host localhost} tpcc {pg_count_ware 800 pg_num_vu 8 pg_storedprocs true}"
    moment = f"2026-06-01 10:{minute % 60:02d}:00"
    database.execute("INSERT INTO JOBMAIN VALUES (?, 'PostgreSQL', 'TPC-C', ?, ?)", (jobid, settings, moment))
    database.executemany("INSERT INTO JOBOUTPUT VALUES (?, 1, ?)", [(jobid, line) for line in lines])


def hammerdb_report(nopm: int, *, tpm: tuple[tuple[int, int], ...] = (), release: str = "17.5", **more: object) -> str:
    """A job report of HammerDB 6 with the seconds and values of its counter; `more` are other parts of the report."""
    points = [{"timestamp": f"2026-06-20 12:{at // 60:02d}:{at % 60:02d}", "value": value} for at, value in tpm]
    return json.dumps({
        "schema": "hammerdb-job-report-v1",
        "job": {
            "jobid": "6A367B02652203E213737313", "hdb_version": "v6.0", "database": "pg",
            "database_display": "PostgreSQL", "release": release, "benchmark": "TPROC-C",
            "timestamp": "2026-06-20 12:00:00",
        },
        "benchmark_config": {"warehouses": 20, "virtual_users": 5, "rampup_minutes": 1, "duration_minutes": 2},
        "system": {"cpumodel": "a CPU", "cpucount": "32"},
        "result": {"type": "tproc_c_result", "active_virtual_users": 5, "nopm": nopm, "tpm": 2 * nopm},
        "transaction_count": {"series": [{"metric": "tpm", "points": points}]},
        "response_times": {"rows": [{"name": "PAYMENT", "p95_ms": 1.0}, {"name": "NEWORD", "p95_ms": 2.5}]},
        **more,
    })  # fmt: skip


def benchbase(throughput: float, **more: object) -> str:
    """A summary of BenchBase; `more` overrules what is in it."""
    return json.dumps({
        "Start timestamp (milliseconds)": 1_750_000_000_000, "Elapsed Time (nanoseconds)": 60_000_000_000,
        "DBMS Type": "POSTGRES", "DBMS Version": "16.4", "Benchmark Type": "tpcc", "Final State": "EXIT",
        "isolation": "TRANSACTION_SERIALIZABLE", "scalefactor": "10", "terminals": "4",
        "Latency Distribution": {
            "Average Latency (microseconds)": 2000, "99th Percentile Latency (microseconds)": 9000,
        },
        "Throughput (requests/second)": throughput, "Goodput (requests/second)": 0.9 * throughput, **more,
    })  # fmt: skip


def benchbase_raw(requests: list[tuple[float, int]]) -> str:
    """Requests of BenchBase: their starts in seconds and latencies in microseconds."""
    head = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds)"
    lines = [f"1,NewOrder,{start:.6f},{latency},0,1" for start, latency in requests]
    return "\n".join([f"{head},Worker Id (start number),Phase Id (index in config file)", *lines, ""])


def pgbench(
    tps: float, *, clients: int = 4, duration_s: int = 60, seconds: float | None = None, abort: str = ""
) -> str:
    """An output of pgbench 15 with so many transactions per second."""
    processed = round(tps * (duration_s if seconds is None else seconds))
    return (
        f"{abort}transaction type: <builtin: simple update>\nscaling factor: 20\nquery mode: prepared\n"
        f"number of clients: {clients}\nnumber of threads: 2\nmaximum number of tries: 1\nduration: {duration_s} s\n"
        f"number of transactions actually processed: {processed}\nnumber of failed transactions: 0 (0.000%)\n"
        f"latency average = 0.561 ms\ninitial connection time = 7.117 ms\n"
        f"tps = {tps:.6f} (without initial connection time)\n"
        + ("pgbench: error: Run was aborted; the above results are incomplete.\n" if abort else "")
    )
