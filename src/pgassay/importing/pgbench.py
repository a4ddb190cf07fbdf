"""pgbench's outputs and per-transaction logs as foreign runs.

An output holds one run, or several where a loop appended them. The log of one, alone with it in a folder, adds
quantiles and seconds. A log without an output is a run whose tps is counted between its first and last transaction.
Every line that pgbench prints before its results is a setting, so runs that differ in one are never repetitions.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pgassay._core import PgbenchLog, PgbenchLogError, read_pgbench_logs
from pgassay.errors import PgassayError
from pgassay.importing.reader import (
    ABORTED,
    FILE,
    FOLDER,
    ForeignFile,
    ForeignRun,
    Mark,
    Options,
    Reader,
    Reading,
    rates,
    read_each,
    unwrapped,
)
from pgassay.interfaces.probe import Sample
from pgassay.load.pgbench.output import (
    RESPONSES,
    Summary,
    first_abort,
    first_error,
    latencies,
    of_summary,
    parse_progress,
    parse_summary,
    problems_of_log,
    problems_of_summary,
)
from pgassay.record.values import Reason
from pgassay.untrusted import REAL

_COLUMNS = 6
"""Of a log without lag and retries."""
_HEAD_LINES = 1000
_NS = 1_000_000_000


class PgbenchReader(Reader):
    """pgbench's output (stdout, stderr or both) and its logs of `--log`."""

    name = "pgbench"
    suggested = (
        *("scale", "clients", "threads", "protocol", "script", "duration", "transactions_per_client", "max_tries"),
        *("rate_limited", "latency_limit", "partition_method", "partitions", "reconnects", "version", "server_version"),
        *(FOLDER, FILE),
    )
    reads_together = True

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        first = file.first_lines
        return is_log(first) or (not file.is_long and any(each.search(first) for each in (_TYPE, _ELSE)))

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        logged, outputs = ([file for file in files if is_log(file.first_lines) is wanted] for wanted in (True, False))
        names = {file.path for file in logged if file.piped is None}
        logs: dict[Path, list[Path]] = {}
        for file in logged:  # `prefix.PID` of the first thread and `prefix.PID.N` of the others belong together
            first, is_thread = file.path.with_suffix(""), file.path.suffix[1:].isdecimal()
            if file.piped is not None:
                yield file.path, "is a log of pgbench in a pipe: name its file, since a log is read twice"
            else:
                logs.setdefault(first if is_thread and first in names else file.path, []).append(file.path)
        taken: set[Path] = set()
        for file in outputs:
            near = [first for first in logs if first.parent == file.path.parent]
            alone = len(near) == 1 and sum(other.path.parent == file.path.parent for other in outputs) == 1
            taken |= set(near) if alone else set()
            yield file.path, read_outputs(str(file.path), file.text, logs[near[0]] if alone else ())
        has_lag, has_retries = "lag" in options.log_has, "retries" in options.log_has
        for first, threads in logs.items():
            if first not in taken:
                yield first, read_log_alone(str(first), threads, has_lag=has_lag, has_retries=has_retries)


_TYPE = re.compile(r"^[^\"'=\n]{0,80}?(?=transaction type: )", re.MULTILINE)
_TYPED = re.compile(r"transaction type: ")
_ELSE = re.compile(r"^(?:pgbench: |pgbench \(|starting vacuum\.\.\.|progress: [\d.]+ s, )", re.MULTILINE)
_HEAD, _RESULT = "transaction type: ", "number of transactions actually processed: "
_BULLET = re.compile(r"^[-*] (?=[a-z])", re.MULTILINE)
_LOST = re.compile(r"^transaction type:$", re.MULTILINE)
"""A page of the web takes `<builtin: …>` for a tag of its own."""
_LOADED = re.compile(r"^(?:dropping old tables|creating tables|generating data)\b", re.MULTILINE)
_MARKS = (
    Mark(_LOADED, often=True),
    Mark(re.compile(r"pgbench \(")),
    Mark(re.compile(r"starting vacuum\.\.\.")),
    Mark(re.compile(rf"progress: ({REAL}) s, "), often=True),
    Mark(_TYPED),
    Mark(re.compile(r"tps = "), often=True),
)


