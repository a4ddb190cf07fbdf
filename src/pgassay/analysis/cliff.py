"""The cliff of an SLC cache: sustained writing that falls to a lower level for good, after so many bytes.

Consumer drives take writes into a part of the flash that is used with one bit a cell, and slow down several times once
it is full. A benchmark that ends before the cliff measures the cache. Found by the change points of `changes`.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgassay.analysis.changes import changes

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
        """The finding as a sentence."""
        gigabytes = self.after_bytes / 1e9
        return (
            f"after {gigabytes:.3g} GB of sustained writing the rate fell from {self.before / 1e6:.0f} to "
            f"{self.after / 1e6:.0f} MB/s and stayed there, as when a drive's SLC cache is full"
        )


def cliff(bytes_per_s: Sequence[float]) -> Cliff | None:
    """By the rate of each second of a run that only writes; None without a lasting fall, or below eight seconds.

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
