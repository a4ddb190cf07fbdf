"""What a trial yields, and how two of them are compared.

A response declares its unit, which direction is better, and its scale: *ratio*, or *difference* where it can be 0 or is
a share. Every room of the bench declares its own responses; the run's record keeps the declarations, so that a report
needs no room to read it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which direction of a response is an improvement."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Scale(StrEnum):
    """How a treatment is set against the baseline: by quotient or by subtraction."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class Response:
    """One declared response. `name` is lower_snake with its unit last; `title` is what a reader sees."""

    name: str
    title: str
    unit: str
    better: Better
    scale: Scale = Scale.RATIO
    cost: bool = False
    """True for a cost of a transaction (CPU µs, WAL bytes …): steadier than speed, and what explains it."""
