"""Responses that several loads share, so that their studies read alike, and the file of a trial's single latencies.

The mean latency is each driver's own, since each program reports it in its own way. The file has counts in buckets, of
the whole and of each part of it: seconds and scripts of pgbench's log, or slices of servers that took turns.
docs/record.md describes it, and `record.ask` reads it.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from pgassay._core import LatencySketch
from pgassay.interfaces.slices import LatencyHistogram, Slice
from pgassay.study.responses import Better, Response, Scale

SKETCHES_FILE = "pgbench_latency.json"
SKETCHES_FORMAT = 1


def encode_sketches(
    whole: LatencySketch,
    intervals: Iterable[LatencySketch],
    interval_us: int,
    more: Mapping[str, object] | None = None,
) -> bytes:
    """The file's contents: the sketches of the whole and of stretches of `interval_us`, and what else is known."""
    written = {
        "format": SKETCHES_FORMAT,
        "interval_us": interval_us,
        **(more or {}),
        "total": sketch_text(whole),
        "intervals": [sketch_text(each) for each in intervals],
    }
    return json.dumps(written).encode()


def encode_slices(
    slices: Sequence[Sequence[tuple[int, int]]], slice_s: float, scripts: Sequence[Sequence[tuple[int, int]]] = ()
) -> bytes:
    """The file's contents for a server that took turns: all of its slices, each of `slice_s` seconds, and its scripts.

    Latencies are (upper edge in ns, count); the edges tell a latency within a thousandth.
    """
    whole = LatencySketch()
    intervals = [_sketch(each) for each in slices]
    for each in intervals:
        whole.merge(each)
    each_script = {str(number): sketch_text(_sketch(each)) for number, each in enumerate(scripts)}
    return encode_sketches(whole, intervals, round(slice_s * 1e6), {"scripts": each_script} if each_script else None)


def sketch_text(sketch: LatencySketch) -> str:
    return base64.b64encode(sketch.to_bytes()).decode("ascii")


def _sketch(buckets: Sequence[tuple[int, int]]) -> LatencySketch:
    sketch = LatencySketch()
    for edge_ns, count in buckets:
        sketch.record(min(round(edge_ns / 1e3), LatencySketch.MAX_LATENCY_US), count)
    return sketch


QUANTILES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99, "latency_p999_ms": 0.999}
"""Response to the share of transactions that are no slower."""

LATENCIES: tuple[Response, ...] = (
    Response("latency_p50_ms", "median latency", "ms", Better.LOWER),
    Response("latency_p95_ms", "95th percentile of latency", "ms", Better.LOWER),
    Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
    Response("latency_p999_ms", "99.9th percentile of latency", "ms", Better.LOWER),
    Response("latency_max_ms", "greatest latency", "ms", Better.LOWER),
)

IMPOSSIBLE_US = 5
"""No answer of a server comes within so many microseconds; a client that reads its clock late says so of some."""
IMPOSSIBLE = Response(
    "impossible_latency_share",
    f"share of latencies of at most {IMPOSSIBLE_US} µs, which no answer can have",
    "share",
    Better.NEITHER,
    Scale.DIFFERENCE,
)


def complete(responses: Sequence[Response], found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response by name, None where it was not found."""
    return {response.name: found.get(response.name) for response in responses}


IN_SLICES = frozenset(
    {"tps", "latency_ms", "latency_stddev_ms", "latency_max_ms", "failed_share", "late_share"}
    | {"retries_per_transaction", *QUANTILES}
)
"""What is known of a load that was played in slices."""


def of_slices(slices: Sequence[Slice], seconds: float) -> dict[str, float | None]:
    """The responses of slices together, which cost so many seconds; latencies are those of the borders too, drained.

    Latencies come from the slices' histograms: quantiles to three digits.
    """
    whole = sum((each.latencies for each in slices), LatencyHistogram())
    failed = sum(sum(each.failed.values()) for each in slices)
    done, due = whole.count, whole.count + failed
    found: dict[str, float | None] = dict.fromkeys(IN_SLICES)
    found["failed_share"] = failed / due if due else None
    if not done or seconds <= 0:
        return found
    found["tps"] = done / seconds
    found["latency_ms"] = whole.sum_ns / done / 1e6
    mean_ns = whole.sum_ns / done
    squares = sum(count * (edge_ns - mean_ns) ** 2 for edge_ns, count in whole.buckets)
    found["latency_stddev_ms"] = sqrt(squares / done) / 1e6
    found["latency_max_ms"] = whole.most_ns / 1e6
    found["late_share"] = sum(each.late for each in slices) / done
    found["retries_per_transaction"] = sum(each.retries for each in slices) / done
    for name, share in QUANTILES.items():
        edge_ns = whole.quantile_ns(share)
        found[name] = None if edge_ns is None else edge_ns / 1e6
    return found


def problems_of_slices(slices: Sequence[Slice]) -> dict[str, str]:
    """What went wrong in them, code to detail, by the words that pgbench's own runs have for it."""
    problems = {}
    failed = sum(sum(each.failed.values()) for each in slices)
    done = sum(each.transactions for each in slices)
    aborted = next((words for each in slices for words in each.aborted), None)
    if aborted is not None:
        problems["aborted"] = aborted
    if failed:
        due = done + failed
        problems["failed_transactions"] = f"{failed} of {due} transactions failed ({failed / due:.1%})"
    if slices and not done and not problems:
        problems["no_transactions"] = "no transaction was processed"
    return problems
