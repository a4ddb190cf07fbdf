"""How long a slice should be, by how much a machine's speed differs from one stretch of time to the next.

Short slices meet the same machine, long ones lose less between them; the deviation by length (`spectrum`) decides. Pure
Python, since plans and records of calibrations read it without the analysis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt

SLICES_S = (0.25, 0.5, 1.0, 2.0, 5.0)
"""Lengths of a slice that are weighed."""
USUAL_SLICE_S = 0.25
GAIN_MIN = 0.1
"""Another length than the usual one is chosen only if it narrows an interval by more than this share."""


@dataclass(frozen=True)
class Deviation:
    """By how much speeds of neighbouring windows of this length differ: a share, from so many neighbours."""

    length_s: float
    deviation: float
    jumps: int


def deviation_at(found: Sequence[Deviation], length_s: float) -> float | None:
    """The deviation of a length between two that were measured (logarithms, straight); None outside of them."""
    known = sorted((each for each in found if each.deviation > 0.0), key=lambda each: each.length_s)
    for sooner, later in pairwise(known):
        if sooner.length_s <= length_s * 1.001 and length_s <= later.length_s * 1.001:
            place = log(length_s / sooner.length_s) / log(later.length_s / sooner.length_s)
            return exp((1.0 - place) * log(sooner.deviation) + place * log(later.deviation))
    return None


def slice_for(found: Sequence[Deviation], between_s: float) -> float:
    """The length of slice that narrows a contrast most in the same time, if `between_s` pass between two slices.

    A contrast's variance goes as deviation² × (slice + what passes between), as many slices as fit being averaged. It
    is `USUAL_SLICE_S` where nothing else is better by `GAIN_MIN`, or where that length was not measured.
    """
    costs: dict[float, float] = {}
    for length_s in SLICES_S:
        deviation = deviation_at(found, length_s)
        if deviation is not None:
            costs[length_s] = deviation * sqrt(length_s + between_s)
    if USUAL_SLICE_S not in costs:
        return USUAL_SLICE_S
    best = min(costs, key=lambda length_s: costs[length_s])
    return best if costs[best] < (1.0 - GAIN_MIN) * costs[USUAL_SLICE_S] else USUAL_SLICE_S
