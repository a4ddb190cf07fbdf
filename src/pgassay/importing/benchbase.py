"""BenchBase's results (cmu-db/benchbase, OLTP-Bench before): `*.summary.json`, `*.raw.csv` and `*.results.csv`.

Files of one run have one name up to these endings. Relied on in a summary: "Benchmark Type" and "Throughput
(requests/second)"; used where there: "Goodput (requests/second)", "DBMS Type" and "DBMS Version", `scalefactor`,
`terminals`, `isolation`, "Start timestamp (milliseconds)", "Elapsed Time (nanoseconds)", "Final State", and the
"Latency Distribution" in microseconds. Throughput counts every request; goodput leaves out what was rolled back,
retried or failed.

`results.csv` and `samples.csv` have the course of a run and no result. `raw.csv` has each request: its start (seconds
since the epoch, whatever its title says) and its latency in microseconds. Without a summary it is a run by itself,
whose throughput is requests per time from the first start to the last end.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pgassay import untrusted
from pgassay.importing.reader import (
    ABORTED,
    FILE,
    FOLDER,
    ForeignFile,
    ForeignRun,
    Options,
    Reader,
    Reading,
    member,
    number,
    rates,
    response,
)
from pgassay.interfaces.probe import Sample
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response

_THROUGHPUT = "Throughput (requests/second)"
_RAW = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds)"
_COURSE = re.compile(r"Time \(seconds\),(?:Requests,)?Throughput \(requests/second\),")
_ENDING = re.compile(r"\.(?:summary\.json|raw\.csv|results\.csv|samples\.csv)$")
_LATENCIES = {
    "latency_ms": "Average",
    "latency_p50_ms": "Median",
    "latency_p95_ms": "95th Percentile",
    "latency_p99_ms": "99th Percentile",
    "latency_max_ms": "Maximum",
}
_QUANTILES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99, "latency_max_ms": 1.0}
_NS = 1_000_000_000

RESPONSES = (
    Response("throughput", "requests per second", "1/s", Better.HIGHER),
    Response("goodput", "requests per second that were committed", "1/s", Better.HIGHER),
    *(response(name) for name in ("latency_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms")),
    Response("latency_max_ms", "greatest latency", "ms", Better.LOWER),
)


class BenchBaseReader(Reader):
    """A run's summary with its course, or its requests."""

    name = "BenchBase"
    suggested = ("clients", "scale", "benchmark", "isolation", "database", "server_version", FOLDER, FILE)
    reads_together = True

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        if options.roles.value:  # whoever names columns wants a table
            return False
        first = file.first_lines
        return first.startswith(_RAW) or _COURSE.match(first) is not None or _is_summary(file)

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        runs: dict[str, dict[str, ForeignFile]] = {}
        for file in files:
            kind = "summary" if _is_summary(file) else "raw" if file.first_lines.startswith(_RAW) else "course"
            runs.setdefault(_ENDING.sub("", str(file.path)), {}).setdefault(kind, file)
        for parts in runs.values():
            summary, raw, course = (parts.get(kind) for kind in ("summary", "raw", "course"))
            if summary is not None:
                found = read_summary(str(summary.path), summary.text)
                if course is not None and isinstance(found, Reading):
                    found = replace(found, runs=(replace(found.runs[0], series=_course(course.text)),))
                yield summary.path, found
            elif raw is not None:
                yield raw.path, read_raw(str(raw.path), raw)
            elif course is not None:
                yield course.path, "is the course of a run of BenchBase, whose summary.json is not there"


def _is_summary(file: ForeignFile) -> bool:
    first = file.first_lines
    return first.lstrip().startswith("{") and f'"{_THROUGHPUT}"' in first and '"Benchmark Type"' in first


