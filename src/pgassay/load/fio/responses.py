"""What a fio run yields, declared. An I/O stands where a transaction stands elsewhere: costs are per I/O."""

from collections.abc import Mapping

from pgassay.study.responses import Better, Response, Scale

_LOWER, _HIGHER = Better.LOWER, Better.HIGHER


def _latencies(kind: str, words: str) -> tuple[Response, ...]:
    return (
        Response(f"{kind}_latency_ms", f"mean latency of {words}", "ms", _LOWER),
        Response(f"{kind}_latency_p50_ms", f"median latency of {words}", "ms", _LOWER),
        Response(f"{kind}_latency_p95_ms", f"95th percentile of the latency of {words}", "ms", _LOWER),
        Response(f"{kind}_latency_p99_ms", f"99th percentile of the latency of {words}", "ms", _LOWER),
        Response(f"{kind}_latency_max_ms", f"greatest latency of {words}", "ms", _LOWER),
    )


RESPONSES: tuple[Response, ...] = (
    Response("iops", "reads and writes per second", "1/s", _HIGHER),
    Response("bytes_per_s", "bytes read and written per second", "bytes", _HIGHER),
    Response("read_iops", "reads per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    Response("write_iops", "writes per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    Response("flushes_per_s", "fdatasyncs per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    Response("io_latency_ms", "mean latency of an I/O", "ms", _LOWER),
    Response("io_latency_p95_ms", "95th percentile of the latency of an I/O", "ms", _LOWER),
    Response("io_latency_p99_ms", "99th percentile of the latency of an I/O", "ms", _LOWER),
    Response("io_latency_max_ms", "greatest latency of an I/O", "ms", _LOWER),
    *_latencies("read", "reads"),
    *_latencies("write", "writes"),
    *_latencies("flush", "fdatasyncs"),
    Response("reread_speedup", "reads of a small region again, by reads of fresh blocks", "", Better.NEITHER),
)


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return {response.name: found.get(response.name) for response in RESPONSES}
