"""The cache study's findings as plain values for `--json`; null for every other run. Sizes in bytes, shares 0 … 1."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pgassay.report.findings import Findings


def as_plain(findings: Findings) -> Mapping[str, Any] | None:
    """Recovery, recommendation and residency."""
    cache = findings.caches
    if not cache.spots:
        return None
    return {
        "recovery": {series: asdict(found) for series, found in cache.recoveries.items()},
        "recommended": [asdict(each) for each in cache.advice],
        "residency": [
            {"shared_buffers_bytes": spot.size, "with": spot.series, "what": what, "moment": moment, "share": value}
            for spot, what, moment, value in cache.shares
        ],
    }
