"""Studies over several hosts, looked at after every block: does the interval hold for the kind of host?

Blocks are spread over hosts evenly, or one host gets half of them, or one is three times as noisy; hosts differ in the
effect by a multiple of what blocks do. Intervals are the product's (`pgassay.analysis.hosts` takes many studies at
once). Beside them is what taking blocks for independent of their hosts would give, so that it is seen what for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

from benchmarks.validity.simulate import Floats
from pgassay.analysis.boundaries import FIRST_LOOK, criticals
from pgassay.analysis.hosts import HOSTS_MIN, between_interval, fit

WITHIN = 0.03
"""Standard deviation of a block's contrast on one host (logarithm)."""
NOISY = 3.0
BOUND = 0.05
BETWEEN = 0.94
"""The least coverage of the interval of the variance between hosts, which is exact for as many blocks on each only."""
BATCH = 1000
"""So many studies are worked on at a time."""


@dataclass(frozen=True)
class Cell:
    """Hosts, the horizon in blocks, how blocks come to hosts, and the deviation between hosts by that within."""

    hosts: int
    blocks: int
    spread: str
    between: float

    @property
    def order(self) -> tuple[int, ...]:
        """The host of each block: in turn, or the first host each second time (it is the fast one)."""
        if self.spread != "one fast":
            return tuple(block % self.hosts for block in range(self.blocks))
        others = self.hosts - 1
        return tuple(0 if block % 2 == 0 else 1 + (block // 2) % others for block in range(self.blocks))


@dataclass(frozen=True)
class Row:
    """Shares of studies: the truth outside at any look, at the last one, the same of independent blocks, and the true
    variance between hosts inside its interval; half-widths in per cent."""

    cell: Cell
    studies: int
    missed: float
    missed_last: float
    missed_independent: float
    between_covered: float
    width_last: float

    @property
    def broken(self) -> bool:
        """More wrong intervals, or fewer covered variances, than the bounds, by more than three standard errors?"""
        wrong, covered = (3.0 * sqrt(each * (1.0 - each) / self.studies) for each in (BOUND, BETWEEN))
        missed = max(self.missed, self.missed_last) > BOUND + wrong
        return missed or (self.cell.spread != "one noisy" and self.between_covered < BETWEEN - covered)


def cells() -> Iterator[Cell]:
    """Few and more hosts, evenly and unevenly, from no difference between hosts to one larger than blocks have."""
    for hosts, blocks in ((2, 12), (3, 12), (6, 24), (8, 40)):
        for spread in ("even", "one fast", "one noisy"):
            for between in (0.0, 0.3, 1.0, 3.0):
                yield Cell(hosts, blocks, spread, between)


def row(cell: Cell, studies: int, seed: int) -> Row:
    """Simulate a cell."""
    rng = np.random.default_rng([seed, cell.hosts, cell.blocks, len(cell.spread), round(10 * cell.between)])
    sums, done = np.zeros(5), 0
    while done < studies:
        batch = min(BATCH, studies - done)
        sums += batch * _batch(cell, batch, rng)
        done += batch
    return Row(cell, studies, *(float(each) for each in sums / studies))


def _batch(cell: Cell, studies: int, rng: np.random.Generator) -> Floats:
    order = np.asarray(cell.order)
    own = rng.normal(0.0, cell.between * WITHIN, (studies, cell.hosts))
    noise = np.where((order == 0) & (cell.spread == "one noisy"), NOISY * WITHIN, WITHIN)
    values = own[:, order] + noise * rng.standard_normal((studies, cell.blocks))
    limits = criticals(cell.blocks, BOUND)
    missed, naive = np.zeros(studies, dtype=np.bool_), np.zeros(studies, dtype=np.bool_)
    half = np.full(studies, np.inf)
    outside = np.zeros(studies, dtype=np.bool_)
    covered = np.ones(studies, dtype=np.bool_)
    for blocks in range(FIRST_LOOK, cell.blocks + 1):
        seen, limit = values[:, :blocks], limits[blocks - FIRST_LOOK]
        naive |= np.abs(seen.mean(axis=1)) > limit * seen.std(axis=1, ddof=1) / sqrt(blocks)
        counts, means, inside = _by_host(seen, order[:blocks])
        if len(counts) < HOSTS_MIN:
            continue
        found = fit(counts, means, inside)
        half = -stdtrit(found.freedom, stdtr(blocks - 1, -limit)) * found.error
        outside = np.abs(found.mean) > half
        missed |= outside
        low, high = between_interval(counts, means, inside)
        covered = (low <= (cell.between * WITHIN) ** 2) & ((cell.between * WITHIN) ** 2 <= high)
    return np.asarray([missed.mean(), outside.mean(), naive.mean(), covered.mean(), 100.0 * float(np.median(half))])


def _by_host(values: Floats, order: Floats) -> tuple[Floats, Floats, Floats]:
    groups = [values[:, order == host] for host in dict.fromkeys(order.tolist())]
    counts = np.asarray([group.shape[1] for group in groups], dtype=np.float64)
    means = np.stack([group.mean(axis=1) for group in groups], axis=1)
    inside = np.asarray(sum(((group - group.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for group in groups))
    return counts, means, inside
