"""From values that statistics name to places on a line: what is written down has no text of the user's.

Values that are only ordered become their rank. A number moves to a random place between its neighbours among the known
values, so that order and histogram stay and the number does not; where more than half of all whole numbers between the
least and the greatest are used (keys, codes, counters) they stay, since they say only how many there are. A column with
a foreign key moves with the one that it refers to. Labels of booleans and enums belong to the schema.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import gcd

import numpy as np

from pgassay.capture.synthetic.domains import Floats, Integers, distinct_values
from pgassay.capture.synthetic.statistics import LINE, NUMBERS, Column, Knot

_LARGEST = 1 << 62
_EXACT = 1 << 53
"""Whole numbers up to here are exact as floating point."""
_DENSE = 0.5


@dataclass(frozen=True)
class Named:
    """A value that the statistics name: a number, or its rank among all that were asked for; and its bytes as text.

    `frequency` is None for a bound of the histogram; `kept` is the value where the schema has it too.
    """

    line: Decimal
    width_bytes: int
    frequency: float | None = None
    kept: str | None = None


def with_knots(column: Column, named: Sequence[Named], rows: int, random: np.random.Generator) -> Column:
    """`column` with a knot for each of its named values, in the order of the line."""
    ordered = sorted(named, key=lambda one: one.line)
    if column.kind == "label" or not ordered:
        return replace(column, knots=_knots(ordered, np.array([int(one.line) for one in ordered], np.int64)))
    if column.kind not in NUMBERS:
        return replace(column, knots=_knots(ordered, _ranks(ordered)))
    digits = _digits(column, ordered)
    numbers = [int(one.line.scaleb(digits)) for one in ordered]
    step = gcd(*(after - before for before, after in pairwise(numbers))) or 1
    offset = numbers[0] % step
    places = np.array([(number - offset) // step for number in numbers], np.int64)
    column = replace(column, digits=digits, step=step, offset=offset)
    known = np.unique(places)
    if distinct_values(column, rows) < _DENSE * (int(known[-1]) - int(known[0]) + 1):
        places = moved(known, random)[np.searchsorted(known, places)]
    return replace(column, knots=_knots(ordered, places))


def referring(column: Column, named: Sequence[Named], root: Column, root_named: Sequence[Named]) -> Column:
    """`column` with its named values where they lie among those of `root`, which its foreign key leads to.

    Both lists were asked for together, so that ranks compare.
    """
    ordered = sorted(named, key=lambda one: one.line)
    before = np.array(sorted(float(one.line) for one in root_named))
    after = np.array([knot.place for knot in root.knots], np.float64)
    lines = np.array([float(one.line) for one in ordered])
    places = np.interp(lines, before, after) if len(before) else np.arange(len(lines), dtype=np.float64)
    shaped = replace(column, kind=root.kind, digits=root.digits, step=root.step, offset=root.offset, labels=root.labels)
    return replace(shaped, knots=_knots(ordered, np.rint(places).astype(np.int64)))


def moved(places: Integers, random: np.random.Generator) -> Integers:
    """Each of these rising places elsewhere between the middles to its neighbours; where there is no room it stays."""
    middles = (places[:-1] + places[1:]) // 2
    low = np.concatenate((places[:1], middles + 1))
    high = np.concatenate((middles, places[-1:]))
    drawn = random.integers(low, np.maximum(high, low + 1))  # one less than there are: the own place is left out
    found: Integers = np.where(drawn >= places, np.minimum(drawn + 1, high), drawn)
    return found


def _knots(ordered: Sequence[Named], places: Integers) -> tuple[Knot, ...]:
    pairs = zip(ordered, places.tolist(), strict=True)
    return tuple(Knot(place, one.width_bytes, one.frequency, one.kept) for one, place in pairs)


def _ranks(ordered: Sequence[Named]) -> Integers:
    """Bounds of the histogram at equal distances on the line, common values evenly between them."""
    lines = np.array([float(one.line) for one in ordered])
    known, place_of = np.unique(lines, return_inverse=True)
    is_bound = np.zeros(len(known), np.bool_)
    is_bound[place_of[[one.frequency is None for one in ordered]]] = True
    bounds = np.flatnonzero(is_bound)
    positions: Floats = np.interp(
        np.arange(len(known)), (-1, *bounds, len(known)), np.arange(len(bounds) + 2, dtype=np.float64)
    )
    return np.rint(positions * (LINE / (len(bounds) + 2))).astype(np.int64)[place_of]


def _digits(column: Column, ordered: Sequence[Named]) -> int:
    """Digits after the point: as the values have, as far as 64 bits (or a floating-point number) hold them."""
    if column.kind not in ("decimal", "float"):
        return 0
    limit = _EXACT if column.kind == "float" else _LARGEST
    digits = max((-exponent for one in ordered if isinstance(exponent := one.line.as_tuple().exponent, int)), default=0)
    largest = max(abs(one.line) for one in ordered)
    digits = max(0, digits)
    while digits and largest.scaleb(digits) >= limit:
        digits -= 1
    return digits
