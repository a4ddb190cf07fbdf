"""What sysbench 1.0 prints of a database test: totals, latencies, its histogram and its seconds; pure.

Errors go to the same stream as results, and the program may die between them: a FATAL line makes a run aborted, a text
without the totals is no run. See the sysbench manual, "General command line options".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_BANNER = re.compile(r"^sysbench \d+\.\d+", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d+)$", re.MULTILINE)
_STATEMENTS = re.compile(r"^ +(read|write|other): +(\d+)$", re.MULTILINE)
_TRANSACTIONS = re.compile(r"^ +transactions: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_QUERIES = re.compile(r"^ +queries: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_IGNORED = re.compile(r"^ +ignored errors: +(\d+) ", re.MULTILINE)
_TIME = re.compile(r"^ +total time: +([\d.]+)s$", re.MULTILINE)
_LATENCY = re.compile(r"^ +(min|avg|max|(\d+)(?:st|nd|rd|th) percentile): +([\d.]+)$", re.MULTILINE)
_BUCKET = re.compile(r"^ +([\d.]+) \|\**\s+(\d+)$", re.MULTILINE)
_FATAL = re.compile(r"^FATAL: (.*)$", re.MULTILINE)
_SECOND = re.compile(
    r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) qps: ([\d.]+) \(r/w/o: [\d.]+/([\d.]+)/[\d.]+\)"
    r" lat \(ms,(\d+)%\): ([\d.]+) err/s:? ([\d.]+)",
    re.MULTILINE,
)
_NAMES = {"min": "latency_min_ms", "avg": "latency_ms", "max": "latency_max_ms"}


@dataclass(frozen=True)
class Totals:
    """A whole run. `latencies` in ms by name; `write` are statements that changed a row, where sysbench can tell."""

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


def is_sysbench(text: str) -> bool:
    """Does sysbench's banner stand in it?"""
    return _BANNER.search(text) is not None


def parse_totals(text: str) -> Totals | None:
    """The totals of a database test; None where they are not (cut short, or another test)."""
    total, queries, seconds = _TRANSACTIONS.search(text), _QUERIES.search(text), _TIME.search(text)
    if total is None or queries is None or seconds is None:
        return None
    statements = {match[1]: int(match[2]) for match in _STATEMENTS.finditer(text)}
    threads, ignored = _THREADS.search(text), _IGNORED.search(text)
    return Totals(
        threads=int(threads[1]) if threads else None,
        transactions=int(total[1]),
        tps=float(total[2]),
        qps=float(queries[2]),
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
    """Every whole interval line, in order."""
    return tuple(
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
    """Latency in ms to count, in rising order; empty without a histogram."""
    block = text.partition("Latency histogram (values are in milliseconds)")[2].partition("SQL statistics:")[0]
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
    block = text.partition("Latency (ms):")[2].partition("Threads fairness:")[0]
    return {_NAMES.get(match[1]) or f"latency_p{match[2]}_ms": float(match[3]) for match in _LATENCY.finditer(block)}
