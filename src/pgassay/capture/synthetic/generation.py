"""A schema's statistics in, its tables out: rows as frames whose columns COPY can read, and values for parameters.

The same seed gives the same data. A table is made in memory, some 8 bytes a value and row.

Values: a histogram of PostgreSQL has bins of equal share without the common values (manual, "Row Estimation Examples").
The other distinct values are laid evenly into its bins; where whole numbers leave no room in a bin, into the others. A
column with a foreign key takes its values from the column that it refers to.

Rows: pg_stats.correlation is Pearson's, between the order of the rows and that of their values, equal values in the
order of the rows (analyze.c, compute_scalar_stats). A share of the rows lies in order and the others anywhere, as in a
table that is appended to and updated; that share follows from the correlation.

Keys: a foreign key of several columns takes whole rows of its parent, as often as the columns' shares say: a parent's
weight is the product of what its values occur more often here than there (raking, with independent columns). What is
left of a unique key is dealt: within each group of rows that are equal so far, every value at most once.

An invented text begins with its number to the base 26 (or more, where a short type has no room), so that it sorts
alike in every collation, and goes on with random letters up to its width: they compress as little as what is stored
compressed already. Widths are those of the statistics, and their mean is pg_stats.avg_width.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from string import ascii_lowercase, digits, punctuation
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from pgassay.capture.errors import SyntheticError
from pgassay.capture.synthetic.statistics import LINE, NUMBERS, Column, ForeignKey, Knot, Schema, Table

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


NULL = -1


def counts(shares: Floats, rows: int, random: np.random.Generator) -> Integers:
    """How often each value occurs in so many rows: its share, rounded so that the sum is right ("systematic")."""
    edges = np.floor(np.cumsum(shares) / shares.sum() * rows + random.random())
    edges[-1] = rows
    often: Integers = np.diff(np.minimum(edges, rows), prepend=0).astype(np.int64)
    return often


def in_order_share(correlation: float, shares: Floats) -> float:
    """The share of rows that lies in order (negative: in falling order) where a column has this correlation.

    Rows anywhere have one too, since equal values count as ordered: the sum of the squared shares.
    """
    by_chance = float(np.square(shares / shares.sum()).sum())
    if by_chance >= 1.0:
        return 1.0
    return float(np.clip((correlation - by_chance) / (1 - by_chance), -1.0, 1.0))


def loosen(order: Integers, in_order: float, random: np.random.Generator) -> Integers:
    """`order` with all but a share of its entries shuffled among themselves; reversed where the share is negative."""
    arranged = order[::-1].copy() if in_order < 0 else order.copy()
    moved = np.flatnonzero(random.random(len(order)) >= abs(in_order))
    arranged[moved] = arranged[random.permutation(moved)]
    return arranged


def column_rows(
    shares: Floats, rows: int, null_fraction: float, correlation: float | None, random: np.random.Generator
) -> Integers:
    """Numbers of values (into `shares`), one a row in physical order; `NULL` where there is none."""
    if not len(shares):
        return np.full(rows, NULL, np.int64)
    nulls = round(rows * null_fraction)
    ordered = np.repeat(np.arange(len(shares)), counts(shares, rows - nulls, random))
    values = loosen(ordered, in_order_share(correlation or 0.0, shares), random)
    if not nulls:
        return values
    drawn = np.full(rows, NULL, np.int64)
    drawn[np.sort(random.permutation(rows)[nulls:])] = values
    return drawn


Columns = dict[str, Integers]
"""Each column's values by their numbers, a row each."""
_DENSE = 0.2
"""Where more of all combinations are used, drawing at random would not find the last ones."""
_TRIES = 30


@dataclass(frozen=True)
class Marginal:
    """A column by itself: its values' numbers, their shares, and how far the physical order follows them."""

    numbers: Integers
    shares: Floats
    correlation: float


@dataclass(frozen=True)
class Parent:
    """Rows of another table that a foreign key takes: `rows` under the names of our columns."""

    columns: tuple[str, ...]
    rows: Columns