def is_log(text: str) -> bool:
    """Is the first line a transaction (or a summed interval) of `pgbench -l`?"""
    words = text.partition("\n")[0].split()
    return len(words) >= 6 and all(word.isdecimal() for place, word in enumerate(words) if place != 2)


def read_outputs(place: str, text: str, logs: Sequence[Path] = ()) -> Reading | str:
    """Every run of an output; `logs` belong to it where it holds one."""
    plain = _LOST.sub("transaction type: unknown", _BULLET.sub("", unwrapped(text, _TYPED)))
    heads, results = (sum(line.startswith(first) for line in plain.splitlines()) for first in (_HEAD, _RESULT))
    if results > max(heads, 1):
        return f"holds {results} results and the settings of {heads}: give each run a file, as pgbench printed it"
    one = heads == 1
    return read_each(place, plain, _MARKS, lambda where, part: read_output(where, part, logs if one else ()))


def read_output(place: str, text: str, logs: Sequence[Path] = ()) -> Reading | str:
    """The one run of an output (stdout, stderr or both), with its log where one belongs to it; or why there is none."""
    abort = first_abort(text)
    if _TYPED.search(text) is None and _LOADED.search(text):
        return "is pgbench's output of an initialisation"
    try:
        said = parse_summary(text)
    except PgassayError as failure:
        said_last = abort or first_error(text)
        return f"pgbench gave up without a summary: {said_last}" if said_last else failure.message
    values = dict(of_summary(said))
    problems = {**({ABORTED: abort} if abort else {}), **problems_of_summary(said)}
    problems.pop("skipped_transactions", None)  # with a latency limit, skipping is what was asked for
    done = said.processed + (said.failed or 0) + (said.skipped or 0)
    if said.due is not None and done < said.due:  # the words of the abort are on stderr, which may be lost
        problems.setdefault(ABORTED, f"ran {done} of {said.due} transactions")
    series = rates("pgbench", ((each.elapsed_s, each.tps) for each in parse_progress(text)))
    started_s = None
    if logs:
        log = read_log(logs, has_lag=said.schedule_lag_ms is not None, has_retries=(said.max_tries or 1) != 1)
        if isinstance(log, str):
            problems["log_unreadable"] = log
        else:
            problems |= problems_of_log(said, log.totals.transactions)
            values |= latencies(log.totals.latency)
            series = _seconds(log)
            started_s = None if log.first_us is None else log.first_us / 1e6
    run = ForeignRun(
        place=place,
        fields=_fields(said, text),
        responses=values,
        seconds=said.processed / said.tps if said.tps else None,  # an abort shows, whatever duration was asked
        planned_s=None if said.duration_s is None else float(said.duration_s),
        started_s=started_s,
        problems=tuple(Reason(code, detail) for code, detail in problems.items()),
        series=series,
    )
    none = {"client_program", "after_load", *(each.name for each in RESPONSES)}
    settings = tuple(name for name in run.fields if name not in none)
    return Reading("pgbench", (run,), RESPONSES, suggested=settings)


def read_log_alone(place: str, files: Sequence[Path], *, has_lag: bool, has_retries: bool) -> Reading | str:
    """The run of which only the log is left; or why it cannot be read. A log of six columns has neither of the two."""
    plain = all(len(row) == _COLUMNS for path in files for row in _head(path))
    log = read_log(files, has_lag=has_lag and not plain, has_retries=has_retries and not plain)
    if isinstance(log, str):
        return log
    if log.first_us is None or log.last_us is None or log.last_us <= log.first_us:
        return "holds fewer than two transactions"
    length_s = (log.last_us - log.first_us) / 1e6
    run = ForeignRun(
        place=place,
        fields={"log_files": str(len(files))},
        responses={"tps": log.totals.transactions / length_s, **latencies(log.totals.latency)},
        seconds=length_s,
        started_s=log.first_us / 1e6,
        series=_seconds(log),
    )
    remark = "a log without pgbench's output does not say whether the run ended well; its tps is transactions per time"
    return Reading("pgbench log", (run,), RESPONSES, remarks=(remark,))


