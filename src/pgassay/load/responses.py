"""Responses that several loads share, so that their studies read alike.

The mean latency is each driver's own, since each program reports it in its own way.
"""

from collections.abc import Mapping, Sequence

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
