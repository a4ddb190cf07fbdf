"""Is it the drive that answers? Signs of a cache beneath the guest: a hypervisor's memory, a controller's RAM.

The guest's page cache can be gone around; what lies beneath cannot, and a published study measured its host's memory
instead of its SSDs without noticing at first. Two signs: an answer faster than any NAND flash can give, and reads that
get faster when a small region is read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, sqrt

import numpy as np

from pgassay.analysis.boundaries import fixed_critical

FLASH_READ_MS = 0.030
"""No NAND flash delivers a page sooner: sensing alone takes 40 µs or more on TLC, 20 µs or more on fast SLC."""
SPEEDUP_LEAST = 1.2
"""Reading again must be at least this much faster to speak of a cache; a drive's own mapping cache gives less."""
LEAST = 2
"""Trials that a ratio's interval needs."""


@dataclass(frozen=True)
class Sign:
    """`code` is `too_fast` or `reread`; the text is a whole sentence with the numbers behind it."""

    code: str
    text: str


def too_fast(median_latencies_ms: Sequence[float]) -> Sign | None:
    """By the median latency of direct reads at depth 1 with one thread, one number a trial."""
    usable = [value for value in median_latencies_ms if isfinite(value) and value > 0.0]
    if not usable:
        return None
    middle = float(np.median(usable))
    if middle >= FLASH_READ_MS:
        return None
    return Sign(
        "too_fast",
        f"half of the direct reads were answered within {middle * 1e3:.0f} µs, sooner than any NAND flash can "
        f"({FLASH_READ_MS * 1e3:.0f} µs): memory beneath the guest answers (a hypervisor's or a controller's cache), "
        "or media other than flash",
    )


def reread(speedups: Sequence[float], level: float = 0.95) -> Sign | None:
    """By reads of one small region again and again ÷ reads of blocks not read before, one ratio a trial."""
    logs = np.asarray([log(value) for value in speedups if isfinite(value) and value > 0.0])
    if len(logs) < LEAST:
        return None
    half = fixed_critical(len(logs), 1.0 - level) * float(logs.std(ddof=1)) / sqrt(len(logs))
    middle, low = exp(float(logs.mean())), exp(float(logs.mean()) - half)
    if low < SPEEDUP_LEAST:
        return None
    return Sign(
        "reread",
        f"a small region read again is {middle:.1f} times as fast as fresh blocks (at least {low:.1f} times): a cache "
        "beneath the guest serves what was read before",
    )
