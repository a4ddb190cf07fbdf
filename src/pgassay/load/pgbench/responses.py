"""What a pgbench run yields, declared, and made from its summary and its per-transaction log.

tps is pgbench's own "without initial connection time". Latencies run from the scheduled start of a transaction when a
rate is set, so waiting behind a slow one counts (no coordinated omission); failed and skipped ones have none.
"""

from collections.abc import Mapping

from pgassay.load import latencies
from pgassay.load.pgbench.summary import Summary
from pgassay.study.responses import Better, Response, Scale

_LOWER = Better.LOWER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    Response("latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    *latencies.RESPONSES,
    Response("schedule_lag_ms", "mean lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("schedule_lag_max_ms", "greatest lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("failed_share", "share of transactions that failed", "share", _LOWER, _DIFFERENCE),
    Response("skipped_share", "share of transactions skipped as too late", "share", _LOWER, _DIFFERENCE),
    Response("late_share", "share of transactions over the latency limit", "share", _LOWER, _DIFFERENCE),
    Response("retries_per_transaction", "retries per transaction", "count", _LOWER, _DIFFERENCE),
)


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


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return {response.name: found.get(response.name) for response in RESPONSES}


def _share(part: int | None, whole: int) -> float | None:
    return None if part is None or whole == 0 else part / whole
