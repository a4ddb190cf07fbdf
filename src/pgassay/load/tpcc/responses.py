"""What a tpcc run yields: all that pgbench tells of the mix, and each transaction's rate and latency.

Latencies by type come from the sketches that the pgbench driver keeps of each script; TPC-C judges the 90th percentile.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from pgassay.load.pgbench.responses import RESPONSES as PGBENCH
from pgassay.load.pgbench.summary import Summary
from pgassay.load.tpcc.options import WEIGHTS
from pgassay.study.responses import Better, Response

_WORDS = {name: name.replace("_", "-") for name in WEIGHTS}

BY_TYPE: tuple[Response, ...] = (
    Response("new_orders_per_minute", "new-orders per minute (tpmC-like, not audited)", "1/min", Better.HIGHER),
    *(Response(f"{name}_tps", f"{word} per second", "1/s", Better.HIGHER) for name, word in _WORDS.items()),
    *(Response(f"{name}_latency_ms", f"mean latency of {word}", "ms", Better.LOWER) for name, word in _WORDS.items()),
    *(
        Response(f"{name}_latency_p90_ms", f"90th percentile of the latency of {word}", "ms", Better.LOWER)
        for name, word in _WORDS.items()
    ),
)
RESPONSES: tuple[Response, ...] = (*PGBENCH, *BY_TYPE)


def of_scripts(summary: Summary, sketches: Mapping[str, str]) -> dict[str, float | None]:
    """By type, from the summary's scripts in order and their sketches (base64 by number, as text)."""
    from pgassay._core import LatencySketch

    found: dict[str, float | None] = {}
    for number, name in enumerate(WEIGHTS):
        said = next((each for each in summary.scripts if Path(each.name).stem == name), None)
        found[f"{name}_tps"] = said.tps if said else None
        found[f"{name}_latency_ms"] = said.latency_ms if said else None
        packed = sketches.get(str(number))
        p90_us = LatencySketch.from_bytes(base64.b64decode(packed)).quantile(0.9) if packed else None
        found[f"{name}_latency_p90_ms"] = None if p90_us is None else p90_us / 1000
    tps = found["new_order_tps"]
    found["new_orders_per_minute"] = None if tps is None else tps * 60
    return found


def sketches_in(path: Path) -> Mapping[str, str]:
    """The sketches of each script that the pgbench driver wrote; empty if it wrote none."""
    if not path.exists():
        return {}
    return {str(number): str(text) for number, text in json.loads(path.read_text("utf-8"))["scripts"].items()}


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return {response.name: found.get(response.name) for response in RESPONSES}
