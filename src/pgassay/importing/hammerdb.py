"""HammerDB's jobs (hammer.DB, an SQLite file), its text log, and its job reports.

The result is what the monitoring virtual user printed.

A job is a run; in a log, what stands from one ramp-up to the next. Relied on in a job database, as in HammerDB 4 to 6:
`JOBMAIN(jobid, db, bm, jobdict, timestamp)` and `JOBOUTPUT(jobid, vu, output)`; used where there:
`JOBTIMING(jobid, procname, p50_ms, p95_ms, p99_ms, summary)`, where `summary` 1 is taken for "all virtual users
together", and `JOBTCOUNT(jobid, counter, metric, timestamp)`. `JOBMETRIC` is passed over. The result is
`TEST RESULT : System achieved N NOPM from M … TPM`, in old versions the other way round. A schema's build or check is a
job too and is left out; `timestamp` is local time without a zone, so it gives the order only.

A job report (HammerDB 6, `jobs JOBID summaryjson`) is a JSON object whose `schema` is "hammerdb-job-report-v1". Relied
on: `result` with `nopm` and `tpm`; used where there: of `job` the versions, database and benchmark, `benchmark_config`,
of `system` the machine, `response_times.rows` and `transaction_count.series`. What `jobs JOBID result` prints is a list
of lines, read as a log.

The transaction counter counts from the start of the virtual users to the last one's end: what it counts in ramp-up and
after the timed minutes is not part of the run's course.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pgassay import untrusted
from pgassay.importing.reader import (
    ABORTED,
    FILE,
    FOLDER,
    TEXT_BYTES_MAX,
    ForeignFile,
    ForeignRun,
    LeftOut,
    Mark,
    Options,
    Reader,
    Reading,
    member,
    rates,
    read_each,
    response,
    unwrapped,
)
from pgassay.interfaces.probe import Sample
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response
from pgassay.untrusted import WHOLE

MAGIC = b"SQLite format 3\x00"
_RESULT = re.compile(
    rf"TEST RESULT : System achieved (?:(?P<nopm>{WHOLE}) NOPM from (?P<tpm>{WHOLE}) (?P<database>.+?) TPM"
    rf"|(?P<old_tpm>{WHOLE}) (?P<old_database>.+?) TPM at (?P<old_nopm>{WHOLE}) NOPM)"
)
_MINUTES = re.compile(r"Timing test period of (\d{1,9}) in minutes")
_USERS = re.compile(rf"({WHOLE}) (?:Active )?Virtual Users configured")
_FAILED = re.compile(rf"Vuser ({WHOLE}):FINISHED FAILED")
_RAMPUP = re.compile(rf"Beginning rampup time of ({WHOLE}) minutes")
_PREFIX = r"\b(?:pg|ora|mssqls|maria|mysql|db2)_"
_KEY = r"(?!\w*pass)(\w+)"  # no password is read
_SET = rf"(?:{_PREFIX})?{_KEY}"  # Oracle's settings have no prefix
_DICT_WORD = re.compile(_PREFIX + _KEY + r" (\{[^}]*\}|\S+)")
_PRINTED = re.compile(
    rf"^ *(?:Changed \w+:{_SET} from .*? to (.*?) for |Value (.*?) for \w+:{_SET} is |{_SET} += (.*))", re.M
)
"""A setting as hammerdbcli says it: changed, left as it was, or in `print dict`."""
_LINE = re.compile(
    rf"Hammerdb Log @|Vuser {WHOLE}:(?:RUNNING|Beginning rampup|Timing test period|TEST RESULT)"
    rf"|(?:{WHOLE} (?:Active )?Virtual Users configured|TEST RESULT : System achieved {WHOLE} .*)(?=\",?$)",
    re.M,
)
_MARKS = (
    Mark(re.compile(r"Hammerdb Log @")),
    Mark(re.compile(rf"Vuser {WHOLE}:Beginning rampup time")),
    Mark(re.compile(rf"Vuser {WHOLE}:Timing test period")),
    Mark(re.compile(rf"(?:Vuser {WHOLE}:)?{_USERS.pattern}")),
    Mark(re.compile(rf"(?:Vuser {WHOLE}:)?TEST RESULT")),
)
REPORT = "hammerdb-job-report-v1"
_TABLES = {"JOBMAIN": ("jobid", "db", "bm", "jobdict", "timestamp"), "JOBOUTPUT": ("jobid", "vu", "output")}
_STEPS_MOST = 200_000_000
"""Of SQLite's machine: a file of ten thousand jobs takes a hundredth of it; a hostile one would not end."""
_JOBS_MOST = 100_000
_LOADED = re.compile(r"CREATING \w+ SCHEMA")
_NO_SETTING = ("timestamp", "after_load")

