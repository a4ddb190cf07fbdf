"""What a run of TPC-C's transactions yields: the rate and latency of each. TPC-C judges the 90th percentile."""

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
