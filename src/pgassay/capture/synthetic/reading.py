"""A server's statistics without its values, by short read-only transactions.

`Readable` is the session of a capture. What comes back can be written to a file: `anonymous` has replaced each value
before anything else sees it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from pgassay.capture.errors import SyntheticError
from pgassay.capture.synthetic import reads
from pgassay.capture.synthetic.anonymous import Named, referring, with_knots
from pgassay.capture.synthetic.generation import parent_of
from pgassay.capture.synthetic.statistics import NUMBERS, Column, ForeignKey, Index, Kind, Schema, Table

_KINDS: dict[str, Kind] = {
    "int2": "integer", "int4": "integer", "int8": "integer", "oid": "integer", "numeric": "decimal",
    "float4": "float", "float8": "float", "date": "date", "time": "time", "timestamp": "timestamp",
    "timestamptz": "timestamp", "bool": "label", "text": "text", "varchar": "text", "bpchar": "text", "name": "text",
    "char": "text", "citext": "text", "uuid": "uuid", "bytea": "bytes", "inet": "address", "cidr": "address",
    "interval": "interval", "json": "json", "jsonb": "jsonb",
}  # fmt: skip
_ARRAYS: dict[str, Kind] = {
    "int2": "integers", "int4": "integers", "int8": "integers", "text": "texts", "varchar": "texts"
}  # fmt: skip
_WITHOUT_ORDER: frozenset[Kind] = frozenset(("json", "integers", "texts", "other"))
_TOASTABLE: frozenset[Kind] = frozenset(("text", "bytes", "json", "jsonb", "texts"))
_TOAST_POINTER_BYTES = 18
_TOAST_FILLED = 0.97
"""Of a page of a TOAST table: four chunks of 1996 bytes in 8192."""
_UNKNOWN_WIDTH_BYTES = 8
_STRING = re.compile(r"'((?:[^']|'')*)'")
Row = tuple[Any, ...]
_Key = tuple[str, str]


class Answer(Protocol):
    """What a read gives."""

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the answer."""


class Readable(Protocol):
    """A session that only reads."""

    def read(self, what: str, sql: str) -> Answer:
        """The rows of one statement; `what` names it in an error."""


@dataclass(frozen=True)
class _Described:
    """A column as the catalogue has it, before its values; `place` and `base` are what asks for them."""

    column: Column
    place: reads.Place
    base: str
    analysed: bool


def read_statistics(session: Readable, seed: int | None = None) -> Schema:
    """Read all tables; `seed` repeats how numbers are moved (None: nobody can). Raises `SyntheticError`."""
    return _Reader(session, np.random.default_rng(seed)).schema()


