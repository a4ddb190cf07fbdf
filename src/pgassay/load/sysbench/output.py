"""What sysbench 0.4 to 1.1 prints of a database test, and what that makes of a run: responses, problems, samples; pure.

Errors go to the same stream as results, and the program may die between them: a FATAL line makes a run aborted, a text
without the totals is no run. See the sysbench manual, "General command line options".

1.1 has "time elapsed" for "total time". 0.4 and 0.5 print no queries, so qps is requests and other operations, and call
failed transactions deadlocks.

tps and qps are sysbench's own, without the transactions that it gave up and began again (deadlocks, serialization
failures, duplicate keys). Latencies run from the event's start; with a rate, from when it left the queue. Others'
scripts that sysbench plays (sysbench-tpcc) are read by the same functions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadResult, Moment
from pgassay.bench.running import Completed
from pgassay.load import program
from pgassay.load import responses as shared
from pgassay.load.sysbench.options import PROGRAM
from pgassay.study.responses import Better, Response, Scale

_THREADS = re.compile(r"^Number of threads: (\d+)$", re.MULTILINE)
_STATEMENTS = re.compile(r"^ *(read|write|other): +(\d+)$", re.MULTILINE)
_TRANSACTIONS = re.compile(r"^ *transactions: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_QUERIES = re.compile(r"^ *queries: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_OLD_QUERIES = re.compile(r"^ *(?:read/write requests|other operations): +\d+ +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_IGNORED = re.compile(r"^ *(?:ignored errors|deadlocks): +(\d+) ", re.MULTILINE)
_TIME = re.compile(r"^ *(?:total time|time elapsed): +([\d.]+)s$", re.MULTILINE)
_LATENCY = re.compile(
    r"^ *(min|avg|max|(?:approx\. +)?(\d+)(?:st|nd|rd|th)? percentile): +([\d.]+) *(ms|s)?$", re.MULTILINE
)
_BUCKET = re.compile(r"^ +([\d.]+) \|\**\s+(\d+)$", re.MULTILINE)
_FATAL = re.compile(r"^FATAL: (.*)$", re.MULTILINE)
_SECOND = re.compile(
    r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) qps: ([\d.]+) \(r/w/o: [\d.]+/([\d.]+)/[\d.]+\)"
    r" lat \(ms,(\d+)%\): ([\d.]+) err/s:? ([\d.]+)",
    re.MULTILINE,
)
_OLD_SECOND = re.compile(
    r"^\[ *(\d+)s\] threads: \d+, tps: ([\d.]+), reads(?:/s)?: ([\d.]+), writes(?:/s)?: ([\d.]+),"
    r" response time: ([\d.]+)ms \((\d+)%\)(?:, errors: ([\d.]+))?",
    re.MULTILINE,
)
_NAMES = {"min": "latency_min_ms", "avg": "latency_ms", "max": "latency_max_ms"}
_LOWER, _HIGHER = Better.LOWER, Better.HIGHER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", _HIGHER),
    Response("qps", "statements per second", "1/s", _HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    *shared.LATENCIES,
    Response("failed_share", "share of transactions that failed and were begun again", "share", _LOWER, _DIFFERENCE),
    Response("deletes_per_second", "rows that oltp_delete really deleted, per second", "1/s", _HIGHER, _DIFFERENCE),
    Response("empty_delete_share", "share of oltp_delete's deletes that found no row", "share", _LOWER, _DIFFERENCE),
)


@dataclass(frozen=True)
class Totals:
    """A whole run. `latencies` in ms by name; `write` are statements that changed a row, where sysbench knows."""

    threads: int | None
    transactions: int
    tps: float
    qps: float
    read: int
    write: int
    other: int
    ignored_errors: int
    seconds: float
    latencies: Mapping[str, float]
    histogram: tuple[tuple[float, int], ...] = field(default=())
    """Latency in ms (the middle of a bucket) and count; empty where --histogram was off."""


@dataclass(frozen=True)
class Second:
    """One interval that ended `elapsed_s` after the start; `latency_ms` is the asked `percentile`, None if off."""

    elapsed_s: int
    tps: float
    qps: float
    writes: float
    percentile: int
    latency_ms: float | None
    errors: float


def parse_totals(text: str) -> Totals | None:
    """The totals of a database test; None where they are not (cut short, or another test)."""
    total, queries, seconds = _TRANSACTIONS.search(text), _QUERIES.search(text), _TIME.search(text)
    older = [float(rate) for rate in _OLD_QUERIES.findall(text)]
    if total is None or seconds is None or not (queries or older):
        return None
    statements = {match[1]: int(match[2]) for match in _STATEMENTS.finditer(text)}
    threads, ignored = _THREADS.search(text), _IGNORED.search(text)
    return Totals(
        threads=int(threads[1]) if threads else None,
        transactions=int(total[1]),
        tps=float(total[2]),
        qps=float(queries[2]) if queries else sum(older),
        read=statements.get("read", 0),
        write=statements.get("write", 0),
        other=statements.get("other", 0),
        ignored_errors=int(ignored[1]) if ignored else 0,
        seconds=float(seconds[1]),
        latencies=_latencies(text),
        histogram=parse_histogram(text),
    )


def ended_without_database(text: str) -> bool:
    """Is it the whole output of another test (cpu, fileio …)?"""
    return _TIME.search(text) is not None and _TRANSACTIONS.search(text) is None


def first_fatal(text: str) -> str | None:
    """The first error that ended a thread."""
    match = _FATAL.search(text)
    return match[1] if match else None


def parse_seconds(text: str) -> tuple[Second, ...]:
    """Every whole interval line, in order; of 0.5 without queries other than reads and writes, as it prints no more."""
    older = tuple(
        Second(
            elapsed_s=int(elapsed),
            tps=float(tps),
            qps=float(reads) + float(writes),
            writes=float(writes),
            percentile=int(percentile),
            latency_ms=float(latency),
            errors=float(errors or 0.0),
        )
        for elapsed, tps, reads, writes, latency, percentile, errors in _OLD_SECOND.findall(text)
    )
    return older or tuple(
        Second(
            elapsed_s=int(match[1]),
            tps=float(match[2]),
            qps=float(match[3]),
            writes=float(match[4]),
            percentile=int(match[5]),
            latency_ms=float(match[6]) if match[5] != "0" else None,
            errors=float(match[7]),
        )
        for match in _SECOND.finditer(text)
    )


def parse_histogram(text: str) -> tuple[tuple[float, int], ...]:
    """Latency in ms to count, in rising order, of a database test or of fileio; empty without a histogram."""
    after = text.partition("Latency histogram (values are in milliseconds)")[2]
    block = re.split("SQL statistics:|File operations:", after, maxsplit=1)[0]
    return tuple((float(match[1]), int(match[2])) for match in _BUCKET.finditer(block))


def quantile_ms(histogram: Sequence[tuple[float, int]], share: float) -> float | None:
    """The bucket that holds this share of all transactions, as sysbench takes its own percentile; None when empty."""
    wanted = share * sum(count for _, count in histogram)
    reached = 0
    for value, count in histogram:
        reached += count
        if reached >= wanted:
            return value
    return None


def _latencies(text: str) -> dict[str, float]:
    block = re.split(r"Latency \(ms\):|response time:\n|per-request statistics:\n", text)[-1].partition(
        "Threads fairness:"
    )[0]
    return {
        _NAMES.get(match[1]) or f"latency_p{match[2]}_ms": float(match[3]) * (1000.0 if match[4] == "s" else 1.0)
        for match in _LATENCY.finditer(block)
    }


def of_totals(totals: Totals, scenario: str) -> dict[str, float | None]:
    """Every response; what oltp_delete alone has is None for the others."""
    due = totals.transactions + totals.ignored_errors
    found: dict[str, float | None] = {
        "tps": totals.tps,
        "qps": totals.qps,
        "latency_ms": totals.latencies.get("latency_ms"),
        "latency_max_ms": totals.latencies.get("latency_max_ms"),
        "failed_share": totals.ignored_errors / due if due else None,
        **{name: quantile_ms(totals.histogram, share) for name, share in shared.QUANTILES.items()},
    }
    statements = totals.write + totals.other
    if scenario == "oltp_delete" and statements and totals.seconds:
        # One DELETE a transaction, outside BEGIN: sysbench counts one that found no row as "other".
        found["deletes_per_second"] = totals.write / totals.seconds
        found["empty_delete_share"] = totals.other / statements
    return complete(found)


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return shared.complete(RESPONSES, found)


def result(
    done: Completed,
    totals: Totals | None,
    responses: Mapping[str, float | None],
    problems: Mapping[str, str],
    began: Moment,
    ended: Moment,
    duration_s: int | None,
    source: str,
) -> LoadResult:
    """The whole of it; `problems` are those that were seen while it ran, `began` and `ended` monotonic and wall ns."""
    return LoadResult(
        status=done.status,
        began=began,
        ended=ended,
        transactions=totals.transactions if totals else 0,
        responses=responses,
        series=series(done.stdout, began, ended[0], source),
        problems=problems or problems_of(done, totals) or program.short(PROGRAM, duration_s, ended[0] - began[0]),
        read_back={"load.threads": str(totals.threads)} if totals and totals.threads else {},
        elsewhere=done.elsewhere,
    )


def problems_of(done: Completed, totals: Totals | None) -> dict[str, str]:
    """What exit status and output say."""
    text = f"{done.stdout}\n{done.stderr}"
    fatal = first_fatal(text)
    if done.status < 0:
        died = f"sysbench was ended by signal {-done.status}"
        return {"killed": f"{died}: {fatal}" if fatal else died}
    if fatal:
        return {"aborted": fatal}
    if done.status:
        lines = [line for line in text.strip().splitlines() if line.strip()]
        return {"refused": lines[-1] if lines else "no message"}
    if totals is None:
        return {"no_summary": "sysbench's output has no totals"}
    return {} if totals.transactions else {"no_transactions": "no transaction was processed"}


def series(text: str, began: Moment, finished_ns: int, source: str) -> tuple[Sample, ...]:
    """Samples at the end of each second, counted from the start of the program."""
    samples = []
    for second in parse_seconds(text):
        moment = began[0] + second.elapsed_s * 10**9, began[1] + second.elapsed_s * 10**9
        if moment[0] > finished_ns:
            break
        samples += [
            Sample(*moment, source, "tps", "1/s", second.tps),
            Sample(*moment, source, "qps", "1/s", second.qps),
            Sample(*moment, source, "writes", "1/s", second.writes),
            Sample(*moment, source, f"latency_p{second.percentile}_ms", "ms", second.latency_ms),
            Sample(*moment, source, "failed", "1/s", second.errors),
        ]
    return tuple(samples)
