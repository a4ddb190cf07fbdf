"""From the levels of a cacheprobe load to checked values."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.load import values
from pgassay.load.cacheprobe.factors import EACH
from pgassay.load.cacheprobe.sizes import Size, parse_size

DEFAULTS: Mapping[str, str] = {"size": "2x", "probes": "100", "method": EACH, "warmup": "10s"}


@dataclass(frozen=True)
class Options:
    """`memory_bytes` is what the server may have; `warm_up_s` is set in the run that only warms up."""

    size: Size
    probes: int
    each: bool
    memory_bytes: int
    warm_up_s: int | None

    @property
    def rows(self) -> int:
        """Of the table."""
        return self.size.in_rows(self.memory_bytes)


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`.

    The lab runs a load for the length of its warm-up by giving it a duration: cacheprobe takes no other.
    """
    given = {**DEFAULTS, **levels}
    duration = given.get("duration")
    return Options(
        size=parse_size(given["size"]),
        probes=values.parse_count("load.probes", given["probes"]),
        each=given["method"] == EACH,
        memory_bytes=int(given.get("memory") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        warm_up_s=values.parse_seconds("load.duration", duration) if duration else None,
    )