_PERCENTILES = ("p50_ms", "p95_ms", "p99_ms")
RESPONSES = (
    response("nopm"),
    response("tpm"),
    Response("neword_p50_ms", "median latency of new orders", "ms", Better.LOWER),
    Response("neword_p95_ms", "95th percentile of latency of new orders", "ms", Better.LOWER),
    Response("neword_p99_ms", "99th percentile of latency of new orders", "ms", Better.LOWER),
)


class HammerDbReader(Reader):
    """HammerDB's job database, logs and reports; an SQLite file of another program is named and left out."""

    name = "HammerDB"
    suggested = (
        *("virtual_users", "database", "benchmark", "warehouses", "storedprocs", "allwarehouse", "keyandthink"),
        *("vacuum", "partition", "async_scale", "async_client", "rampup", "duration", "machine", "server_version"),
        *("version", FOLDER, FILE),
    )

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        return file.head.startswith(MAGIC) or _is_report(file) or _LINE.search(file.text) is not None

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        for file in files:
            if file.head.startswith(MAGIC):
                yield file.path, read_hammerdb(file.path)
            elif _is_report(file):
                yield file.path, read_report(str(file.path), file.text)
            else:
                yield file.path, read_log(str(file.path), file.text)


def _is_report(file: ForeignFile) -> bool:
    return file.first_lines.lstrip().startswith("{") and f'"{REPORT}"' in file.first_lines


def read_report(place: str, text: str) -> Reading | str:
    """The one run of a job report; or why there is none."""
    try:
        document = untrusted.json(text)
    except ValueError as failure:
        return f"is a HammerDB job report that cannot be read: {failure}"
    job, asked, system, result = (member(document, name) for name in ("job", "benchmark_config", "system", "result"))
    nopm, tpm = (_number(result.get(name)) for name in ("nopm", "tpm"))
    if nopm is None or tpm is None:
        kind = str(job.get("benchmark") or "an unknown benchmark")
        return f"is a HammerDB job report of {kind} without NOPM and TPM"
    rampup, minutes = (_number(asked.get(name)) for name in ("rampup_minutes", "duration_minutes"))
    rows = member(document, "response_times").get("rows")
    named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    new_order: dict[str, Any] = next((row for row in named if row.get("name") == "NEWORD"), {})
    machine = [str(system[name]) for name in ("cloud_instance", "cpumodel", "cpucount", "memory") if system.get(name)]
    fields = {
        "database": job.get("database_display") or job.get("database"),
        "benchmark": job.get("benchmark"),
        "virtual_users": result.get("active_virtual_users") or asked.get("virtual_users"),
        "warehouses": asked.get("warehouses"),
        "rampup": asked.get("rampup_minutes"),
        "duration": asked.get("duration_minutes"),
        "machine": ", ".join(machine),
        "server_version": job.get("release"),
        "version": job.get("hdb_version"),
        "client_program": f"HammerDB {job['hdb_version']}" if job.get("hdb_version") else "",
        "timestamp": job.get("timestamp"),
    }
    run = ForeignRun(
        place=place,
        fields={name: str(value) for name, value in fields.items() if value not in (None, "")},
        responses={
            "nopm": nopm,
            "tpm": tpm,
            **{f"neword_{name}": _number(new_order.get(name)) for name in _PERCENTILES},
        },
        planned_s=None if minutes is None else 60.0 * minutes,
        series=_course(_points(document), rampup, minutes),
    )
    return Reading("HammerDB", (run,), RESPONSES)


