"""The work in parts that know nothing of each other, each with its own random numbers.

So it does not matter in which order they are simulated: the answers are the same, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.validity.agreement import agreement
from benchmarks.validity.answers import ASKED, answer
from benchmarks.validity.cells import CELLS
from benchmarks.validity.cuts import CELLS as CUT_CELLS
from benchmarks.validity.cuts import wrong_bounds
from benchmarks.validity.hosts import cells as host_cells
from benchmarks.validity.hosts import row as host_row
from benchmarks.validity.noises import cells as noise_cells
from benchmarks.validity.noises import row as noise_row
from benchmarks.validity.rates import rates
from benchmarks.validity.steadiness import (
    KNOWN_LENGTHS,
    KNOWN_WINDOWS,
    known_alarms_at,
    known_power_at,
)

HOSTS_MOST = 4000
"""Each study has a fit at every look: no more of them than these for each row."""
NOISES_MOST = 2000
"""Simulated time is dear: no more studies than these for each machine."""


@dataclass(frozen=True)
class Part:
    """A function of this package, and what it is called with."""

    work: Callable[..., Any]
    words: tuple[Any, ...]


@dataclass(frozen=True)
class Numbers:
    """How many of each thing are simulated."""

    studies: int
    seed: int

    @property
    def noises(self) -> int:
        """Studies of each machine."""
        return min(self.studies, NOISES_MOST)

    @property
    def hosts(self) -> int:
        """Studies of each row of hosts."""
        return min(self.studies, HOSTS_MOST)

    @property
    def known(self) -> int:
        """Trials without cycles whose checkpoints are known."""
        return max(200, self.studies // 5)

    @property
    def cyclic(self) -> int:
        """Trials with cycles."""
        return max(50, self.studies // 10)


def parts(cells: str, numbers: Numbers) -> dict[str, list[Part]]:
    """All of the work, by the table that it is for."""
    many, seed = numbers.studies, numbers.seed
    return {
        "agreement": [Part(agreement, (seed,))],
        "rates": [Part(rates, (cell, many, seed)) for cell in CELLS[cells]()],
        "noises": [Part(noise_row, (cell, numbers.noises, seed)) for cell in noise_cells()],
        "hosts": [Part(host_row, (cell, numbers.hosts, seed)) for cell in host_cells()],
        "answers": [Part(answer, (row, many, seed)) for row in range(len(ASKED))],
        "known alarms": [Part(known_alarms_at, (seconds, numbers.known, seed)) for seconds in KNOWN_LENGTHS],
        "known power": [Part(known_power_at, (*window, numbers.cyclic, seed)) for window in KNOWN_WINDOWS],
        "cuts": [Part(wrong_bounds, (cell, many, seed)) for cell in CUT_CELLS],
    }


def done(part: Part) -> Any:
    """What a part finds."""
    return part.work(*part.words)
