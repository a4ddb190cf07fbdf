"""The error rates and widths of a cell, over all looks and treatments jointly, with their Monte-Carlo errors."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from benchmarks.validity.cells import UNBOUNDED, Cell
from benchmarks.validity.simulate import Floats, logs, look
from pgassay.analysis.boundaries import FIRST_LOOK

ERROR = 0.05
COVERAGE = 0.95
COVERAGE_T3 = 0.935
RESOLUTION = 0.02
AGAIN = 10
"""A cell over its bound is simulated afresh with this many times the studies, and judged by that alone: among hundreds
of cells at exactly 5 % one or two lie beyond three standard errors by chance."""
BATCH = 5000


@dataclass(frozen=True)
class Rates:
    """Shares of studies. `width_first` and `width_last`: mean half-width at five blocks and at the horizon, in %."""

    cell: Cell
    studies: int
    false_difference: float
    coverage: float
    wrong_equivalence: float
    width_first: float
    width_last: float

    @property
    def failures(self) -> tuple[str, ...]:
        """Which bounds of issue 3 this cell breaks."""
        return () if self.cell.noise in UNBOUNDED else self.beyond

    @property
    def beyond(self) -> tuple[str, ...]:
        """What lies beyond a bound, also where none is set."""
        least = COVERAGE_T3 if self.cell.noise == "t3" else COVERAGE
        found = []
        if self.false_difference > ERROR + 3 * _error(ERROR, self.studies):
            found.append("false better/worse")
        if self.coverage < least - 3 * _error(least, self.studies):
            found.append("coverage")
        if self.wrong_equivalence > ERROR + 3 * _error(ERROR, self.studies):
            found.append("wrong equivalence")
        return tuple(found)


def rates(cell: Cell, studies: int, seed: int) -> Rates:
    """Simulate `cell`; a second, larger and independent simulation decides where the first breaks a bound."""
    first = _rates(cell, studies, np.random.default_rng([seed, *_key(cell)]))
    if not first.failures:
        return first
    return _rates(cell, AGAIN * studies, np.random.default_rng([seed, 1, *_key(cell)]))


def _key(cell: Cell) -> tuple[int, ...]:
    return tuple(f"{cell.noise}/{cell.cv}/{cell.situation}/{cell.treatments}/{cell.blocks}".encode())


def _rates(cell: Cell, studies: int, rng: np.random.Generator) -> Rates:
    sums = np.zeros(5)
    done = 0
    while done < studies:
        batch = min(BATCH, studies - done)
        sums += batch * _batch(cell, batch, rng)
        done += batch
    return Rates(cell, studies, *(float(value) for value in sums / studies))


def _batch(cell: Cell, studies: int, rng: np.random.Generator) -> Floats:
    margin = log(1.0 + RESOLUTION)
    # Without effect: any "better" or "worse" at any look is false.
    none = look(logs(cell, studies, np.zeros(cell.treatments), rng), cell.blocks)
    false_difference = (none.different() & ~none.equivalent(margin)).any(axis=(1, 2)).mean()
    # Effects of every size: each interval of each look has to hold its own truth.
    truth = np.concatenate(([0.0], np.linspace(-0.1, 0.2, cell.comparisons)))
    some = look(logs(cell, studies, truth, rng), cell.blocks)
    covered = (np.abs(some.mean - truth[1:]) <= some.half).all(axis=(1, 2)).mean()
    # The effects exactly on the margin, where "equivalent" is wrong and easiest to say.
    edge = np.concatenate(([0.0], np.full(cell.comparisons, margin)))
    wrong = look(logs(cell, studies, edge, rng), cell.blocks).equivalent(margin).any(axis=(1, 2)).mean()
    first = none.half[:, 0][none.pairs[:, 0] == FIRST_LOOK]
    last = none.half[:, -1][np.isfinite(none.half[:, -1])]
    return np.asarray([false_difference, covered, wrong, 100 * first.mean(), 100 * last.mean()])


def _error(rate: float, studies: int) -> float:
    return sqrt(rate * (1.0 - rate) / studies)
