"""Which distinct values a column has, and each one's share of the rows: common values, and the histogram's between.

A histogram of PostgreSQL has bins of equal share without the common values (manual, "Row Estimation Examples"). The
other distinct values are laid evenly into its bins; where whole numbers leave no room in a bin, into the others.
A column with a foreign key takes its values from the column that it refers to.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pgassay.capture.synthetic.statistics import Column, Knot

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Slots:
    """Distinct values as rising whole numbers, each with its share of the non-null rows and its knot (-1: none)."""

    slots: Integers
    shares: Floats
    knots: Integers


def distinct_values(column: Column, rows: int) -> int:
    """How many distinct values the statistics count in so many rows."""
    count = column.distinct if column.distinct > 0 else -column.distinct * rows
    return max(1, round(min(count, rows * (1 - column.null_fraction))))


def lay_out(column: Column, places: Integers, count: int, *, highest: int | None = None, unique: bool = False) -> Slots:
    """`count` distinct values on whole numbers; `places` has those of the column's knots, rising.

    `highest` bounds what may be added above the last knot where a unique column has too little room.
    """
    commons = [number for number, knot in enumerate(column.knots) if knot.frequency is not None]
    bounds = places[[number for number, knot in enumerate(column.knots) if knot.frequency is None]]
    common = _apart(places[commons])
    frequencies = np.array([column.knots[number].frequency or 0.0 for number in commons])
    frequencies = frequencies / max(1 - column.null_fraction, frequencies.sum(), 1e-9)
    rest = max(0.0, 1 - frequencies.sum())
    others = max(0, count - len(commons))
    if len(bounds) < 2 or rest == 0.0 or others == 0:
        return _only_common(column.knots, places, common, frequencies, commons, count, unique, highest)
    inner, shares = _between(bounds, common, max(others, len(np.unique(bounds))), rest, unique, highest)
    slots = np.concatenate((common, inner))
    knots = np.concatenate((np.array(commons, np.int64), np.full(len(inner), -1)))
    order = np.argsort(slots, kind="stable")
    weights = np.concatenate((frequencies, shares))
    if unique:
        weights = np.ones(len(slots))
    return Slots(slots[order], weights[order] / weights.sum(), knots[order])


def _only_common(
    knots: tuple[Knot, ...], places: Integers, common: Integers, frequencies: Floats, commons: list[int], count: int,
    unique: bool, highest: int | None,
) -> Slots:  # fmt: skip
    """Without a histogram: the values that are known, or where none is as many as are counted, side by side."""
    if len(common) and not unique:
        order = np.argsort(common, kind="stable")
        return Slots(common[order], frequencies[order] / frequencies.sum(), np.array(commons, np.int64)[order])
    first = int(places[0]) if len(knots) else 1 if highest is None else 0
    top = first + count - 1 if highest is None else min(first + count - 1, highest)
    slots = np.arange(first, max(first, top) + 1)
    return Slots(slots, np.full(len(slots), 1 / len(slots)), np.full(len(slots), -1))


def _apart(places: Integers) -> Integers:
    """Rising places of which no two are equal: what collides moves up."""
    steps = np.arange(len(places))
    apart: Integers = np.maximum.accumulate(places - steps) + steps
    return apart


def _between(
    bounds: Integers, common: Integers, count: int, rest: float, unique: bool, highest: int | None
) -> tuple[Integers, Floats]:
    """`count` places in the bins of the histogram, none of them a common value's, with their shares.

    Reckoned on the numbers that common values leave free, so that a bin full of them has no room.
    """
    gaps = common - np.arange(len(common))
    free = bounds - np.searchsorted(common, bounds)
    low, high = free[:-1].copy(), free[1:].copy()
    low[0] -= 1  # the first bin has its lower bound too
    room = high - low
    if unique and (short := count - int(room.sum())) > 0:
        last = int(high[-1]) + short
        high[-1] = last if highest is None else min(last, highest - len(common))
        room = high - low
    counts = share_out(count, room)
    bins = np.repeat(np.arange(len(room)), counts)
    nth = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    # Not (nth * room) // count: microseconds times millions would leave 64 bits.
    quotient, remainder = room[bins] // counts[bins], room[bins] % counts[bins]
    chosen = low[bins] + nth * quotient + (nth * remainder) // counts[bins]
    # A bin without room has a value that fills it: its share goes to the last value before.
    owner = np.maximum(np.cumsum(counts) - 1, 0)
    mass = np.where(counts > 0, rest / len(room), 0.0)
    shares = mass[bins] / counts[bins]
    np.add.at(shares, owner[counts == 0], rest / len(room))
    places: Integers = chosen + np.searchsorted(gaps, chosen, side="right")
    return places, shares


def share_out(count: int, room: Integers) -> Integers:
    """`count` things as evenly as possible over places of limited room; fewer where there is no more room."""
    room = np.maximum(room, 0)
    count = int(min(count, room.sum()))
    low, high = 0, int(room.max(initial=0))
    while low < high:
        level = (low + high) // 2
        low, high = (level + 1, high) if int(np.minimum(room, level).sum()) < count else (low, level)
    # `low` is the least level at which there is enough: one less in as many places as are too many, spread evenly.
    counts = np.minimum(room, low)
    full = np.flatnonzero(counts == low)
    excess = int(counts.sum()) - count
    counts[full[(np.arange(excess) * len(full)) // max(excess, 1)]] -= 1
    return counts