def read_summary(place: str, text: str) -> Reading | str:
    """The run of a summary, or why it has none."""
    try:
        document = untrusted.json(text)
    except ValueError as failure:
        return f"is a summary of BenchBase that cannot be read: {failure}"
    if not isinstance(document, dict):
        return "is a summary of BenchBase that is not an object"
    latencies = member(document, "Latency Distribution")
    values = {name: number(latencies.get(f"{said} Latency (microseconds)")) for name, said in _LATENCIES.items()}
    elapsed_ns, start_ms = (
        number(document.get(name)) for name in ("Elapsed Time (nanoseconds)", "Start timestamp (milliseconds)")
    )
    fields = {
        "database": document.get("DBMS Type"),
        "server_version": document.get("DBMS Version"),
        "benchmark": document.get("Benchmark Type"),
        "isolation": document.get("isolation"),
        "scale": document.get("scalefactor"),
        "clients": document.get("terminals"),
    }
    state = str(document.get("Final State") or "")
    run = ForeignRun(
        place=place,
        fields={name: str(value) for name, value in fields.items() if value not in (None, "")},
        responses={
            "throughput": number(document.get(_THROUGHPUT)),
            "goodput": number(document.get("Goodput (requests/second)")),
            **{name: None if value is None or value < 0.0 else value / 1000.0 for name, value in values.items()},
        },
        seconds=None if elapsed_ns is None else elapsed_ns / _NS,
        started_s=None if start_ms is None else start_ms / 1000.0,
        problems=(Reason(ABORTED, f"its final state is {state}"),) if state == "ERROR" else (),
    )
    return Reading("BenchBase", (run,), RESPONSES)


def _course(text: str) -> tuple[Sample, ...]:
    """The throughput of each whole interval; the last one is cut short."""
    lines = text.splitlines()
    column = lines[0].split(",").index(_THROUGHPUT)
    rows: list[tuple[float, float]] = []
    for line in lines[1:-1]:
        cells = line.split(",")
        try:
            rows.append((float(cells[0]), float(cells[column])))
        except (ValueError, IndexError):
            return ()
    return rates("BenchBase", rows)


def read_raw(place: str, file: ForeignFile) -> Reading | str:
    """The run whose requests these are, or why it has none."""
    import polars as pl

    data = untrusted.read_bytes(file.path) if file.piped is None else file.piped
    try:
        table = pl.read_csv(io.BytesIO(data), columns=[2, 3], infer_schema=False)
        table = table.select(pl.all().str.strip_chars().cast(pl.Float64))
        started, latencies = (table.to_series(column).to_numpy() for column in (0, 1))
    except (pl.exceptions.PolarsError, ValueError) as failure:
        return f"is a list of BenchBase's requests that cannot be read: {str(failure).splitlines()[0]}"
    if len(started) < 2 or not (np.isfinite(started).all() and np.isfinite(latencies).all()):
        return "is a list of BenchBase's requests with fewer than two, or with one that is not a number"
    if (latencies < 0.0).any():
        return "has latencies below zero: BenchBase counts them in 32 bits"
    begin, end = float(started.min()), float((started + latencies / 1e6).max())
    if end <= begin:
        return "is a list of BenchBase's requests that took no time"
    quantiles = np.quantile(latencies, list(_QUANTILES.values())) / 1000.0
    run = ForeignRun(
        place=place,
        fields={},
        responses={
            "throughput": len(started) / (end - begin),
            "latency_ms": float(latencies.mean()) / 1000.0,
            **dict(zip(_QUANTILES, map(float, quantiles), strict=True)),
        },
        seconds=end - begin,
        started_s=begin,
        series=_seconds(started + latencies / 1e6 - begin, begin),
    )
    remark = "a list of BenchBase's requests does not say how many were rolled back, nor whether the run ended well"
    return Reading("BenchBase requests", (run,), RESPONSES, remarks=(remark,))


def _seconds(ended_s: npt.NDArray[np.float64], begin_s: float) -> tuple[Sample, ...]:
    """Requests that ended in each whole second, the first left out; none where the length cannot be a run's."""
    whole = int(ended_s.max())
    if whole > _SECONDS_MOST:
        return ()
    counts = np.bincount(ended_s.astype(np.int64), minlength=whole + 1)
    return tuple(
        Sample(at * _NS, round((begin_s + at) * _NS), "BenchBase", "tps", "1/s", float(counts[at]))
        for at in range(1, whole)
    )


_SECONDS_MOST = 7 * 86_400