def bound_rows(
    marginals: Mapping[str, Marginal],
    key: Sequence[str],
    parents: Sequence[Parent],
    rows: int,
    random: np.random.Generator,
) -> Columns:
    """At most `rows` rows of all columns of `marginals`, unique in `key` (if any), in physical order."""
    drawn: Columns = {}
    for parent in parents:
        _take(drawn, parent, marginals, key, rows, random)
    local = sorted((name for name in key if name not in drawn), key=lambda name: len(marginals[name].numbers))
    for name in local:
        others = [other for other in key if other in drawn]
        _deal(drawn, name, marginals[name], others, rows, random, last=name == local[-1])
    if key:
        first = first_of_each([drawn[name] for name in key])
        drawn = {name: values[first] for name, values in drawn.items()}
    return _physical(drawn, marginals, random)


def combination_codes(columns: Sequence[Integers]) -> Integers:
    """A number for each row, equal where all columns are; from 0 without gaps."""
    code = np.unique(columns[0], return_inverse=True)[1].astype(np.int64)
    for column in columns[1:]:
        values, inverse = np.unique(column, return_inverse=True)
        code = np.unique(code * len(values) + inverse, return_inverse=True)[1].astype(np.int64)
    return code


def first_of_each(columns: Sequence[Integers]) -> Integers:
    """The places of the first row of each combination, rising."""
    return np.sort(np.unique(combination_codes(columns), return_index=True)[1]).astype(np.int64)


def _take(
    drawn: Columns,
    parent: Parent,
    marginals: Mapping[str, Marginal],
    key: Sequence[str],
    rows: int,
    random: np.random.Generator,
) -> None:
    """Add a foreign key's columns to `drawn`: rows of the parent, those that fit where columns are there already."""
    if shared := [name for name in parent.columns if name in drawn]:
        return _take_fitting(drawn, parent, shared, random)
    weights = np.ones(len(parent.rows[parent.columns[0]]))
    for name in parent.columns:  # the share of each value here and among the parent's rows, by the value's number
        theirs, marginal = parent.rows[name], marginals[name]
        size = 1 + max(int(theirs.max(initial=0)), int(marginal.numbers.max(initial=0)))
        here = np.zeros(size)
        here[marginal.numbers] = marginal.shares
        there = np.bincount(theirs, minlength=size) / max(len(theirs), 1)
        weights *= here[theirs] / np.where(there > 0, there, 1.0)[theirs]
    if not weights.any():
        weights[:] = 1.0
    often = counts(weights, rows, random)
    if key and set(key) <= set(parent.columns):  # each combination once
        often = np.minimum(often, 1)
        unused = np.flatnonzero((often == 0) & (weights > 0))
        missing = min(rows - int(often.sum()), len(unused))
        often[random.permutation(unused)[:missing]] = 1
    picked = np.repeat(np.arange(len(weights)), often)
    for name in parent.columns:
        drawn[name] = parent.rows[name][picked]
    return None


def _take_fitting(drawn: Columns, parent: Parent, shared: Sequence[str], random: np.random.Generator) -> None:
    """For each row any of the parent's rows that agrees with it; rows without one are left out."""
    ours = len(drawn[shared[0]])
    code = combination_codes([np.concatenate((drawn[name], parent.rows[name])) for name in shared])
    mine, theirs = code[:ours], code[ours:]
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], mine)
    many = np.searchsorted(theirs[order], mine, side="right") - first
    kept = np.flatnonzero(many)
    picked = order[first[kept] + (random.random(len(kept)) * many[kept]).astype(np.int64)]
    for name in drawn:
        drawn[name] = drawn[name][kept]
    for name in parent.columns:
        drawn[name] = parent.rows[name][picked]


def _deal(
    drawn: Columns,
    name: str,
    marginal: Marginal,
    others: Sequence[str],
    rows: int,
    random: np.random.Generator,
    *,
    last: bool,
) -> None:
    """Add a column of the key: its values in their shares, spread over the groups of rows that are equal in `others`.

    The `last` one has no two equal values in a group, if it can be.
    """
    if not drawn:
        drawn[name] = np.repeat(marginal.numbers, counts(marginal.shares, rows, random))
        return
    size = len(next(iter(drawn.values())))
    group = combination_codes([drawn[other] for other in others]) if others else np.zeros(size, np.int64)
    groups = int(group.max(initial=-1)) + 1
    often = counts(marginal.shares, size, random)
    over = often - groups
    if last and (excess := int(over[over > 0].sum())) > 0:
        often = np.minimum(often, groups)
        often = often + share_out(excess, groups - often)
    if last and size < _DENSE * groups * len(often):
        drawn[name] = marginal.numbers[_draw_apart(group, often, random)]
        return
    # Slots go round by round, one of each group in turn; a value's copies lie side by side in them, so in other groups.
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=groups)
    turn = np.empty(size, np.int64)
    turn[order] = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots = np.lexsort((random.permutation(groups)[group], turn))
    frequent = np.argsort(-often, kind="stable")
    copies = np.repeat(frequent, often[frequent])
    dealt = np.empty(size, np.int64)
    dealt[slots[: len(copies)]] = copies
    dealt[slots[len(copies) :]] = frequent[0]  # more rows than combinations: these are left out as equal
    drawn[name] = marginal.numbers[dealt]


