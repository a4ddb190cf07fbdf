"""HammerDB's jobs (hammer.DB, an SQLite file) and its text log; the result is what its monitoring virtual user printed.

A job is a run; in a log, what stands from one ramp-up to the next. Relied on in a job database, as in HammerDB 4 to 6:
`JOBMAIN(jobid, db, bm, jobdict, timestamp)` and `JOBOUTPUT(jobid, vu, output)`; used where there:
`JOBTIMING(jobid, procname, p50_ms, p95_ms, p99_ms, summary)`, where `summary` 1 is taken for "all virtual users
together". `JOBTCOUNT` and `JOBMETRIC` are passed over. The result is `TEST RESULT : System achieved N NOPM from M …
TPM`, in old versions the other way round. A schema's build or check is a job too and is left out; `timestamp` is local
time without a zone, so it gives the order only.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pgassay.importing.reader import (
    ABORTED,
    FILE,
    FOLDER,
    ForeignFile,
    ForeignRun,
    LeftOut,
    Mark,
    Options,
    Reader,
    Reading,
    read_each,
    response,
    unwrapped,
)
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response

MAGIC = b"SQLite format 3\x00"
_RESULT = re.compile(r"TEST RESULT : System achieved (\d+) NOPM from (\d+) (.+?) TPM")
_OLD_RESULT = re.compile(r"TEST RESULT : System achieved (\d+) (.+?) TPM at (\d+) NOPM")
_MINUTES = re.compile(r"Timing test period of (\d+) in minutes")
_USERS = re.compile(r"(\d+) (?:Active )?Virtual Users configured")
_FAILED = re.compile(r"Vuser (\d+):FINISHED FAILED")
_RAMPUP = re.compile(r"Beginning rampup time of (\d+) minutes")
_PREFIX = r"\b(?:pg|ora|mssqls|maria|mysql|db2)_"
_KEY = r"(?!\w*pass)(\w+)"  # no password is read
_SET = rf"(?:{_PREFIX})?{_KEY}"  # Oracle's settings have no prefix
_DICT_WORD = re.compile(_PREFIX + _KEY + r" (\{[^}]*\}|\S+)")
_PRINTED = re.compile(
    rf"^ *(?:Changed \w+:{_SET} from .*? to (.*?) for |Value (.*?) for \w+:{_SET} is |{_SET} += (.*))", re.M
)
"""A setting as hammerdbcli says it: changed, left as it was, or in `print dict`."""
_LINE = re.compile(r"Hammerdb Log @|Vuser \d+:(?:RUNNING|Beginning rampup|Timing test period|TEST RESULT)")
_MARKS = (
    Mark(re.compile(r"Hammerdb Log @")),
    Mark(re.compile(r"Vuser \d+:Beginning rampup time")),
    Mark(re.compile(r"Vuser \d+:Timing test period")),
    Mark(re.compile(rf"Vuser \d+:{_USERS.pattern}")),
    Mark(re.compile(r"Vuser \d+:TEST RESULT")),
)

RESPONSES = (
    response("nopm"),
    response("tpm"),
    Response("neword_p50_ms", "median latency of new orders", "ms", Better.LOWER),
    Response("neword_p95_ms", "95th percentile of latency of new orders", "ms", Better.LOWER),
    Response("neword_p99_ms", "99th percentile of latency of new orders", "ms", Better.LOWER),
)


class HammerDbReader(Reader):
    """HammerDB's job database, hammer.DB, and its text log; an SQLite file of another program is named and left out."""

    name = "HammerDB"
    suggested = (
        *("virtual_users", "database", "benchmark", "warehouses", "storedprocs", "allwarehouse", "keyandthink"),
        *("vacuum", "partition", "async_scale", "async_client", "rampup", "duration", FOLDER, FILE),
    )

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        return file.head.startswith(MAGIC) or _LINE.search(file.text) is not None

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        for file in files:
            found = read_hammerdb(file.path) if file.head.startswith(MAGIC) else read_log(str(file.path), file.text)
            yield file.path, found