def _number(value: object) -> float | None:
    """A number, also as text; a database and a report may hold anything in any place."""
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _points(document: object) -> Iterator[tuple[object, object]]:
    """Moment and counter of each point of the report's series of transactions."""
    listed = member(document, "transaction_count").get("series")
    for series in listed if isinstance(listed, list) else ():
        points = series.get("points") if isinstance(series, dict) and series.get("metric") == "tpm" else None
        for point in points if isinstance(points, list) else ():
            if isinstance(point, dict):
                yield point.get("timestamp"), point.get("value")


def _course(points: Iterable[tuple[object, object]], rampup: float | None, minutes: float | None) -> tuple[Sample, ...]:
    """The counter's values within the timed minutes, per second; none where these are not known."""
    if rampup is None or minutes is None:
        return ()
    found: list[tuple[float, float]] = []
    first: datetime | None = None
    for at, counted in points:
        value = _number(counted)
        try:
            moment = datetime.fromisoformat(str(at))
            first = first or moment
            offset_s = (moment - first).total_seconds() - 60.0 * rampup
        except (ValueError, TypeError):  # no time, or with a zone where another has none
            continue
        if value is not None and 0.0 < offset_s <= 60.0 * minutes:
            found.append((offset_s, value / 60.0))
    return rates("HammerDB", found)


def read_log(place: str, text: str) -> Reading | str:
    """Every run of a text log or of what hammerdbcli printed; a setting holds for all runs until it is set again."""
    known: dict[str, str] = {}

    def read_part(where: str, part: str) -> Reading | str:
        own, result, after = part.partition("TEST RESULT")
        known.update(_printed(own))
        settings = dict(known)
        known.update(_printed(after) if result else {})
        results = list(_RESULT.finditer(part))
        if len(results) > 1:
            return f"holds {len(results)} results: give each run a file"
        database = next((each["database"] or each["old_database"] for each in results), "")
        run = _run(where, ("", database, "", "", ""), part, {})
        if isinstance(run, str):
            return run
        timed = {"rampup": _RAMPUP.search(part), "duration": _MINUTES.search(part)}
        run = replace(run, fields={**run.fields, **settings, **{name: at[1] for name, at in timed.items() if at}})
        suggested = tuple(name for name in run.fields if name != "timestamp")
        return Reading("HammerDB", (run,), RESPONSES, suggested=suggested)

    return read_each(place, unwrapped(text, _LINE), _MARKS, read_part)


def _printed(text: str) -> Iterator[tuple[str, str]]:
    for found in _PRINTED.finditer(text):
        name, value = found[1] or found[4] or found[5], found[2] or found[3] or found[6] or ""
        yield _NAMES.get(name, name), value.strip()


def read_hammerdb(path: Path) -> Reading | str:
    """Every job with a result, in the order of their times; or why there is none. The file is only read."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    steps = iter(range(_STEPS_MOST // 10_000))
    try:
        untrusted.require_file(path)
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX)
            database.set_progress_handler(lambda: next(steps, None) is None, 10_000)
            for table, wanted in _TABLES.items():
                found = _columns(database, table)
                missing = next((f"column {table}.{column}" for column in wanted if column not in found), "")
                if missing:
                    return f"is an SQLite file without HammerDB's {missing if found else f'table {table}'}"
            return _read(path.name, database)
    except sqlite3.Error as failure:
        return f"is an SQLite file that cannot be read: {failure}"


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Of a table; a view of that name could compute anything."""
    rows = database.execute(
        "SELECT lower(c.name) FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
        " WHERE t.type = 'table' AND upper(t.name) = ?", (table,)
    )  # fmt: skip
    return {str(row[0]) for row in rows}


