"""What a sysbench run yields, declared, and made from its totals and its histogram.

tps and qps are sysbench's own, without the transactions that it gave up and began anew (deadlocks, serialization
failures, duplicate keys). Latencies run from the event's start; with a rate, from when it left the queue.
"""

from collections.abc import Mapping

from pgassay.load import latencies
from pgassay.load.sysbench.summary import Totals, quantile_ms
from pgassay.study.responses import Better, Response, Scale

_LOWER, _HIGHER = Better.LOWER, Better.HIGHER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", _HIGHER),
    Response("qps", "statements per second", "1/s", _HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    *latencies.RESPONSES,
    Response("failed_share", "share of transactions that failed and were begun anew", "share", _LOWER, _DIFFERENCE),
    Response("deletes_per_second", "rows that oltp_delete really deleted, per second", "1/s", _HIGHER, _DIFFERENCE),
    Response("empty_delete_share", "share of oltp_delete's deletes that found no row", "share", _LOWER, _DIFFERENCE),
)


def of_totals(totals: Totals, scenario: str) -> dict[str, float | None]:
    """Every response; what oltp_delete alone has is None for the others."""
    due = totals.transactions + totals.ignored_errors
    found: dict[str, float | None] = {
        "tps": totals.tps,
        "qps": totals.qps,
        "latency_ms": totals.latencies.get("latency_ms"),
        "latency_max_ms": totals.latencies.get("latency_max_ms"),
        "failed_share": totals.ignored_errors / due if due else None,
        **{name: quantile_ms(totals.histogram, share) for name, share in latencies.QUANTILES.items()},
    }
    statements = totals.write + totals.other
    if scenario == "oltp_delete" and statements and totals.seconds:
        # One DELETE a transaction, outside BEGIN: sysbench counts one that found no row as "other".
        found["deletes_per_second"] = totals.write / totals.seconds
        found["empty_delete_share"] = totals.other / statements
    return complete(found)


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return {response.name: found.get(response.name) for response in RESPONSES}