def _draw_apart(group: Integers, often: Integers, random: np.random.Generator) -> Integers:
    """Each row any value, each value as often as it should; equal ones in a group change with others, some times."""
    values = random.permutation(np.repeat(np.arange(len(often)), often))
    for _ in range(_TRIES):
        again = np.ones(len(values), np.bool_)
        again[np.unique(group * len(often) + values, return_index=True)[1]] = False
        equal = np.flatnonzero(again)
        if not len(equal):
            break
        swapped = np.unique(np.concatenate((equal, random.integers(0, len(values), len(equal)))))
        values[swapped] = values[random.permutation(swapped)]
    return values


def _physical(drawn: Columns, marginals: Mapping[str, Marginal], random: np.random.Generator) -> Columns:
    """The rows sorted by the column that the physical order follows most, then by the next; loosened as that one is."""
    if not drawn:
        return drawn
    names = sorted(drawn, key=lambda name: -abs(marginals[name].correlation))
    signs = [-1 if marginals[name].correlation < 0 else 1 for name in names]
    order = np.lexsort([sign * drawn[name] for name, sign in zip(names, signs, strict=True)][::-1])
    first = marginals[names[0]]
    loose = loosen(order, abs(in_order_share(first.correlation, first.shares)), random)
    return {name: values[loose] for name, values in drawn.items()}


_ALPHABETS = tuple(
    text.encode()
    for text in (
        ascii_lowercase,
        digits + ascii_lowercase,
        "".join(sorted(set(digits + ascii_lowercase + ascii_lowercase.upper() + punctuation) - set("\\"))),
    )
)
_SHORT_HEADER, _LONG_HEADER, _SHORT_LIMIT = 1, 4, 127
"""Bytes before a text in a row, and how long it is with the short ones (manual, "Database Page Layout")."""
_POOL_BYTES = 1 << 20
_OVERHEAD = {"json": 8, "jsonb": 14}
"""Bytes of `{"a":""}` as text, and stored (jsonb.h: header, two entries, the key)."""
_ARRAY_HEADER, _INTEGER_BYTES = 21, 4


def values(column: Column, slots: Slots, random: np.random.Generator) -> pl.Series:
    """The distinct values of a column, in the order of `slots`, as COPY reads them (text format, not yet escaped)."""
    places, count = slots.slots, len(slots.slots)
    if column.kind == "integer":
        return pl.Series(column.name, column.offset + places * column.step)
    made: Sequence[str | bytes]
    if column.kind in NUMBERS:
        numbers: Integers = column.offset + places * column.step
        made = {
            "decimal": lambda: [f"{Decimal(number).scaleb(-column.digits):f}" for number in numbers.tolist()],
            "float": lambda: [repr(number / 10**column.digits) for number in numbers.tolist()],
            "date": lambda: _moments(numbers.astype("m8[D]")),
            "timestamp": lambda: _moments(numbers.astype("m8[us]")),
            "time": lambda: [str(timedelta(microseconds=number)) for number in numbers.tolist()],
        }[column.kind]()
    elif column.kind == "label":
        made = [column.labels[number] for number in places.tolist()]
    elif column.kind == "interval":
        made = [f"{number + 1} seconds" for number in range(count)]
    elif column.kind == "uuid":
        tails = random.integers(0, 1 << 62, count).tolist()
        made = [f"{number:012x}{tail:020x}" for number, tail in zip(places.tolist(), tails, strict=True)]
    elif column.kind == "address":
        made = [f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(count)]
    elif column.kind == "integers":
        length = max(1, round((column.average_width_bytes - _ARRAY_HEADER) / _INTEGER_BYTES))
        drawn = random.integers(0, 1_000_000, (count, length))
        drawn[:, 0] = np.arange(count)
        made = ["{" + ",".join(map(str, row)) + "}" for row in drawn.tolist()]
    else:
        made = _texts(column, slots, random)
    return pl.Series(column.name, made, pl.String)