def read_log(files: Sequence[Path], *, has_lag: bool, has_retries: bool) -> PgbenchLog | str:
    """All threads' files; or why they are not every transaction of one run."""
    for path in files:
        fault = _not_every_transaction(_head(path), _COLUMNS + has_lag + has_retries)
        if fault:
            return f"{path.name} {fault}"
    try:
        return read_pgbench_logs([str(path) for path in files], has_lag=has_lag, has_retries=has_retries)
    except (PgbenchLogError, OSError, ValueError) as failure:
        return str(failure)


def _head(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        return [line.split() for _, line in zip(range(_HEAD_LINES), file, strict=False)]


def _not_every_transaction(rows: Sequence[Sequence[str]], width: int) -> str | None:
    """Summed intervals, a sample, or columns that were not announced: each would give a wrong number in silence."""
    last: dict[str, int] = {}
    for row in rows:
        if len(row) > 6 and len(row[0]) >= 9:
            return "holds sums of intervals (--aggregate-interval) and not transactions"
        if len(row) in (7, 8) and len(row) != width:
            return f"has {len(row)} columns: say --log-has lag (pgbench --rate), retries (--max-tries) or both"
        if len(row) < 3 or not row[1].isdecimal():
            continue
        number = int(row[1])
        if number > last.get(row[0], 0) + 1:
            return "holds a sample of the transactions (--sampling-rate)"
        last[row[0]] = number
    return None


_LATENCY_LIMIT = re.compile(r"^number of transactions above the (.+ ms) latency limit", re.MULTILINE)
_VERSIONS = re.compile(r"^pgbench \((?:PostgreSQL\) )?(.+?)(?:, server (.+?))?\)?$", re.MULTILINE)
_SETTING = re.compile(r"^(?!pgbench|progress)([a-z][a-z ]*): (.+)$", re.MULTILINE)
_NAMES = {
    "transaction type": "script", "scaling factor": "scale", "query mode": "protocol", "number of clients": "clients",
    "number of threads": "threads", "number of transactions per client": "transactions_per_client",
    "maximum number of tries": "max_tries",
}  # fmt: skip
"""What pgbench calls a setting, and the field that has it; another is a field by its own name."""


def _fields(said: Summary, text: str) -> dict[str, str]:
    """Every setting that an output names; runs that differ in one are no repetitions."""
    header = text[text.index("transaction type: ") :].partition("number of transactions actually processed")[0]
    found = {_NAMES.get(name, name.replace(" ", "_")): value for name, value in _SETTING.findall(header)}
    versions, limit = _VERSIONS.search(text), _LATENCY_LIMIT.search(text)
    if versions:  # the server's own is printed only where it differs
        found |= {"version": versions[1], "server_version": versions[2] or versions[1]}
        found["client_program"] = f"pgbench {versions[1]}"
    if _LOADED.search(text[: text.index("transaction type: ")]):
        found["after_load"] = "yes"
    if limit:
        found["latency_limit"] = limit[1]
    if said.scripts:
        found["script"] = ", ".join(f"{each.name}@{each.weight}" for each in said.scripts)
    if said.schedule_lag_ms is not None:
        found["schedule_lag_ms"] = f"{said.schedule_lag_ms:g}"
    if said.reconnection_ms is not None or said.initial_connection_ms is not None:
        found["reconnects"] = "no" if said.reconnection_ms is None else "yes"
    return {**found, "rate_limited": "no" if said.schedule_lag_ms is None else "yes"}


def _seconds(log: PgbenchLog) -> tuple[Sample, ...]:
    """Whole seconds of the log, the first and last left out as they are cut short."""
    columns = log.series.columns()
    names = ("offset_s", "wall_ns", "transactions")
    rows = list(zip(*(columns[name] for name in names), strict=True))[1:-1]
    return tuple(
        Sample(round(offset_s * _NS), int(wall_ns), "pgbench", "tps", "1/s", float(count))
        for offset_s, wall_ns, count in rows
    )
