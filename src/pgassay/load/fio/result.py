"""What a fio run yields, read from fio's JSON (format json+): rates, and latencies of reads, writes and fdatasyncs.

An I/O stands where a transaction stands elsewhere: costs are per I/O.

An fdatasync's latencies are in `sync`, whose own count of I/Os is 0 in fio 3.33 although its histogram is full. Numbers
are from fio's histograms: percentiles within about 1 %.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgassay.load import messages
from pgassay.load import responses as shared
from pgassay.study.responses import Better, Response, Scale

_NS_PER_MS = 1e6
STALLS_MS: Mapping[str, float] = {"stalls_100ms": 100.0, "stalls_1s": 1000.0}
"""What counts as a stall, by the response that counts it."""
_LOWER, _HIGHER = Better.LOWER, Better.HIGHER


def _declared_latencies(kind: str, words: str) -> tuple[Response, ...]:
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
    Response("stalls_100ms", "reads and writes that took more than 100 ms", "count", _LOWER, Scale.DIFFERENCE),
    Response("stalls_1s", "reads and writes that took more than 1 s", "count", _LOWER, Scale.DIFFERENCE),
    *_declared_latencies("read", "reads"),
    *_declared_latencies("write", "writes"),
    *_declared_latencies("flush", "fdatasyncs"),
    Response("reread_speedup", "reads of a small region again, by reads of fresh blocks", "", Better.NEITHER),
)
_PERCENTILES = {"50.000000": "p50", "95.000000": "p95", "99.000000": "p99"}


@dataclass(frozen=True)
class Result:
    """One run: the responses, all I/Os, fio's error number, and the bytes written, None where the tool does not say."""

    responses: Mapping[str, float | None]
    operations: int
    error: int
    written_bytes: float | None = None


def parse(text: str) -> Result:
    """From fio's stdout, which may begin with warnings; raises `LoadError`."""
    start = text.find("{")
    if start < 0:
        raise messages.not_a_fio_result("there is no JSON in it")
    try:
        document, _ = json.JSONDecoder().raw_decode(text[start:])
        jobs = document["jobs"]
        first = jobs[0]
        found = _rates(first)
        for kind, part in (("read", first["read"]), ("write", first["write"]), ("flush", first["sync"])):
            found |= _latency(kind, part["lat_ns"] if kind == "flush" else _whole(part))
        found |= _every(first)
        if len(jobs) > 1 and first["read"]["iops"]:
            found["reread_speedup"] = jobs[1]["read"]["iops"] / first["read"]["iops"]
        operations = sum(int(job[kind]["total_ios"]) for job in jobs for kind in ("read", "write"))
        written_bytes = float(sum(int(job["write"]["io_bytes"]) for job in jobs))
        error = next((int(job["error"]) for job in jobs if job["error"]), 0)
    except (ValueError, LookupError, TypeError) as problem:
        raise messages.not_a_fio_result(f"{type(problem).__name__}: {problem}") from None
    return Result(complete(found), operations, error, written_bytes)


def _rates(job: Mapping[str, Any]) -> dict[str, float | None]:
    read, write, sync = job["read"], job["write"], job["sync"]
    runtime_s = max(read["runtime"], write["runtime"]) / 1e3
    flushes = sync["lat_ns"].get("N", 0)
    return {
        "iops": read["iops"] + write["iops"],
        "bytes_per_s": float(read["bw_bytes"] + write["bw_bytes"]),
        "read_iops": read["iops"] if read["total_ios"] else None,
        "write_iops": write["iops"] if write["total_ios"] else None,
        "flushes_per_s": flushes / runtime_s if flushes and runtime_s else None,
    }


def _whole(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Mean and maximum from submission on, percentiles of completion: fio keeps a histogram of the latter only."""
    return {**part["lat_ns"], "percentile": part["clat_ns"].get("percentile", {})}


def _latency(kind: str, part: Mapping[str, Any]) -> dict[str, float | None]:
    if not part.get("N"):
        return {}
    percentiles = part.get("percentile", {})
    found: dict[str, float | None] = {
        f"{kind}_latency_ms": part["mean"] / _NS_PER_MS,
        f"{kind}_latency_max_ms": part["max"] / _NS_PER_MS,
    }
    for key, name in _PERCENTILES.items():
        if key in percentiles:
            found[f"{kind}_latency_{name}_ms"] = percentiles[key] / _NS_PER_MS
    return found


def _every(job: Mapping[str, Any]) -> dict[str, float | None]:
    """Reads and writes together; percentiles from both histograms."""
    parts = [job[kind] for kind in ("read", "write") if job[kind]["total_ios"]]
    count = sum(part["lat_ns"]["N"] for part in parts)
    if not count:
        return {}
    bins: dict[int, int] = {}
    for part in parts:
        for edge, number in part["clat_ns"].get("bins", {}).items():
            bins[int(edge)] = bins.get(int(edge), 0) + int(number)
    return {
        "io_latency_ms": sum(part["lat_ns"]["mean"] * part["lat_ns"]["N"] for part in parts) / count / _NS_PER_MS,
        "io_latency_max_ms": max(part["lat_ns"]["max"] for part in parts) / _NS_PER_MS,
        "io_latency_p95_ms": _quantile(bins, 0.95),
        "io_latency_p99_ms": _quantile(bins, 0.99),
        **{name: _longer(bins, edge_ms * _NS_PER_MS) for name, edge_ms in STALLS_MS.items()},
    }


def _longer(bins: Mapping[int, int], edge_ns: float) -> float | None:
    """How many took longer; None without a histogram."""
    return float(sum(number for each, number in bins.items() if each > edge_ns)) if bins else None


def _quantile(bins: Mapping[int, int], share: float) -> float | None:
    whole = sum(bins.values())
    seen = 0
    for edge in sorted(bins):
        seen += bins[edge]
        if seen >= share * whole > 0:
            return edge / _NS_PER_MS
    return None


def per_second(text: str) -> Sequence[tuple[int, float, float]]:
    """(second, reads/s, writes/s) from an IOPS log averaged over a second: `msec, value, direction, …` a thread."""
    found: dict[int, list[float]] = {}
    for line in text.splitlines():
        cells = line.split(",")
        if len(cells) < 3:
            continue
        try:
            second, value, direction = round(int(cells[0]) / 1000), float(cells[1]), int(cells[2])
        except ValueError:
            continue
        if direction in (0, 1):
            found.setdefault(second, [0.0, 0.0])[direction] += value
    return [(second, *found[second]) for second in sorted(found)]  # type: ignore[misc]


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return shared.complete(RESPONSES, found)
