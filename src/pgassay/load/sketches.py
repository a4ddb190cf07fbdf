"""Single latencies of a trial as a file with its results: counts in buckets, of the whole and of each part of it.

One writer for pgbench's log, whose parts are seconds and scripts, and for servers that took turns, whose parts are
slices. docs/record.md describes the file, and `record.latencies` reads it.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence

from pgassay._core import LatencySketch

FILE = "pgbench_latency.json"
FORMAT = 1


def encode(
    whole: LatencySketch,
    intervals: Iterable[LatencySketch],
    interval_us: int,
    more: Mapping[str, object] | None = None,
) -> bytes:
    """The file's contents: the sketches of the whole and of stretches of `interval_us`, and what else is known."""
    written = {
        "format": FORMAT,
        "interval_us": interval_us,
        **(more or {}),
        "total": text(whole),
        "intervals": [text(each) for each in intervals],
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
    each_script = {str(number): text(_sketch(each)) for number, each in enumerate(scripts)}
    return encode(whole, intervals, round(slice_s * 1e6), {"scripts": each_script} if each_script else None)


def text(sketch: LatencySketch) -> str:
    """A sketch as the file has it: base64 of its bytes."""
    return base64.b64encode(sketch.to_bytes()).decode("ascii")


def _sketch(buckets: Sequence[tuple[int, int]]) -> LatencySketch:
    sketch = LatencySketch()
    for edge_ns, count in buckets:
        sketch.record(min(round(edge_ns / 1e3), LatencySketch.MAX_LATENCY_US), count)
    return sketch
