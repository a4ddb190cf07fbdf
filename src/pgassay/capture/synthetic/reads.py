"""What is asked of the server's catalogue and pg_stats, as SQL; values that statistics name stay there but for numbers.

A value arrives as its number or its rank, with its width; as itself only where the schema's own texts have it, which
are sent along. Versions 13 and later.
"""

from collections.abc import Iterable, Sequence

from pgassay.capture.synthetic.statistics import Kind

_USER = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"
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
    f" WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND {_USER} AND {_OWN} ORDER BY 2"
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
    f" WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND {_USER} AND a.attnum > 0 AND NOT a.attisdropped"
    " AND a.attgenerated = '' ORDER BY c.oid, a.attnum"
)
INDEXES = (
    f"SELECT i.indrelid::bigint, {_NAME}, pg_relation_size(c.oid), m.amname::text,"
    " CASE WHEN i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL THEN "
    + _COLUMNS.format(numbers="i.indkey::int2[]", table="i.indrelid", most="i.indnkeyatts")
    + f" END, i.indisprimary, {_FILLFACTOR.format('c')}"
    " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" JOIN pg_am m ON m.oid = c.relam WHERE i.indisvalid AND {_USER} ORDER BY 2"
)
FOREIGN_KEYS = (
    "SELECT k.conrelid::bigint, "
    + _COLUMNS.format(numbers="k.conkey", table="k.conrelid", most="99")
    + ", k.confrelid::bigint, "
    + _COLUMNS.format(numbers="k.confkey", table="k.confrelid", most="99")
    + " FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE k.contype = 'f' AND {_USER} ORDER BY k.conrelid, k.conname"
)
SCHEMA_TEXTS = (
    "SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace"
    f" WHERE k.contype = 'c' AND {_USER}"
    " UNION ALL SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid"
    f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_USER}"
    " UNION ALL SELECT pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind = 'i' AND {_USER}"
    " UNION ALL SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relispartition AND {_USER}"
    " UNION ALL SELECT pg_get_viewdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('v', 'm') AND {_USER}"
)
_BASE_IS_TEXT = (
    "EXISTS (SELECT FROM pg_type t JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid"
    " END WHERE t.oid = {0} AND b.typcategory NOT IN ('N', 'D', 'B', 'E'))"
)
CHECKS = (
    "SELECT CASE WHEN k.contypid <> 0 THEN 'domain ' || format_type(k.contypid, NULL) ELSE k.conrelid::regclass::text"
    " END, k.conname::text, pg_get_constraintdef(k.oid) FROM pg_constraint k"
    f" JOIN pg_namespace n ON n.oid = k.connamespace WHERE {_USER} AND k.coninhcount = 0 AND (k.contype = 'x'"
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
    rows = " UNION ALL ".join(_of_place(place, base, mine) for place, mine in places)
    line = _LINES.get(kind, "(dense_rank() OVER (ORDER BY v))::text")
    if kind == "label":
        line = "v::int::text" if base == "boolean" else f"(array_position(enum_range(NULL::{base}), v) - 1)::text"
    texts = f"ARRAY[{', '.join(literal(text) for text in kept)}]::text[]"
    return (
        f"SELECT mine, f, {line}, octet_length(v::text), CASE WHEN mine AND v::text = ANY ({texts}) THEN v::text END"
        f" FROM ({rows}) k WHERE {_FINITE.get(kind, 'true')}"
    )


def _of_place(place: Place, base: str, mine: bool) -> str:
    schema, table, column = map(literal, place)
    where = f"s.schemaname = {schema} AND s.tablename = {table} AND s.attname = {column} AND NOT s.inherited"
    return (
        f"SELECT u.v, u.f::float8 AS f, {mine} AS mine FROM pg_stats s,"
        f" unnest(s.most_common_vals::text::{base}[], s.most_common_freqs) u(v, f) WHERE {where}"
        f" UNION ALL SELECT u.v, NULL, {mine} FROM pg_stats s,"
        f" unnest(s.histogram_bounds::text::{base}[]) u(v) WHERE {where}"
    )


def literal(text: str) -> str:
    """A string constant of SQL, whatever standard_conforming_strings says."""
    quoted = text.replace("'", "''")
    return f"E'{quoted.replace(chr(92), chr(92) * 2)}'" if "\\" in quoted else f"'{quoted}'"