def _read(name: str, database: sqlite3.Connection) -> Reading:
    timed = {"procname", *_PERCENTILES, "summary"} <= _columns(database, "JOBTIMING")
    counts = {"counter", "metric", "timestamp"} <= _columns(database, "JOBTCOUNT")
    runs: list[ForeignRun] = []
    left_out: list[LeftOut] = []
    loaded = False
    jobs = database.execute(
        f"SELECT jobid, db, bm, jobdict, timestamp FROM JOBMAIN ORDER BY timestamp, rowid LIMIT {_JOBS_MOST}"
    ).fetchall()
    for job in jobs:
        jobid = str(job[0])
        place = f"{name} job {jobid}"
        lines = [str(row[0] or "") for row in database.execute(
            "SELECT output FROM JOBOUTPUT WHERE jobid = ? ORDER BY rowid", (jobid,)
        )]  # fmt: skip
        latencies: dict[str, float | None] = {}
        if timed:  # of new orders over all virtual users (`summary` = 1), where the time profiler was on
            row = database.execute(
                f"SELECT {', '.join(_PERCENTILES)} FROM JOBTIMING"
                " WHERE jobid = ? AND procname = 'NEWORD' AND summary = 1",
                (jobid,),
            ).fetchone()
            columns = zip(_PERCENTILES, row or (None,) * 3, strict=True)
            latencies = {f"neword_{column}": _number(value) for column, value in columns}
        run = _run(place, job, "\n".join(lines), latencies)
        if isinstance(run, str):
            left_out.append(LeftOut(place, run))
            loaded = any(_LOADED.search(line) for line in lines)
            continue
        if loaded:
            run, loaded = replace(run, fields={**run.fields, "after_load": "yes"}), False
        if counts:
            points = database.execute(
                "SELECT timestamp, counter FROM JOBTCOUNT WHERE jobid = ? AND metric = 'tpm' ORDER BY rowid", (jobid,)
            )
            minutes = None if run.planned_s is None else run.planned_s / 60.0
            run = replace(run, series=_course(points, _number(run.fields.get("rampup")), minutes))
        runs.append(run)
    remark = "the order of jobs is that of JOBMAIN.timestamp"
    settings = tuple(dict.fromkeys(name for run in runs for name in run.fields if name not in _NO_SETTING))
    return Reading(
        "HammerDB", tuple(runs), RESPONSES, tuple(left_out), suggested=settings, ordered=True, remarks=(remark,)
    )


def _run(place: str, job: tuple[object, ...], text: str, latencies: dict[str, float | None]) -> ForeignRun | str:
    result, minutes = _RESULT.search(text), _MINUTES.search(text)
    if result is None:
        if minutes is None:
            return "is not a timed test (a schema's build, check or deletion, or a query workload)"
        failed = _FAILED.search(text)
        return f"has no result: {failed[0]}" if failed else "has no result: it was stopped, or still runs"
    users, failures = _USERS.search(text), _FAILED.findall(text)
    return ForeignRun(
        place=place,
        fields={
            "database": str(job[1] or ""),
            "benchmark": str(job[2] or ""),
            "virtual_users": users[1] if users else "",
            "timestamp": str(job[4] or ""),
            # a few words of the job's Tcl dictionary, which is a flat text of names and values
            **{_NAMES.get(name, name): value.strip("{}") for name, value in _DICT_WORD.findall(str(job[3] or ""))},
        },
        responses={
            **{name: float(result[name] or result[f"old_{name}"]) for name in ("nopm", "tpm")},
            **latencies,
        },
        planned_s=60.0 * int(minutes[1]) if minutes else None,
        problems=(Reason(ABORTED, f"virtual users {', '.join(failures)} finished with failures"),) if failures else (),
    )


_NAMES = {"count_ware": "warehouses", "host": "pg_host"}
