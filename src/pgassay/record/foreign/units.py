"""Which way is better for a response that a foreign file names, and in what it is counted.

Only names of which there is no doubt are known. Of any other neither direction is better, so that a verdict says
"different" and not "better", until `--better` says which.
"""

import re

from pgassay.study.responses import Better, Response, Scale

_HIGHER, _LOWER = Better.HIGHER, Better.LOWER
_KNOWN: tuple[tuple[str, str, str, Better], ...] = (
    (r"tps|transactions?_per_second", "transactions per second", "1/s", _HIGHER),
    (r"qps|queries_per_second", "queries per second", "1/s", _HIGHER),
    (r"iops", "I/Os per second", "1/s", _HIGHER),
    (r"nopm", "new orders per minute", "1/min", _HIGHER),
    (r"tpm(c)?", "transactions per minute", "1/min", _HIGHER),
    (r"(avg_|mean_)?latency(_avg|_mean)?(_ms)?|lat_ms", "mean latency", "ms", _LOWER),
    (r"latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    (r"(latency_)?p(\d+)(_ms)?", "percentile of latency", "ms", _LOWER),
)


def response(name: str, better: Better | None = None) -> Response:
    """The declaration of a response called `name`; `better` overrules what its name tells."""
    for pattern, title, unit, direction in _KNOWN:
        if re.fullmatch(pattern, name.lower()):
            said = title if "percentile" not in title else f"{name.lower()}: {title}"
            return Response(name, said, unit, better or direction)
    scale = Scale.DIFFERENCE if name.lower().endswith("share") else Scale.RATIO
    return Response(name, name, "share" if scale is Scale.DIFFERENCE else "", better or Better.NEITHER, scale)