def escaped(texts: pl.Series) -> pl.Series:
    """As COPY's text format wants it: only values that the schema names and bytea can have what must be escaped."""
    if texts.dtype != pl.String:
        return texts
    for plain, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        texts = texts.str.replace_all(plain, written, literal=True)
    return texts


def _moments(since_2000: npt.NDArray[np.timedelta64]) -> list[str]:
    found = np.datetime_as_string(np.datetime64("2000-01-01") + since_2000)
    return [text.replace("T", " ") for text in found.tolist()]


def _texts(column: Column, slots: Slots, random: np.random.Generator) -> list[str]:
    """Invented texts of the right widths; a value that the schema names stays."""
    numbers = codes(len(slots.slots), column.longest, column.name)
    wide = widths(column, slots, random)
    pool = random.integers(ord("a"), ord("z") + 1, _POOL_BYTES + int(wide.max(initial=0)), np.uint8).tobytes().decode()
    starts = random.integers(0, _POOL_BYTES, len(numbers)).tolist()
    texts = [
        code + pool[start : start + max(0, width - len(code))]
        for code, start, width in zip(numbers, starts, wide.tolist(), strict=True)
    ]
    if column.kind == "bytes":
        return ["\\x" + text.encode().hex() for text in texts]
    if column.kind in ("json", "jsonb"):
        return [f'{{"a":"{text}"}}' for text in texts]
    if column.kind == "texts":
        return [f"{{{text}}}" for text in texts]
    for place in np.flatnonzero(slots.knots >= 0).tolist():
        texts[place] = column.knots[slots.knots[place]].kept or texts[place]
    return texts


