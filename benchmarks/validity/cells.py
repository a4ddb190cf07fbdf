"""The table's cells: which noise, how much, what goes wrong, how many treatments and blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

NOISES = ("normal", "log-normal", "t3", "stalls")
"""`normal`: additive on the response. `log-normal`, `t3`: multiplicative (normal, Student's t with 3 degrees of freedom
on the log scale). `stalls`: log-normal, and one trial in twenty ten times the CV slower: what storage does."""

UNBOUNDED = ("stalls",)
"""Noises beyond what issue 3 sets bounds for: shown, so that the method's limit is known, but not judged."""

SITUATIONS = ("plain", "drift", "blocks", "3x spread", "dropped")
"""`drift`: 20 % slower from first to last trial, steadily. `blocks`: a common effect of 10 % a block. `3x spread`: the
last treatment has three times the noise. `dropped`: one trial in ten is missing, and a treatment may leave for good."""


@dataclass(frozen=True)
class Cell:
    """One row. `treatments` counts the baseline; `blocks` is the horizon; `cv` the noise of a trial (0.03 is 3 %)."""

    noise: str
    cv: float
    situation: str
    treatments: int
    blocks: int

    @property
    def comparisons(self) -> int:
        """Treatments set against the baseline."""
        return self.treatments - 1


def quick() -> Iterator[Cell]:
    """A few of each kind: a minute."""
    for noise, situation in product(NOISES, SITUATIONS):
        yield Cell(noise, 0.03, situation, 3, 30)
    for cv, treatments, blocks in product((0.01, 0.10), (2, 6), (5, 12)):
        yield Cell("normal", cv, "plain", treatments, blocks)


def full() -> Iterator[Cell]:
    """Every combination that issue 3 asks for, and `stalls`."""
    for noise, cv, situation, treatments, blocks in product(
        NOISES, (0.01, 0.03, 0.10), SITUATIONS, (2, 3, 4, 5, 6), (5, 10, 20, 30)
    ):
        yield Cell(noise, cv, situation, treatments, blocks)


def smoke() -> Iterator[Cell]:
    """Two cells, to see that the command works."""
    yield Cell("log-normal", 0.01, "plain", 3, 10)
    yield Cell("t3", 0.03, "3x spread", 2, 10)


CELLS = {"smoke": smoke, "quick": quick, "full": full}
