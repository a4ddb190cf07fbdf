"""Responses that several loads share, so that their studies read alike.

The mean latency is each driver's own, since each program reports it in its own way.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from pgassay.bench.slices import LatencyHistogram, Slice
from pgassay.study.responses import Better, Response, Scale

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
