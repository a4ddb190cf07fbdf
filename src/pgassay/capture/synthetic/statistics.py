"""The statistics of a database without its values: what `capture` may write down, and all that data are made from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "integer", "decimal", "float", "date", "time", "timestamp", "label", "text", "uuid", "bytes", "address",
    "interval", "json", "jsonb", "integers", "texts", "other",
]  # fmt: skip
"""How a column's values are written; `label` has a fixed list (boolean, enum), `integers` and `texts` are arrays."""

NUMBERS: frozenset[Kind] = frozenset(("integer", "decimal", "float", "date", "time", "timestamp"))
"""Kinds whose places are numbers; those of the others only say an order."""

LINE = 1 << 48
"""The length of the line for values that are only ordered."""


@dataclass(frozen=True)
class Knot:
    """One value that the statistics name: its place on the column's line, and its bytes as text.

    `frequency` is its share of all rows where it is a most common value; None for a bound of the histogram. `kept` is
    the value itself where the schema names it too (in a CHECK, a default, the predicate of an index).
    """

    place: int
    width_bytes: int
    frequency: float | None = None
    kept: str | None = None


@dataclass(frozen=True)
class Column:
    """A column as pg_stats describes it; `knots` in the order of its line.

    A number's value is (`offset` + `place` · `step`) / 10^`digits`: whole days and microseconds count from 2000.
    `distinct` is pg_stats.n_distinct: a count, or where negative a share of the rows. `longest` is the limit of
    varchar(n) and char(n).
    """

    name: str
    declared: str
    kind: Kind
    null_fraction: float = 0.0
    average_width_bytes: int = 0
    distinct: float = -1.0
    correlation: float | None = None
    knots: tuple[Knot, ...] = ()
    nullable: bool = True
    step: int = 1
    offset: int = 0
    digits: int = 0
    longest: int | None = None
    labels: tuple[str, ...] = ()
    serial: bool = False
    """A sequence gives it its values."""


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of a table take their values from `parent_columns` of `parent`."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """An index's size; `columns` only where it keeps these unique (no expression, no predicate)."""

    name: str
    size_bytes: int
    method: str = "btree"
    columns: tuple[str, ...] = ()
    primary: bool = False
    fillfactor: int | None = None


@dataclass(frozen=True)
class Table:
    """A table with its rows as the planner counts them; `name` is qualified and quoted as SQL wants it.

    `schema` and `relation` are the names without quotes.
    """

    name: str
    rows: int
    heap_bytes: int
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    fillfactor: int | None = None
    all_visible_share: float = 1.0
    """The share of its pages that VACUUM has marked, on which the cost of index-only scans depends."""
    schema: str = ""
    relation: str = ""

    def column(self, name: str) -> Column:
        """The column of this name; `KeyError` without one."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def unique_keys(self) -> Iterator[tuple[str, ...]]:
        """The columns of each unique key, the primary one first."""
        for index in sorted(self.indexes, key=lambda index: not index.primary):
            if index.columns:
                yield index.columns


@dataclass(frozen=True)
class Schema:
    """All tables of a database, and what could not be taken over, in sentences."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
