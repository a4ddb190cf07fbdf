"""What pgbench prints, versions 9.4 to 19, and what a run of it came to: responses, problems, options as echoed.

It has no machine-readable output in any version, so its summary (stdout), and its progress and errors (stderr) are
parsed. What is not understood is an explicit error, never a number. The wording moved between versions: 13 prints tps
twice (including and excluding connections), 14 one line and the connection time, 15 adds failures and retries, 17 and
later count failures into each script's own transactions. From 14 on tps with -C includes the connections. Before 10 a
latency comes after a colon.

`progress: 1.0 s, 3611.7 tps, lat 1.097 ms stddev 0.525, 0 failed`: 15 adds the failures, -R a lag, -L what was skipped,
--max-tries what was retried. The last second may be missing; a second without a transaction has `NaN` for its latency.

tps is pgbench's own "without initial connection time". Latencies run from the scheduled start of a transaction when a
rate is set, so waiting behind a slow one counts (no coordinated omission); failed and skipped ones have none.

The per-transaction log gives quantiles and a series per second, by the Rust core, in one pass and constant memory. It
is large (35 bytes a transaction) and is dropped once read, unless `load.keep_log` asks for it; what stays is a latency
sketch of every second, script and of the whole, from which any quantile can be taken again within 0.4 %
(`LatencySketch.from_bytes`).
"""

import gzip
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pgassay._core import LatencySketch, PgbenchLog, read_pgbench_logs
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.load import Moment
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Completed
from pgassay.load import responses as shared
from pgassay.load.options import JOBS
from pgassay.load.pgbench.options import BUILTINS, OURS, PgbenchOptions, Script, show_scripts
from pgassay.study.responses import Better, Response, Scale
from pgassay.untrusted import REAL, WHOLE


@dataclass(frozen=True)
class ScriptSummary:
    """One script's block in a run of several: its name as echoed, weight, transactions and tps."""

    name: str
    weight: int = 1
    transactions: int | None = None
    tps: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True)
class Summary:
    """A whole summary. Counts are transactions; what a version or a run does not print is None.

    `tps` and the latencies are None when no transaction was processed. `processed` excludes failed and skipped ones;
    `due` is how many should have been.
    """

    transaction_type: str
    scale: int
    protocol: str
    clients: int
    threads: int
    processed: int
    due: int | None = None
    duration_s: int | None = None
    transactions_per_client: int | None = None
    max_tries: int | None = None
    failed: int | None = None
    retries: int | None = None
    skipped: int | None = None
    late: int | None = None
    latency_ms: float | None = None
    latency_stddev_ms: float | None = None
    schedule_lag_ms: float | None = None
    schedule_lag_max_ms: float | None = None
    initial_connection_ms: float | None = None
    reconnection_ms: float | None = None
    tps: float | None = None
    scripts: tuple[ScriptSummary, ...] = field(default=())


_LINES = (
    r"transaction type: (?P<transaction_type>.+)",
    rf"scaling factor: (?P<scale>{WHOLE})",
    r"query mode: (?P<protocol>simple|extended|prepared)",
    rf"number of clients: (?P<clients>{WHOLE})",
    rf"number of threads: (?P<threads>{WHOLE})",
    rf"maximum number of tries: (?P<max_tries>{WHOLE})",
    rf"duration: (?P<duration_s>{WHOLE}) s",
    rf"number of transactions per client: (?P<transactions_per_client>{WHOLE})",
    rf"number of transactions actually processed: (?P<processed>{WHOLE})(?:/(?P<due>{WHOLE}))?",
    rf"number of failed transactions: (?P<failed>{WHOLE}) \(.*\)",
    rf"total number of retries: (?P<retries>{WHOLE})",
    rf"number of transactions skipped: (?P<skipped>{WHOLE}) \(.*\)",
    rf"number of transactions above the .+ ms latency limit: (?P<late>{WHOLE})/{WHOLE} \(.*\)",
    rf"latency average(?: =|:) (?P<latency_ms>{REAL}) ms(?: \(including failures\))?",
    rf"latency stddev(?: =|:) (?P<latency_stddev_ms>{REAL}) ms",
    rf"rate limit schedule lag: avg (?P<schedule_lag_ms>{REAL}) \(max (?P<schedule_lag_max_ms>{REAL})\) ms",
    rf"initial connection time = (?P<initial_connection_ms>{REAL}) ms",
    rf"average connection time = (?P<reconnection_ms>{REAL}) ms",
    rf"tps = (?P<tps>{REAL}) \((?:without initial connection time|excluding connections establishing"
    r"|including reconnection times)\)",
)
_REQUIRED = ("transaction_type", "scale", "protocol", "clients", "threads", "processed")
_SCRIPT_LINES = (
    rf" - weight: (?P<weight>{WHOLE}) \(.*\)",
    rf" - (?P<transactions>{WHOLE}) transactions \(.* of total, tps = (?P<tps>{REAL})\)",
    rf" - number of transactions actually processed: (?P<transactions>{WHOLE}) \(tps = (?P<tps>{REAL})\)",
    rf" - latency average = (?P<latency_ms>{REAL}) ms",
)
_SCRIPT_HEAD = re.compile(rf"SQL script {WHOLE}: (.+)")


