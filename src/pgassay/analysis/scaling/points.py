"""The points that a law of scaling is fitted to: logarithms by number of clients, with block effects taken out.

A busy hour moves all points of a block alike. So points and blocks are fitted together, additively on the logarithm
(two-way layout), and what is left tells how well a point is known: pure error, whatever law is fitted later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """`places` (clients, ascending) with the mean logarithm at each.

    `error` is the variance of a point's mean from the blocks' disagreement, with its degrees of `freedom`; NaN and 0
    where each point was measured once.
    """

    places: Floats
    logs: Floats
    error: float
    freedom: int


def points_of(values: Mapping[float, Mapping[int, float]]) -> Points:
    """From clients → block → response; what is not positive and finite is left out, and places without a value."""
    usable = {
        place: {block: log(value) for block, value in column.items() if value > 0.0 and isfinite(value)}
        for place, column in sorted(values.items())
        if place > 0.0
    }
    usable = {place: column for place, column in usable.items() if column}
    places = list(usable)
    blocks = sorted({block for column in usable.values() for block in column})
    rows = [
        (places.index(place), blocks.index(block), value)
        for place, column in usable.items()
        for block, value in column.items()
    ]
    if not rows:
        return Points(np.empty(0), np.empty(0), float("nan"), 0)
    means, error, freedom = _two_way(rows, len(places), len(blocks))
    return Points(np.asarray(places, dtype=np.float64), means, error, freedom)


def _two_way(rows: Sequence[tuple[int, int, float]], places: int, blocks: int) -> tuple[Floats, float, int]:
    """Mean of each place over all blocks, as if none were missing; the variance of such a mean; its freedom."""
    design = np.zeros((len(rows), places + blocks - 1))
    seen = np.asarray([value for _, _, value in rows])
    for row, (place, block, _) in enumerate(rows):
        design[row, place] = 1.0
        if block < blocks - 1:
            design[row, places + block] = 1.0
        else:  # block effects add up to nothing
            design[row, places:] = -1.0
    found, _, rank, _ = np.linalg.lstsq(design, seen, rcond=None)
    freedom = len(rows) - int(rank)
    rest = seen - design @ found
    variance = float(rest @ rest) / freedom if freedom > 0 else float("nan")
    return found[:places], variance * places / len(rows), max(0, freedom)
