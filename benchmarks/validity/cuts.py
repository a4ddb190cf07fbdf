"""Is the bound on damaging power cuts wrong no more often than it says, looked at after every cut of an epoch?

A run makes cuts in epochs. Some epochs are exposed: only in these does a cut do damage, with a chance of its own, so
cuts of one epoch are alike. The share of damaging cuts is the product of both. A bound is wrong in a run if it is below
that share at any look. Beside the bound by epochs stand what it would be worth if each cut were called independent, and
if Clopper and Pearson's, which is for one look, were looked at as often.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from pgassay.analysis.power_cuts import ALPHA, fixed_upper, sequence_upper

CUTS = 300
"""Of a run."""
Upper = Callable[[int, int], float]


@dataclass(frozen=True)
class CutCell:
    """Chances that an epoch is exposed and that a cut does damage there; cuts of an epoch, on average."""

    exposed: float
    damage: float
    alike: float

    @property
    def share(self) -> float:
        """Of cuts that do damage."""
        return self.exposed * self.damage


CELLS = tuple(
    CutCell(exposed, damage, alike)
    for exposed, damage in ((0.02, 1.0), (0.05, 0.5), (0.2, 0.5), (0.5, 1.0))
    for alike in (1.0, 3.0, 10.0)
)


@dataclass(frozen=True)
class Wrong:
    """Shares of runs in which a bound was wrong at any look."""

    cell: CutCell
    runs: int
    by_epochs: float
    by_cuts: float
    by_looks: float

    @property
    def broken(self) -> bool:
        """Is the bound that decides wrong more often than it says, beyond what chance makes of so many runs?"""
        return self.by_epochs > ALPHA + 3.0 * sqrt(ALPHA * (1.0 - ALPHA) / self.runs)


def wrong_bounds(cell: CutCell, runs: int, seed: int) -> Wrong:
    """Simulate `runs` runs, each looked at after every cut."""
    chance = np.random.default_rng(seed)
    every = [tuple(_looks(cell, chance)) for _ in range(runs)]

    def wrong(upper: Upper, *, cuts: bool) -> float:
        counted = (
            any((damaged[cuts] < _least(upper, number[cuts], cell.share)) for damaged, number in run) for run in every
        )
        return sum(counted) / runs

    return Wrong(
        cell,
        runs,
        by_epochs=wrong(sequence_upper, cuts=False),
        by_cuts=wrong(sequence_upper, cuts=True),
        by_looks=wrong(fixed_upper, cuts=False),
    )


def _looks(cell: CutCell, chance: np.random.Generator) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """After each cut: (damaged epochs, damaging cuts), (epochs, cuts)."""
    epochs = damaged_epochs = cuts = damaging = 0
    while cuts < CUTS:
        epochs += 1
        exposed = chance.random() < cell.exposed
        found = False
        for _ in range(chance.geometric(1.0 / cell.alike)):
            cuts += 1
            hit = exposed and chance.random() < cell.damage
            damaging += hit
            found = found or bool(hit)
            yield (damaged_epochs + found, damaging), (epochs, cuts)
        damaged_epochs += found


@lru_cache(maxsize=100_000)
def _least(upper: Upper, number: int, share: float) -> int:
    """The fewest damaged ones of `number` at which the bound is not below the share: it rises with them."""
    return next(damaged for damaged in range(number + 1) if upper(damaged, number) >= share)
