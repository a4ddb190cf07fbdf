"""A server's statistics without its values, by short read-only transactions.

`Readable` is the session of a capture. What comes back can be written to a file: each value is replaced before anything
else sees it. A value arrives as its number or its rank, with its width; as itself only where the schema's own texts
have it, which are sent along. Versions 13 and later.

Values that are only ordered become their rank. A number moves to a random place between its neighbours among the known
values, so that order and histogram stay and the number does not; where more than half of all whole numbers between the
least and the greatest are used (keys, codes, counters) they stay, since they say only how many there are. A column with
a foreign key moves with the one that it refers to. Labels of booleans and enums belong to the schema.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np

from pgassay.capture.errors import SyntheticError
from pgassay.capture.reads import USERS_OWN
from pgassay.capture.source import Readable, Row
from pgassay.capture.synthetic.generation import Floats, Integers, distinct_values, parent_of
from pgassay.capture.synthetic.statistics import LINE, NUMBERS, Column, ForeignKey, Index, Kind, Knot, Schema, Table

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


_OWN = (
    "NOT EXISTS (SELECT FROM pg_depend x"
    " WHERE x.objid = c.oid AND x.classid = 'pg_class'::regclass AND x.deptype = 'e')"
)
_NAME = "quote_ident(n.nspname) || '.' || quote_ident(c.relname)"
_FILLFACTOR = (
    "(SELECT o.option_value::int FROM pg_options_to_table({0}.reloptions) o WHERE o.option_name = 'fillfactor')"
)
_COLUMNS = (
    "(SELECT array_agg(a.attname::text ORDER BY u.nth) FROM unnest({numbers}) WITH ORDINALITY u(number, nth)"
    " JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = u.number WHERE u.nth <= {most})"
)
_EPOCH_2000_US = 946_684_800_000_000

TABLES = (
    f"SELECT c.oid::bigint, {_NAME}, c.reltuples::float8, pg_relation_size(c.oid),"
    " CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE pg_relation_size(c.reltoastrelid) END,"
    f" c.relallvisible::float8 / greatest(c.relpages, 1), {_FILLFACTOR.format('c')}, n.nspname::text, c.relname::text"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND {USERS_OWN} AND {_OWN} ORDER BY 2"
)
COLUMNS = (
    "SELECT c.oid::bigint, n.nspname::text, c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),"
    " b.typname::text, b.typtype::text, b.typcategory::text, e.typname::text, format_type(b.oid, -1), a.attnotnull,"
    f" a.atttypmod, pg_get_serial_sequence({_NAME}, a.attname) IS NOT NULL,"
    " (SELECT array_agg(l.enumlabel::text ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = b.oid),"
    " s.null_frac::float8, s.avg_width, s.n_distinct::float8, s.correlation::float8"
    " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_type t ON t.oid = a.atttypid"
    " JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END"
    " LEFT JOIN pg_type e ON e.oid = b.typelem"
    " LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname"
    " AND NOT s.inherited"
    f" WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND {USERS_OWN} AND a.attnum > 0 AND NOT a.attisdropped"
    " AND a.attgenerated = '' ORDER BY c.oid, a.attnum"
)
INDEXES = (
    f"SELECT i.indrelid::bigint, {_NAME}, pg_relation_size(c.oid), m.amname::text,"
    " CASE WHEN i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL THEN "
    + _COLUMNS.format(numbers="i.indkey::int2[]", table="i.indrelid", most="i.indnkeyatts")
    + f" END, i.indisprimary, {_FILLFACTOR.format('c')}"
    " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" JOIN pg_am m ON m.oid = c.relam WHERE i.indisvalid AND {USERS_OWN} ORDER BY 2"
)
FOREIGN_KEYS = (
    "SELECT k.conrelid::bigint, "
    + _COLUMNS.format(numbers="k.conkey", table="k.conrelid", most="99")
    + ", k.confrelid::bigint, "
    + _COLUMNS.format(numbers="k.confkey", table="k.confrelid", most="99")
    + " FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE k.contype = 'f' AND {USERS_OWN} ORDER BY k.conrelid, k.conname"
)
SCHEMA_TEXTS = (
    "SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace"
    f" WHERE k.contype = 'c' AND {USERS_OWN}"
    " UNION ALL SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid"
    f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {USERS_OWN}"
    " UNION ALL SELECT pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind = 'i' AND {USERS_OWN}"
    " UNION ALL SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relispartition AND {USERS_OWN}"
    " UNION ALL SELECT pg_get_viewdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('v', 'm') AND {USERS_OWN}"
)
_BASE_IS_TEXT = (
    "EXISTS (SELECT FROM pg_type t JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid"
    " END WHERE t.oid = {0} AND b.typcategory NOT IN ('N', 'D', 'B', 'E'))"
)
CHECKS = (
    "SELECT CASE WHEN k.contypid <> 0 THEN 'domain ' || format_type(k.contypid, NULL) ELSE k.conrelid::regclass::text"
    " END, k.conname::text, pg_get_constraintdef(k.oid) FROM pg_constraint k"
    f" JOIN pg_namespace n ON n.oid = k.connamespace WHERE {USERS_OWN} AND k.coninhcount = 0 AND (k.contype = 'x'"
    f" OR k.contype = 'c' AND (k.contypid <> 0 AND {_BASE_IS_TEXT.format('k.contypid')}"
    " OR k.contypid = 0 AND cardinality(k.conkey) IS DISTINCT FROM 1 OR EXISTS (SELECT FROM pg_attribute a"
    f" WHERE a.attrelid = k.conrelid AND a.attnum = k.conkey[1] AND {_BASE_IS_TEXT.format('a.atttypid')})))"
    " ORDER BY 1, 2"
)
"""Constraints that invented values may break: of texts, of several columns, exclusion constraints. Numbers stay within
those that there are, and labels and strings of the schema are its own."""
_LINES: dict[Kind, str] = {
    "integer": "v::text",
    "decimal": "v::text",
    "float": "v::text",
    "date": "(v - date '2000-01-01')::text",
    "timestamp": f"((extract(epoch FROM v) * 1000000)::numeric::bigint - {_EPOCH_2000_US})::text",
    "time": "(extract(epoch FROM v) * 1000000)::numeric::bigint::text",
}
_FINITE: dict[Kind, str] = {
    "decimal": "v::text NOT IN ('NaN', 'Infinity', '-Infinity')",
    "float": "v::text NOT IN ('NaN', 'Infinity', '-Infinity')",
    "date": "isfinite(v)",
    "timestamp": "isfinite(v)",
}
Place = tuple[str, str, str]
"""Schema, table and column."""


def named_values(places: Sequence[tuple[Place, bool]], kind: Kind, base: str, kept: Iterable[str]) -> str:
    """The values that pg_stats names for columns of one type: which column, its share, line, width, text if `kept`.

    The flag of a place says whether the rows are ours; ranks are among all places together.
    """
    selects = []
    for place, mine in places:
        schema, table, column = map(literal, place)
        where = f"s.schemaname = {schema} AND s.tablename = {table} AND s.attname = {column} AND NOT s.inherited"
        selects.append(
            f"SELECT u.v, u.f::float8 AS f, {mine} AS mine FROM pg_stats s,"
            f" unnest(s.most_common_vals::text::{base}[], s.most_common_freqs) u(v, f) WHERE {where}"
            f" UNION ALL SELECT u.v, NULL, {mine} FROM pg_stats s,"
            f" unnest(s.histogram_bounds::text::{base}[]) u(v) WHERE {where}"
        )
    line = _LINES.get(kind, "(dense_rank() OVER (ORDER BY v))::text")
    if kind == "label":
        line = "v::int::text" if base == "boolean" else f"(array_position(enum_range(NULL::{base}), v) - 1)::text"
    texts = f"ARRAY[{', '.join(literal(text) for text in kept)}]::text[]"
    return (
        f"SELECT mine, f, {line}, octet_length(v::text), CASE WHEN mine AND v::text = ANY ({texts}) THEN v::text END"
        f" FROM ({' UNION ALL '.join(selects)}) k WHERE {_FINITE.get(kind, 'true')}"
    )


def literal(text: str) -> str:
    """A string constant of SQL, whatever standard_conforming_strings says."""
    quoted = text.replace("'", "''")
    return f"E'{quoted.replace(chr(92), chr(92) * 2)}'" if "\\" in quoted else f"'{quoted}'"


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
_Key = tuple[str, str]


@dataclass(frozen=True)
class _Described:
    """A column as the catalogue has it, before its values; `place` and `base` are what asks for them."""

    column: Column
    place: Place
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
        self._kept = schema_strings(row[0] for row in self._session.read("the schema", SCHEMA_TEXTS).rows)
        self._catalogue()
        tables = [
            replace(table, columns=tuple(self._column((table.name, column.name)) for column in table.columns))
            for table in self._tables.values()
        ]
        for place, name, definition in self._session.read("the constraints", CHECKS).rows:
            self._notes.append(
                f'constraint "{name}" of {place} is left out of the copy unless the invented values satisfy it:'
                f" {definition}"
            )
        return Schema(tuple(tables), tuple(self._notes))

    def _catalogue(self) -> None:
        found = self._session.read("the tables", TABLES).rows
        names = {row[0]: row[1] for row in found}
        columns = self._columns(names, {row[0]: row for row in found})
        indexes: dict[int, list[Index]] = {}
        for table, name, size, method, key, primary, fillfactor in self._session.read("indexes", INDEXES).rows:
            indexes.setdefault(table, []).append(Index(name, size, method, tuple(key or ()), primary, fillfactor))
        foreign: dict[int, list[ForeignKey]] = {}
        for table, mine, parent, theirs in self._session.read("foreign keys", FOREIGN_KEYS).rows:
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
        for oid, schema, relation, *row in self._session.read("the columns", COLUMNS).rows:
            if oid in names:
                described = self._describe(names[oid], (schema, relation, row[0]), row)
                self._described[names[oid], row[0]] = described
                columns.setdefault(oid, []).append(described.column)
        for oid, some in columns.items():
            _, name, rows, _, toast, *_ = tables[oid]
            if rows > 0 and not any(self._described[name, one.name].analysed for one in some):
                self._notes.append(
                    f"{name} has no statistics, so its values are only of the right types:"
                    " ANALYZE it before the capture"
                )
            self._widen(name, some, rows, toast)
        return columns

    def _describe(self, table: str, place: Place, row: Sequence[Any]) -> _Described:
        name, declared, typname, typtype, category, element, base, not_null, typmod, serial, labels = row[:11]
        null_fraction, width, distinct, correlation = row[11:]
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
        longest = 1 if typname == "char" else None
        if typname in ("varchar", "bpchar") and typmod > 0:
            longest = typmod - 4  # pg_attribute counts the header of four bytes with it
        column = Column(
            name, declared, kind, null_fraction or 0.0, width or _UNKNOWN_WIDTH_BYTES,
            distinct or -1.0, correlation, (), not not_null,
            longest=longest,
            labels=("false", "true") if typname == "bool" else tuple(labels or ()), serial=serial,
        )  # fmt: skip
        return _Described(column, place, base, width is not None)

    def _widen(self, table: str, columns: list[Column], rows: float, toast_bytes: int) -> None:
        """Columns whose values are all out of line: pg_stats has the width of a pointer, the TOAST table theirs."""
        wide = [
            place
            for place, one in enumerate(columns)
            if one.kind in _TOASTABLE and one.average_width_bytes <= _TOAST_POINTER_BYTES and one.distinct == -1.0
        ]
        for place in wide if toast_bytes and rows > 0 else ():
            width = round(toast_bytes * _TOAST_FILLED / rows / len(wide))
            columns[place] = replace(columns[place], average_width_bytes=width)
            key = table, columns[place].name
            self._described[key] = replace(self._described[key], column=columns[place])

    def _column(self, key: _Key) -> Column:
        if key in self._done:
            return self._done[key]
        described, above = self._described[key], parent_of(self._tables[key[0]], key[1])
        root, column = self._root(key), described.column
        if above is None or root == key:
            self._named[key] = self._ask([(described, True)])[True]
            self._done[key] = with_knots(column, self._named[key], self._tables[key[0]].rows, self._random)
            return self._done[key]
        parent, own = self._column(root), column.kind in NUMBERS or column.kind == "label"
        named = self._ask([(described, True)] if own else [(described, True), (self._described[root], False)])
        self._done[key] = referring(column, named[True], parent, self._named[root] if own else named[False])
        return self._done[key]

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
        sql = named_values([(one.place, mine) for one, mine in places], first.column.kind, first.base, self._kept)
        for mine, frequency, line, width, kept in self._session.read("pg_stats", sql).rows:
            named[mine].append(Named(Decimal(line), width, frequency, kept))
        return named


def schema_strings(texts: Iterable[str | None]) -> tuple[str, ...]:
    """The string constants in definitions of constraints, defaults, indexes, partitions and views."""
    found = (match.group(1).replace("''", "'") for text in texts if text for match in _STRING.finditer(text))
    return tuple(dict.fromkeys(found))