def parse_summary(text: str) -> Summary:
    """The summary in `text`; raises `LoadError` where it is incomplete, cut short or contradicts itself."""
    found: dict[str, object] = {}
    scripts: list[dict[str, object]] = []
    for line in text.splitlines():
        head = _SCRIPT_HEAD.fullmatch(line)
        if head:
            scripts.append({"name": head[1]})
        elif scripts:
            scripts[-1].update(_values(line, _SCRIPT_LINES))
        else:
            for name, value in _values(line, _LINES).items():
                if found.setdefault(name, value) != value:
                    raise _unrecognised(f'"{name}" is given twice')
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        raise _unrecognised(f'no line for "{missing[0]}"')
    if found["processed"] and "tps" not in found:
        raise _unrecognised("transactions were processed but there is no tps")
    if "duration_s" not in found and "transactions_per_client" not in found:
        raise _unrecognised("neither a duration nor a number of transactions")
    parts = tuple(ScriptSummary(**script) for script in scripts)  # type: ignore[arg-type]
    return Summary(**found, scripts=parts)  # type: ignore[arg-type]


def _values(line: str, known: Sequence[str]) -> dict[str, object]:
    match = next(filter(None, (re.fullmatch(pattern, line) for pattern in known)), None)
    found: dict[str, object] = {}
    for name, text in match.groupdict().items() if match else ():
        if text is None:
            continue
        if name in ("transaction_type", "protocol"):
            found[name] = text
        else:
            found[name] = float(text) if name == "tps" or name.endswith("_ms") else int(text)
    return found


def _unrecognised(why: str) -> LoadError:
    return LoadError(
        f"pgbench's summary has an unrecognised format: {why}",
        "pgassay reads pgbench 13 to 19; see pgbench.out in the trial",
    )


_LATENCY = rf"(-?nan|-?NaN|{REAL})"
_PROGRESS = re.compile(
    rf"progress: {_LATENCY} s, {_LATENCY} tps, lat {_LATENCY} ms stddev {_LATENCY}"
    rf"(?:, ({WHOLE}) failed)?(?:, lag {_LATENCY} ms)?(?:, ({WHOLE}) skipped)?"
    rf"(?:, ({WHOLE}) retried, ({WHOLE}) retries)?"
)
_ABORTED = re.compile(rf"(?:pgbench: error: )?[Cc]lient {WHOLE} (?:script {WHOLE} )?aborted.*")
_GIVEN_UP = re.compile(r"(?:pgbench: (?:error|fatal): )?Run was aborted.*")
"""Before 12 without the program's name."""
_WRONG = re.compile(r"pgbench: (?:error|fatal): .*")


@dataclass(frozen=True)
class Progress:
    """One second: `elapsed_s` since the run began, its tps, mean latency (None without transactions) and failures."""

    elapsed_s: float
    tps: float
    latency_ms: float | None
    failed: int | None


def parse_progress(text: str) -> tuple[Progress, ...]:
    """Every whole progress line in order; other lines (NOTICEs, errors) are passed over."""
    found = []
    for match in filter(None, map(_PROGRESS.fullmatch, text.splitlines())):
        elapsed_s, tps, latency_ms = float(match[1]), float(match[2]), float(match[3])
        failed = None if match[5] is None else int(match[5])
        found.append(Progress(elapsed_s, tps, latency_ms if math.isfinite(latency_ms) else None, failed))
    return tuple(found)


def first_abort(text: str) -> str | None:
    """The first client's own words when clients were aborted, else pgbench's; None when nothing was."""
    return _first(_ABORTED, text) or _first(_GIVEN_UP, text)


def first_error(text: str) -> str | None:
    return _first(_WRONG, text)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    return next((line.removeprefix("pgbench: ") for line in text.splitlines() if pattern.fullmatch(line)), None)


