"""Signs that a benchmark of a disk measured a cache: one beneath the guest, or the drive's own SLC cache.

The guest's page cache can be bypassed; what lies beneath cannot, and a published study measured its host's memory
instead of its SSDs without noticing at first. Two signs: an answer faster than any NAND flash can give, and reads that
get faster when a small region is read again. Consumer drives also take writes into flash that is used with one bit a
cell (SLC), and slow down several times once that is full: a benchmark that ends before this cliff measures the cache.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, sqrt

import numpy as np

from pgassay.analysis.boundaries import LEVEL, fixed_critical
from pgassay.analysis.seconds import changes

FLASH_READ_MS = 0.030
"""No NAND flash delivers a page sooner: sensing alone takes 40 µs or more on TLC, 20 µs or more on fast SLC."""
SPEEDUP_LEAST = 1.2
"""Reading again must be at least this much faster to speak of a cache; a drive's own mapping cache gives less."""
LEAST = 2
"""Trials that a ratio's interval needs."""


def too_fast(median_latencies_ms: Sequence[float]) -> str:
    """A sentence where half of the direct reads were faster than flash; else empty.

    `median_latencies_ms` has one number a trial: the median latency of direct reads at depth 1 with one thread.
    """
    usable = [value for value in median_latencies_ms if isfinite(value) and value > 0.0]
    middle = float(np.median(usable)) if usable else FLASH_READ_MS
    if middle >= FLASH_READ_MS:
        return ""
    return (
        f"half of the direct reads were answered within {middle * 1e3:.0f} µs, sooner than any NAND flash can "
        f"({FLASH_READ_MS * 1e3:.0f} µs): memory beneath the guest answers (a hypervisor's or a controller's cache), "
        "or media other than flash"
    )


def reread(speedups: Sequence[float]) -> str:
    """A sentence where reading again is faster (at 95 %); empty where it is not shown, and below two trials.

    `speedups` has one ratio a trial: rate of reading one small region again and again ÷ rate of reading fresh blocks.
    """
    logs = np.asarray([log(value) for value in speedups if isfinite(value) and value > 0.0])
    if len(logs) < LEAST:
        return ""
    half = fixed_critical(len(logs), 1.0 - LEVEL) * float(logs.std(ddof=1)) / sqrt(len(logs))
    middle, low = exp(float(logs.mean())), exp(float(logs.mean()) - half)
    if low < SPEEDUP_LEAST:
        return ""
    return (
        f"a small region read again is {middle:.1f} times as fast as fresh blocks (at least {low:.1f} times): a cache "
        "beneath the guest serves what was read before"
    )


DROP_LEAST = 0.3
"""A lasting fall by this share of the level before."""
SECONDS_LEAST = 8


@dataclass(frozen=True)
class Cliff:
    """`after_bytes` written, the rate fell from `before` to `after`, in bytes per second, and stayed down."""

    after_bytes: float
    before: float
    after: float

    @property
    def text(self) -> str:
        """The cliff in one sentence, with gigabytes and both rates."""
        gigabytes = self.after_bytes / 1e9
        return (
            f"after {gigabytes:.3g} GB of sustained writing the rate fell from {self.before / 1e6:.0f} to "
            f"{self.after / 1e6:.0f} MB/s and stayed there, as when a drive's SLC cache is full"
        )


def cliff(bytes_per_s: Sequence[float]) -> Cliff | None:
    """The deepest lasting fall of a run that only writes, by the bytes of each second; None without one.

    None too for fewer than eight seconds or a missing one.

    Every level after the fall must stay below it: writing that recovers was disturbed and has no cliff.
    """
    rates = np.asarray(bytes_per_s, dtype=np.float64)
    if len(rates) < SECONDS_LEAST or not np.all(np.isfinite(rates)):
        return None
    starts = changes(rates[None, :])[0]
    edges = [0, *sorted(place for place in starts if 0 < place < len(rates)), len(rates)]
    levels = [float(rates[low:high].mean()) for low, high in itertools.pairwise(edges)]
    best: Cliff | None = None
    for index in range(1, len(levels)):
        before = float(rates[: edges[index]].mean())
        if before <= 0.0 or max(levels[index:]) > (1.0 - DROP_LEAST) * min(before, levels[index - 1]):
            continue
        found = Cliff(float(rates[: edges[index]].sum()), before, float(rates[edges[index] :].mean()))
        if best is None or found.after / found.before < best.after / best.before:
            best = found
    return best
