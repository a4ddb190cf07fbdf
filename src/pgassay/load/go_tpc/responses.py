"""What a go-tpc run yields: rates and latencies over the mix and of each transaction."""

from collections.abc import Mapping

from pgassay.load.go_tpc.output import Said, committed, failed
from pgassay.load.tpcc.options import WEIGHTS
from pgassay.load.tpcc.responses import BY_TYPE
from pgassay.study.responses import Better, Response, Scale

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("failed_share", "share of transactions that failed", "share", Better.LOWER, Scale.DIFFERENCE),
    *BY_TYPE,
)


def of_run(said: Said, threads: int) -> dict[str, float | None]:
    """Every response; None where the run has no summary."""
    done = [each for each in said.summary if not each.failed]
    count, lost = committed(said.summary), failed(said.summary, threads)
    found: dict[str, float | None] = {"new_orders_per_minute": said.new_orders_per_minute}
    if count:
        found["tps"] = sum(each.per_minute for each in done) / 60
        found["latency_ms"] = sum(each.average_ms * each.count for each in done) / count
        found["failed_share"] = lost / (count + lost)
    for name in WEIGHTS:
        mine = next((each for each in done if each.name == name.upper()), None)
        if mine is not None:
            found[f"{name}_tps"] = mine.per_minute / 60
            found[f"{name}_latency_ms"] = mine.average_ms
            found[f"{name}_latency_p90_ms"] = mine.p90_ms
    return complete(found)


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return {response.name: found.get(response.name) for response in RESPONSES}