_LOWER = Better.LOWER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    Response("latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    *shared.LATENCIES,
    Response("schedule_lag_ms", "mean lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("schedule_lag_max_ms", "greatest lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("failed_share", "share of transactions that failed", "share", _LOWER, _DIFFERENCE),
    Response("skipped_share", "share of transactions skipped as too late", "share", _LOWER, _DIFFERENCE),
    Response("late_share", "share of transactions over the latency limit", "share", _LOWER, _DIFFERENCE),
    Response("retries_per_transaction", "retries per transaction", "count", _LOWER, _DIFFERENCE),
    shared.IMPOSSIBLE,
)
_MANY = "multiple scripts"


def of_summary(summary: Summary) -> dict[str, float | None]:
    """Every response that the summary knows; shares are of all transactions that were due."""
    failed, skipped = summary.failed, summary.skipped
    due = summary.processed + (failed or 0) + (skipped or 0)
    return {
        "tps": summary.tps,
        "latency_ms": summary.latency_ms,
        "latency_stddev_ms": summary.latency_stddev_ms,
        "schedule_lag_ms": summary.schedule_lag_ms,
        "schedule_lag_max_ms": summary.schedule_lag_max_ms,
        "failed_share": _share(failed, due),
        "skipped_share": _share(skipped, due),
        "late_share": _share(summary.late, summary.processed),
        "retries_per_transaction": _share(summary.retries, summary.processed),
    }


def problems_of_status(done: Completed) -> dict[str, str]:
    """What the exit status and stderr say (status 1: it could not begin; 2: errors during the run)."""
    abort = first_abort(done.stderr)
    if abort is not None:
        return {"aborted": abort}
    if done.status == 0:
        return {}
    if done.status < 0:
        return {"killed": f"pgbench was ended by signal {-done.status}"}
    lines = done.stderr.strip().splitlines()
    detail = first_error(done.stderr) or (lines[-1] if lines else "no message")
    return {"refused" if done.status == 1 else "aborted": detail}


def problems_of_summary(said: Summary) -> dict[str, str]:
    problems = {}
    due = said.processed + (said.failed or 0) + (said.skipped or 0)
    if said.failed:
        problems["failed_transactions"] = f"{said.failed} of {due} transactions failed ({said.failed / due:.1%})"
    if said.skipped:
        problems["skipped_transactions"] = f"{said.skipped} of {due} transactions were skipped as too late"
    if said.processed == 0:
        problems["no_transactions"] = "no transaction was processed"
    return problems


def problems_of_log(said: Summary, logged: int) -> dict[str, str]:
    """Does the log hold as many transactions as the summary counts? A full disk cuts it short silently."""
    if logged == said.processed:
        return {}
    return {"log_incomplete": f"the log holds {logged} of {said.processed} transactions"}


def read_back(said: Summary, options: PgbenchOptions) -> dict[str, str]:
    """`load.NAME` to what pgbench echoed, in the canonical form of the levels so that each can be compared.

    pgbench runs no more threads than clients, and names a lone script by its title; both are put back into the words of
    the levels where they agree, and left as pgbench says them where they do not.
    """
    titles = {**BUILTINS, **{name: str(path) for name, path in OURS.items()}}
    names = {title: name for name, title in titles.items()}
    echoed = {
        "load.clients": str(said.clients),
        "load.jobs": JOBS.show(options.jobs) if said.threads == options.threads else str(said.threads),
        "load.protocol": said.protocol,
        "load.script": names.get(said.transaction_type, said.transaction_type),
    }
    if said.transaction_type == _MANY:
        scripts = (Script(names.get(each.name, each.name), each.weight) for each in said.scripts)
        echoed["load.script"] = show_scripts(tuple(scripts))
    if said.duration_s is not None:
        echoed["load.duration"] = f"{said.duration_s}s"
    if said.transactions_per_client is not None:
        echoed["load.transactions"] = str(said.transactions_per_client)
    if said.max_tries is not None:
        echoed["load.max_tries"] = str(said.max_tries)
    return echoed


def _share(part: int | None, whole: int) -> float | None:
    return None if part is None or whole == 0 else part / whole


_SERIES = (
    ("tps", "1/s", "transactions", 1.0),
    ("latency_ms", "ms", "latency_mean_us", 1e-3),
    ("latency_p50_ms", "ms", "latency_p50_us", 1e-3),
    ("latency_p99_ms", "ms", "latency_p99_us", 1e-3),
    ("latency_max_ms", "ms", "latency_max_us", 1e-3),
    ("failed", "count", "failed", 1.0),
    ("skipped", "count", "skipped", 1.0),
)
_GZIP_LEVEL = 1
"""A third of the size of the text in a fifth of the time of level 6."""


@dataclass(frozen=True)
class Logged:
    """What the log holds: `count` transactions that succeeded; `log` is None when it could not be read."""

    count: int = 0
    latencies: Mapping[str, float | None] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    log: PgbenchLog | None = None


def log_files(prefix: Path) -> list[Path]:
    """`prefix.PID` of the first thread and `prefix.PID.N` of the others."""
    return sorted(each for each in prefix.parent.glob(f"{prefix.name}.*") if each.suffix[1:].isdigit())


def read_log(prefix: Path, options: PgbenchOptions, began_wall_ns: int) -> Logged:
    """Read all threads' files; seconds count from the start of the run."""
    files = log_files(prefix)
    if not files:
        return Logged()
    try:
        log = read_pgbench_logs(
            [str(each) for each in files],
            start_us=began_wall_ns // 1000,
            has_lag=options.rate_tps is not None,
            has_retries=options.max_tries != 1,
        )
    except (OSError, ValueError) as error:
        return Logged(problems={"unreadable_log": str(error)})
    return Logged(log.totals.transactions, latencies(log.totals.latency), {}, log)


def latencies(sketch: LatencySketch) -> dict[str, float | None]:
    """Quantiles and the greatest latency in ms, the share that no answer can have; None without a transaction."""
    found_us = {name: sketch.quantile(share) for name, share in shared.QUANTILES.items()} | {
        "latency_max_ms": sketch.max_us
    }
    found_ms = {name: None if latency_us is None else latency_us / 1000 for name, latency_us in found_us.items()}
    return {**found_ms, shared.IMPOSSIBLE.name: share_within(sketch, shared.IMPOSSIBLE_US)}


def share_within(sketch: LatencySketch, limit_us: int) -> float | None:
    """The share of latencies up to a limit; None when empty.

    pgbench takes one statement's end for the next one's beginning, and reads the clock only when it must: an answer
    that is there at once has a latency of nothing (`pg_time_now_lazy` in pgbench.c).
    """
    if sketch.count == 0:
        return None
    # The greatest rank whose latency is within the limit, by bisection.
    least, most = 0, sketch.count
    while least < most:
        rank = (least + most + 1) // 2
        latency_us = sketch.quantile(rank / sketch.count)
        if latency_us is not None and latency_us <= limit_us:
            least = rank
        else:
            most = rank - 1
    return least / sketch.count


def put_away(prefix: Path, sketch_file: Path, logged: Logged, keep: bool) -> None:
    """Write the sketches to `sketch_file`; keep the log compressed, or remove it. An unreadable log stays as it is."""
    if logged.log is None:
        return
    log = logged.log
    more = {  # what is needed to place each second in time, and the latencies of each script
        "start_us": log.start_us,
        "lines": log.lines,
        "first_wall_ns": log.series["wall_ns"][0] if len(log.series) else None,
        "scripts": {str(number): shared.sketch_text(totals.latency) for number, totals in log.scripts.items()},
    }
    seconds = (log.window(row, row + 1).latency for row in range(len(log.series)))
    sketch_file.write_bytes(shared.encode_sketches(log.totals.latency, seconds, log.interval_us, more))
    for path in log_files(prefix):
        if keep:
            with path.open("rb") as text, gzip.open(f"{path}.gz", "wb", _GZIP_LEVEL) as packed:
                shutil.copyfileobj(text, packed)
        path.unlink()


def series(logged: Logged, progress: tuple[Progress, ...], source: str, began: Moment) -> tuple[Sample, ...]:
    """Samples at the end of each whole second; from the progress report when there is no log."""
    samples = []
    if logged.log is None:
        for second in progress:
            moment = began[0] + round(second.elapsed_s * 1e9), began[1] + round(second.elapsed_s * 1e9)
            samples += [
                Sample(*moment, source, "tps", "1/s", second.tps),
                Sample(*moment, source, "latency_ms", "ms", second.latency_ms),
                Sample(*moment, source, "failed", "count", second.failed),
            ]
        return tuple(samples)
    columns = logged.log.series.columns()
    for row in range(len(logged.log.series)):
        end_ns = round((columns["offset_s"][row] + logged.log.interval_us / 1e6) * 1e9)
        if logged.log.last_us is None or began[1] + end_ns > logged.log.last_us * 1000:
            break  # The last second is cut short, so its rate would be wrong.
        for name, unit, column, factor in _SERIES:
            value = columns[column][row] * factor
            moment = began[0] + end_ns, began[1] + end_ns
            samples.append(Sample(*moment, source, name, unit, value if math.isfinite(value) else None))
    return tuple(samples)