class _Reader:
    def __init__(self, session: Readable, random: np.random.Generator) -> None:
        self._session = session
        self._random = random
        self._tables: dict[str, Table] = {}
        self._described: dict[_Key, _Described] = {}
        self._named: dict[_Key, list[Named]] = {}
        self._done: dict[_Key, Column] = {}
        self._notes: list[str] = []
        self._kept: tuple[str, ...] = ()

    def schema(self) -> Schema:
        self._kept = schema_strings(row[0] for row in self._session.read("the schema", reads.SCHEMA_TEXTS).rows)
        self._catalogue()
        tables = []
        for table in self._tables.values():
            columns = tuple(self._column((table.name, column.name)) for column in table.columns)
            tables.append(replace(table, columns=columns))
        for place, name, definition in self._session.read("the constraints", reads.CHECKS).rows:
            self._notes.append(
                f'constraint "{name}" of {place} is left out of the copy unless the invented values satisfy it:'
                f" {definition}"
            )
        return Schema(tuple(tables), tuple(self._notes))

    def _catalogue(self) -> None:
        found = self._session.read("the tables", reads.TABLES).rows
        names = {row[0]: row[1] for row in found}
        columns = self._columns(names, {row[0]: row for row in found})
        indexes: dict[int, list[Index]] = {}
        for table, name, size, method, key, primary, fillfactor in self._session.read("indexes", reads.INDEXES).rows:
            indexes.setdefault(table, []).append(Index(name, size, method, tuple(key or ()), primary, fillfactor))
        foreign: dict[int, list[ForeignKey]] = {}
        for table, mine, parent, theirs in self._session.read("foreign keys", reads.FOREIGN_KEYS).rows:
            if table in names and parent in names:
                foreign.setdefault(table, []).append(ForeignKey(tuple(mine), names[parent], tuple(theirs)))
            elif table in names:
                self._notes.append(
                    f"the foreign key of {names[table]} ({', '.join(mine)}) is not followed: it "
                    "refers to a table that is partitioned"
                )
        for oid, name, rows, heap, _, visible, fillfactor, schema, relation in found:
            self._tables[name] = Table(
                name, max(0, round(rows)), heap, tuple(columns.get(oid, ())), tuple(indexes.get(oid, ())),
                tuple(foreign.get(oid, ())), fillfactor, min(1.0, visible), schema, relation,
            )  # fmt: skip

    def _columns(self, names: Mapping[int, str], tables: Mapping[int, Row]) -> dict[int, list[Column]]:
        columns: dict[int, list[Column]] = {}
        for row in self._session.read("the columns", reads.COLUMNS).rows:
            oid, schema, table = row[:3]
            if oid not in names:
                continue
            described = self._describe(names[oid], row)
            column = described.column
            self._described[names[oid], column.name] = replace(described, place=(schema, table, column.name))
            columns.setdefault(oid, []).append(column)
        for oid, some in columns.items():
            if tables[oid][2] > 0 and not any(self._described[names[oid], one.name].analysed for one in some):
                self._notes.append(
                    f"{names[oid]} has no statistics, so its values are only of the right types: "
                    "ANALYZE it before the capture"
                )
            _, _, rows, _, toast, *_ = tables[oid]
            self._widen(names[oid], some, rows, toast)
        return columns

    def _describe(self, table: str, row: Row) -> _Described:
        name, declared, typname, typtype, category, element, base, not_null, typmod, serial, labels = row[3:14]
        null_fraction, width, distinct, correlation = row[14:18]
        kind = _KINDS.get(typname, "other")
        if typtype == "e":
            kind = "label"
        elif category == "A":
            kind = _ARRAYS.get(element, "other")
        if kind == "other":
            if not_null:
                raise SyntheticError(
                    f'no values can be invented for column "{name}" of {table}, which has type {declared} '
                    "and is not null",
                    "capture the data themselves with --data dump",
                )
            self._notes.append(f'column "{name}" of {table} stays null: no values of type {declared} can be invented')
        column = Column(
            name, declared, kind, null_fraction or 0.0, width or _UNKNOWN_WIDTH_BYTES,
            distinct or -1.0, correlation, (), not not_null,
            longest=_longest(typname, typmod),
            labels=("false", "true") if typname == "bool" else tuple(labels or ()), serial=serial,
        )  # fmt: skip
        return _Described(column, ("", "", ""), base, width is not None)

    def _widen(self, table: str, columns: list[Column], rows: float, toast_bytes: int) -> None:
        """Columns whose values are all out of line: pg_stats has the width of a pointer, the TOAST table theirs."""
        wide = [
            place
            for place, one in enumerate(columns)
            if one.kind in _TOASTABLE and one.average_width_bytes <= _TOAST_POINTER_BYTES and one.distinct == -1.0
        ]
        if not wide or toast_bytes == 0 or rows <= 0:
            return
        width = round(toast_bytes * _TOAST_FILLED / rows / len(wide))
        for place in wide:
            columns[place] = replace(columns[place], average_width_bytes=width)
            key = table, columns[place].name
            self._described[key] = replace(self._described[key], column=columns[place])

    def _column(self, key: _Key) -> Column:
        if key not in self._done:
            described, above = self._described[key], parent_of(self._tables[key[0]], key[1])
            root = self._root(key)
            if above is None or root == key:
                named = self._ask([(described, True)])[True]
                self._named[key] = named
                rows = self._tables[key[0]].rows
                self._done[key] = with_knots(described.column, named, rows, self._random)
            else:
                self._done[key] = self._referring(described, root)
        return self._done[key]

    def _referring(self, described: _Described, root: _Key) -> Column:
        parent = self._column(root)
        if described.column.kind in NUMBERS or described.column.kind == "label":
            mine, theirs = self._ask([(described, True)])[True], self._named[root]
        else:
            both = self._ask([(described, True), (self._described[root], False)])
            mine, theirs = both[True], both[False]
        return referring(described.column, mine, parent, theirs)

    def _root(self, key: _Key) -> _Key:
        """Where the foreign keys of this column lead; a circle ends at its beginning."""
        seen = [key]
        while (above := parent_of(self._tables[seen[-1][0]], seen[-1][1])) is not None and above not in seen:
            seen.append(above)
        return seen[-1]

    def _ask(self, places: Sequence[tuple[_Described, bool]]) -> dict[bool, list[Named]]:
        """The values that statistics name, ours and the others'."""
        first = places[0][0]
        named: dict[bool, list[Named]] = {True: [], False: []}
        if first.column.kind in _WITHOUT_ORDER or not any(one.analysed for one, _ in places):
            return named
        sql = reads.named_values([(one.place, mine) for one, mine in places], first.column.kind, first.base, self._kept)
        for mine, frequency, line, width, kept in self._session.read("pg_stats", sql).rows:
            named[mine].append(Named(Decimal(line), width, frequency, kept))
        return named


def _longest(typname: str, typmod: int) -> int | None:
    """The n of varchar(n) and char(n); pg_attribute counts the header of four bytes with it."""
    if typname == "char":
        return 1
    return typmod - 4 if typname in ("varchar", "bpchar") and typmod > 0 else None


def schema_strings(texts: Iterable[str | None]) -> tuple[str, ...]:
    """The string constants in definitions of constraints, defaults, indexes, partitions and views."""
    found = (match.group(1).replace("''", "'") for text in texts if text for match in _STRING.finditer(text))
    return tuple(dict.fromkeys(found))