def codes(count: int, longest: int | None, name: str) -> list[str]:
    """`count` different texts in rising order, as short as they can be and of one length; raises `SyntheticError`."""
    for alphabet in _ALPHABETS:
        base, length = len(alphabet), 1
        while base**length < count:
            length += 1
        if longest is None or length <= longest:
            break
    else:
        raise SyntheticError(
            f'column "{name}" has {count} distinct values of at most {longest} characters: so many cannot be invented',
            "capture the data themselves with --data dump",
        )
    left = np.arange(count) * (base**length // max(count, 1))
    letters: npt.NDArray[np.uint8] = np.empty((count, length), np.uint8)
    table = np.frombuffer(alphabet, np.uint8)
    for place in range(length - 1, -1, -1):
        letters[:, place] = table[left % base]
        left //= base
    text = letters.tobytes().decode()
    return [text[start : start + length] for start in range(0, count * length, length)]


def widths(column: Column, slots: Slots, random: np.random.Generator) -> Integers:
    """Characters of each invented value: of common values their own, of the others so that the mean is right."""
    mean = float(column.average_width_bytes)
    mean -= _SHORT_HEADER if mean <= _SHORT_LIMIT else _LONG_HEADER
    mean = max(1.0, mean - _OVERHEAD.get(column.kind, 0) - (_ARRAY_HEADER + 2 if column.kind == "texts" else 0))
    known = np.array([knot.width_bytes for knot in column.knots], np.int64)
    others = slots.knots < 0
    wide = np.zeros(len(others), np.int64)
    if column.kind == "text" and len(known):
        wide[~others] = known[slots.knots[~others]]
    else:
        others = np.ones(len(others), np.bool_)
    if column.kind == "text" and column.longest is not None:
        mean = min(mean, column.longest)
    shares, bounds = slots.shares, known[[knot.frequency is None for knot in column.knots]]
    target = (mean - float((shares * wide).sum())) / max(float(shares[others].sum()), 1e-12)
    if column.kind != "text" or not len(bounds):
        bounds = np.array([max(1, round(target))], np.int64)
    drawn = bounds[random.integers(0, len(bounds), int(others.sum()))].astype(np.float64)
    wide[others] = _scaled(drawn, shares[others], target, column.longest, random)
    return wide


def _scaled(drawn: Floats, shares: Floats, target: float, longest: int | None, random: np.random.Generator) -> Integers:
    """Whole widths in proportion to `drawn`, whose mean is `target` as far as the limits allow."""
    if not len(drawn):
        return np.empty(0, np.int64)
    mean = float((drawn * shares).sum() / shares.sum())
    scaled = drawn * (max(target, 1.0) / max(mean, 1e-9))
    whole = np.floor(scaled + random.random(len(scaled))).astype(np.int64)
    return np.clip(whole, 1, longest)


_TARGET = 100
_COMMON = 1.25
"""How many values statistics name, and how far above the mean a share is to be named (default_statistics_target)."""
_Key = tuple[str, str]


@dataclass(frozen=True)
class Domain:
    """A column's distinct values: `numbers` into the values of `root` (the column that foreign keys lead to)."""

    root: _Key
    numbers: Integers
    slots: Slots


@dataclass(frozen=True)
class Known:
    """A column's common values, their shares of all rows, and the bounds of its histogram, as pg_stats has them."""

    common_values: tuple[str, ...]
    common_shares: tuple[float, ...]
    histogram: tuple[str, ...]


class Synthesis:
    def __init__(self, schema: Schema, seed: int = 1) -> None:
        self.schema = schema
        self._seed = seed
        self._domains: dict[_Key, Domain] = {}
        self._values: dict[_Key, pl.Series] = {}
        self._bound: dict[str, Columns] = {}

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for table in self.schema.tables}

    def tables(self) -> Iterator[tuple[Table, pl.DataFrame]]:
        """Each table with its rows in physical order; every column as COPY's text format has it, NULL as null."""
        for table in self.schema.tables:
            yield table, self.rows(table.name)

    def rows(self, name: str) -> pl.DataFrame:
        table = self._tables[name]
        bound = self._bound_rows(name)
        rows = len(next(iter(bound.values()))) if bound else table.rows
        for key in table.unique_keys():  # as counted, or fewer where keys allow fewer
            if len(key) == 1 and not table.column(key[0]).null_fraction:
                rows = min(rows, len(self._domain((name, key[0])).numbers))
        columns = []
        for column in table.columns:
            numbers = bound[column.name] if column.name in bound else self._free(table, column, rows)
            found = self._column_values((name, column.name))
            columns.append(escaped(found).gather(pl.Series(numbers).replace(NULL, None)).alias(column.name))
        return pl.DataFrame(columns)

    def known(self, table: str, column: str) -> Known:
        """What ANALYZE will find in a column: its most common values with their shares, and a histogram of the rest."""
        described = self._tables[table].column(column)
        domain, unique = self._domain((table, column)), (column,) in self._tables[table].unique_keys()
        shares = domain.slots.shares
        often = np.argsort(-shares, kind="stable")[:_TARGET]
        if unique:
            often = often[:0]
        elif len(shares) > _TARGET:
            often = often[shares[often] > _COMMON * shares.mean()]
        rest = np.setdiff1d(np.arange(len(shares)), often)
        ends = np.cumsum(shares[rest])
        picks = np.searchsorted(ends, np.linspace(0, 1, min(_TARGET + 1, len(rest))) * ends[-1:].sum())
        bounds = rest[np.minimum(picks, max(len(rest) - 1, 0))]
        texts = self._column_values((table, column)).cast(pl.String)
        return Known(
            tuple(texts.gather(domain.numbers[often])),
            tuple((shares[often] * (1 - described.null_fraction)).tolist()),
            tuple(texts.gather(domain.numbers[bounds])),
        )

    def _random(self, table: str, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self._seed, crc32(f"{table}/{purpose}".encode())])

    def _free(self, table: Table, column: Column, rows: int) -> Integers:
        """A column that no key of several columns binds."""
        domain = self._domain((table.name, column.name))
        random = self._random(table.name, column.name)
        picked = column_rows(domain.slots.shares, rows, column.null_fraction, column.correlation, random)
        if not len(domain.numbers):
            return picked
        return np.where(picked == NULL, NULL, domain.numbers[picked])

    def _bound_rows(self, name: str) -> Columns:
        """The columns that keys of several columns bind, by the numbers of their values."""
        if name not in self._bound:
            self._bound[name] = {}  # a circle of foreign keys ends here
            self._bound[name] = self._bind(self._tables[name])
        return self._bound[name]

    def _bind(self, table: Table) -> Columns:
        key = next((key for key in table.unique_keys() if len(key) > 1), ())
        foreign = sorted(
            (one for one in table.foreign_keys if len(one.columns) > 1 and self._same_roots(table, one)),
            key=lambda one: -len(set(one.columns) & set(key)),
        )
        parents = []
        for one in foreign:
            theirs = self._bound_rows(one.parent)
            if set(one.parent_columns) <= set(theirs):
                named = zip(one.columns, one.parent_columns, strict=True)
                parents.append(Parent(one.columns, {mine: theirs[other] for mine, other in named}))
        names = dict.fromkeys((*key, *(name for parent in parents for name in parent.columns)))
        if not names or not table.rows:
            return {}
        domains = {name: self._domain((table.name, name)) for name in names}
        marginals = {
            name: Marginal(domain.numbers, domain.slots.shares, table.column(name).correlation or 0.0)
            for name, domain in domains.items()
        }
        if any(not len(marginal.numbers) for marginal in marginals.values()):
            return {}
        random = self._random(table.name, "keys")
        rows = bound_rows(marginals, key, parents, table.rows, random)
        for one in foreign:
            share = max(table.column(name).null_fraction for name in one.columns)
            missing = random.random(len(rows[one.columns[0]])) < share
            for name in set(one.columns) - set(key):
                rows[name] = np.where(missing, NULL, rows[name])
        return rows

    def _same_roots(self, table: Table, foreign: ForeignKey) -> bool:
        pairs = zip(foreign.columns, foreign.parent_columns, strict=True)
        return all(
            self._domain((table.name, mine)).root == self._domain((foreign.parent, theirs)).root
            for mine, theirs in pairs
        )

    def _domain(self, key: _Key) -> Domain:
        if key not in self._domains:
            self._domains[key] = self._make_domain(key)
        return self._domains[key]

    def _make_domain(self, key: _Key) -> Domain:
        table, column = self._tables[key[0]], self._tables[key[0]].column(key[1])
        rows = round(table.rows * (1 - column.null_fraction))
        unique = (column.name,) in table.unique_keys()
        nothing = Slots(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
        if not rows or (column.kind == "other" and column.nullable):
            return Domain(key, nothing.slots, nothing)
        count = rows if unique else min(rows, distinct_values(column, table.rows))
        places = np.array([knot.place for knot in column.knots], np.int64)
        above = parent_of(table, column.name)
        if above is None or above == key:
            highest = len(column.labels) - 1 if column.kind == "label" else None
            if column.kind not in NUMBERS and column.kind != "label" and not len(places):
                places, highest = np.empty(0, np.int64), LINE
            slots = lay_out(column, places, count, highest=highest, unique=unique)
            return Domain(key, np.arange(len(slots.slots)), slots)
        parent = self._domain(above)
        if not len(parent.numbers):
            return Domain(parent.root, nothing.slots, nothing)
        line = self._domain(parent.root).slots.slots[parent.numbers]
        nearest = np.clip(np.searchsorted(line, places), 0, len(line) - 1)
        slots = lay_out(column, nearest, min(count, len(line)), highest=len(line) - 1, unique=unique)
        inside = np.minimum(slots.slots, len(line) - 1)
        merged, owner = np.unique(inside, return_inverse=True)
        shares = np.bincount(owner, slots.shares, len(merged)).astype(np.float64)
        return Domain(parent.root, parent.numbers[merged], Slots(merged, shares, np.full(len(merged), -1)))

    def _column_values(self, key: _Key) -> pl.Series:
        """The values of the column's root, to be picked by number."""
        root = self._domain(key).root
        if root not in self._values:
            column, domain = self._tables[root[0]].column(root[1]), self._domain(root)
            self._values[root] = values(column, domain.slots, self._random(*root))
        return self._values[root]


def parent_of(table: Table, column: str) -> _Key | None:
    """The column that this one takes its values from by the first foreign key that has it."""
    for foreign in table.foreign_keys:
        if column in foreign.columns:
            return foreign.parent, foreign.parent_columns[foreign.columns.index(column)]
    return None
