"""A schema's statistics in, its tables out: rows as frames whose columns COPY can read, and values for parameters.

The same seed gives the same data. A table is made in memory, some 8 bytes a value and row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import polars as pl

from pgassay.capture.synthetic.domains import Integers, Slots, distinct_values, lay_out
from pgassay.capture.synthetic.keys import Columns, Marginal, Parent, bound_rows
from pgassay.capture.synthetic.rows import NULL, column_rows
from pgassay.capture.synthetic.statistics import LINE, NUMBERS, Column, ForeignKey, Schema, Table
from pgassay.capture.synthetic.values import escaped, values

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
    """Data by the statistics of `schema`."""

    def __init__(self, schema: Schema, seed: int = 1) -> None:
        self._schema = schema
        self._seed = seed
        self._domains: dict[_Key, Domain] = {}
        self._values: dict[_Key, pl.Series] = {}
        self._bound: dict[str, Columns] = {}

    @property
    def schema(self) -> Schema:
        """What the data are made from."""
        return self._schema

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for table in self._schema.tables}

    def tables(self) -> Iterator[tuple[Table, pl.DataFrame]]:
        """Each table with its rows in physical order; every column as COPY's text format has it, NULL as null."""
        for table in self._schema.tables:
            yield table, self.rows(table.name)

    def rows(self, name: str) -> pl.DataFrame:
        """The rows of one table."""
        table = self._tables[name]
        bound = self._bound_rows(name)
        rows = self._row_count(table)
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

    def _row_count(self, table: Table) -> int:
        """As counted, or fewer where keys allow fewer."""
        bound = self._bound_rows(table.name)
        rows = len(next(iter(bound.values()))) if bound else table.rows
        for key in table.unique_keys():
            if len(key) == 1 and not table.column(key[0]).null_fraction:
                rows = min(rows, len(self._domain((table.name, key[0])).numbers))
        return rows

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
        parents = [found for one in foreign if (found := self._parent(one)) is not None]
        names = dict.fromkeys((*key, *(name for parent in parents for name in parent.columns)))
        if not names or not table.rows:
            return {}
        marginals = {name: self._marginal(table, name) for name in names}
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

    def _marginal(self, table: Table, name: str) -> Marginal:
        domain = self._domain((table.name, name))
        return Marginal(domain.numbers, domain.slots.shares, table.column(name).correlation or 0.0)

    def _parent(self, foreign: ForeignKey) -> Parent | None:
        rows = self._bound_rows(foreign.parent)
        if not set(foreign.parent_columns) <= set(rows):
            return None
        return Parent(
            foreign.columns,
            {mine: rows[theirs] for mine, theirs in zip(foreign.columns, foreign.parent_columns, strict=True)},
        )

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