def read_log(place: str, text: str) -> Reading | str:
    """Every run of a text log or of what hammerdbcli printed; a setting holds for all runs until it is set again."""
    known: dict[str, str] = {}

    def read_part(where: str, part: str) -> Reading | str:
        own, result, after = part.partition("TEST RESULT")
        known.update(_printed(own))
        settings = dict(known)
        known.update(_printed(after) if result else {})
        results = len(_RESULT.findall(part)) + len(_OLD_RESULT.findall(part))
        if results > 1:
            return f"holds {results} results: give each run a file"
        new, old = _RESULT.search(part), _OLD_RESULT.search(part)
        database = new[3] if new else old[2] if old else ""
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
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            missing = _missing(database)
            if missing:
                return f"is an SQLite file without HammerDB's {missing}"
            return _read(path.name, database)
    except sqlite3.Error as failure:
        return f"is an SQLite file that cannot be read: {failure}"


def _missing(database: sqlite3.Connection) -> str:
    wanted = {"JOBMAIN": ("jobid", "db", "bm", "jobdict", "timestamp"), "JOBOUTPUT": ("jobid", "vu", "output")}
    for table, columns in wanted.items():
        found = _columns(database, table)
        if not found:
            return f"table {table}"
        for column in columns:
            if column not in found:
                return f"column {table}.{column}"
    return ""


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    rows = database.execute("SELECT lower(name) FROM pragma_table_info(?)", (table,)).fetchall()
    return {str(row[0]) for row in rows}


def _read(name: str, database: sqlite3.Connection) -> Reading:
    timed = {"procname", "p50_ms", "p95_ms", "p99_ms", "summary"} <= _columns(database, "JOBTIMING")
    runs: list[ForeignRun] = []
    left_out: list[LeftOut] = []
    jobs = database.execute(
        "SELECT jobid, db, bm, jobdict, timestamp FROM JOBMAIN ORDER BY timestamp, rowid"
    ).fetchall()
    for job in jobs:
        jobid = str(job[0])
        place = f"{name} job {jobid}"
        lines = [str(row[0] or "") for row in database.execute(
            "SELECT output FROM JOBOUTPUT WHERE jobid = ? ORDER BY rowid", (jobid,)
        )]  # fmt: skip
        run = _run(place, job, "\n".join(lines), _latencies(database, jobid) if timed else {})
        if isinstance(run, str):
            left_out.append(LeftOut(place, run))
        else:
            runs.append(run)
    remark = "the order of jobs is that of JOBMAIN.timestamp"
    settings = tuple(dict.fromkeys(name for run in runs for name in run.fields if name != "timestamp"))
    return Reading(
        "HammerDB", tuple(runs), RESPONSES, tuple(left_out), suggested=settings, ordered=True, remarks=(remark,)
    )


def _run(place: str, job: tuple[object, ...], text: str, latencies: dict[str, float | None]) -> ForeignRun | str:
    result, old, minutes = _RESULT.search(text), _OLD_RESULT.search(text), _MINUTES.search(text)
    if result is None and old is None:
        if minutes is None:
            return "is no timed test (a schema's build, check or deletion, or a query workload)"
        failed = _FAILED.search(text)
        return f"has no result: {failed[0]}" if failed else "has no result: it was stopped, or still runs"
    nopm, tpm = (result[1], result[2]) if result else (old[3], old[1]) if old else ("", "")
    users = _USERS.search(text)
    failures = _FAILED.findall(text)
    problems = (Reason(ABORTED, f"virtual users {', '.join(failures)} finished with failures"),) if failures else ()
    planned_s = 60.0 * int(minutes[1]) if minutes else None
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
        responses={"nopm": float(nopm), "tpm": float(tpm), **latencies},
        planned_s=planned_s,
        problems=problems,
    )


_NAMES = {"count_ware": "warehouses", "host": "pg_host"}


def _latencies(database: sqlite3.Connection, jobid: str) -> dict[str, float | None]:
    """Those of new orders over all virtual users (`summary` = 1), where the time profiler was on."""
    row = database.execute(
        "SELECT p50_ms, p95_ms, p99_ms FROM JOBTIMING WHERE jobid = ? AND procname = 'NEWORD' AND summary = 1", (jobid,)
    ).fetchone()
    names = ("neword_p50_ms", "neword_p95_ms", "neword_p99_ms")
    return {name: None if row is None or row[i] is None else float(row[i]) for i, name in enumerate(names)}
