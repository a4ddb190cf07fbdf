"""What partitioning must know of a table, and what PostgreSQL cannot do with it; pure, but for the texts of SQL.

The rules are those of the manual, "Table Partitioning, Limitations": a unique key of a partitioned table has all
columns that it is partitioned by. They are checked on a capture before anything runs, and on the loaded data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.postgres.partitioning import messages
from pgassay.postgres.partitioning.request import Partitioning, shown

KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "p": "partitioned already"}
EXCLUDED_SINCE, NOT_VALID_SINCE = 17, 18
"""The first version with exclusion constraints, and with foreign keys that are NOT VALID, on partitioned tables."""

KEYS = (
    "(SELECT coalesce(json_agg(json_build_array(k.relname, CASE o.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u'"
    " THEN 'UNIQUE' WHEN 'x' THEN 'EXCLUDE' ELSE 'UNIQUE INDEX' END, ARRAY(SELECT a.attname::text FROM"
    " generate_series(0, i.indnkeyatts - 1) n JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n]"
    " ORDER BY n), ARRAY(SELECT ARRAY[f.conrelid::regclass::text, f.conname::text] FROM pg_constraint f"
    " WHERE f.contype = 'f' AND f.conindid = i.indexrelid AND f.confrelid = i.indrelid AND f.conparentid = 0"
    " ORDER BY f.conrelid::regclass::text, f.conname)) ORDER BY k.relname), '[]') FROM pg_index i"
    " JOIN pg_class k ON k.oid = i.indexrelid LEFT JOIN pg_constraint o ON o.conindid = i.indexrelid"
    " AND o.conrelid = i.indrelid AND o.contype IN ('p', 'u', 'x')"
    " WHERE i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion) AND i.indisvalid)"
)
"""Of the table `c`: each key that two rows may not share, as `Key.of` takes it."""


@dataclass(frozen=True)
class Key:
    """A key that two rows may not share: its columns, and the foreign keys that refer to it (table and name)."""

    name: str
    kind: str
    """`PRIMARY KEY`, `UNIQUE`, `EXCLUDE` or `UNIQUE INDEX`."""
    columns: tuple[str, ...]
    references: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, kind: str, columns: Sequence[str], references: Sequence[Sequence[str]]) -> "Key":
        """From a row of `KEYS`."""
        return cls(name, kind, tuple(columns), tuple((str(table), str(each)) for table, each in references))

    def __str__(self) -> str:
        """As it would be declared, with its name."""
        return f"{shown(self.name)} {self.kind} ({', '.join(map(shown, self.columns)) or '…'})"


@dataclass(frozen=True)
class Shape:
    """A table: its kind by pg_class.relkind (empty where that is not known), its columns, keys and what hinders."""

    name: str
    kind: str
    columns: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    generated: frozenset[str] = frozenset()
    inherits: bool = False
    """Is it a partition, or does it have a parent or children?"""
    not_valid: tuple[str, ...] = ()
    """Foreign keys of the table that were never validated."""
    hindrances: tuple[str, ...] = ()
    """What depends on the table and cannot be given another one, in the server's words."""


def require_kind(shape: Shape) -> None:
    """Raise `UsageError` for what is no ordinary table."""
    if shape.kind in KINDS:
        raise messages.not_a_table(shape.name, KINDS[shape.kind])


def require(asked: Partitioning, shape: Shape, major: int) -> None:
    """Raise `UsageError` where PostgreSQL `major` cannot have the table partitioned so."""
    require_kind(shape)
    if shape.inherits:
        raise messages.inherits(shape.name)
    for column in asked.columns:
        if column not in shape.columns:
            raise messages.no_such_column(shape.name, shown(column), map(shown, shape.columns))
        if column in shape.generated:
            raise messages.generated_column(shape.name, shown(column))
    if fault := _of_keys(asked, shape, major):
        raise fault
    if shape.not_valid and major < NOT_VALID_SINCE:
        raise messages.not_valid_keys(shape.name, shape.not_valid, NOT_VALID_SINCE)
    if shape.hindrances:
        raise messages.hindered(shape.name, shape.hindrances)


def _of_keys(asked: Partitioning, shape: Shape, major: int) -> UsageError | None:
    """All keys that lack a column of the partitioning, at once, with the statements that would change them."""
    excluded = [each for each in shape.keys if each.kind == "EXCLUDE"]
    if excluded and major < EXCLUDED_SINCE:
        return messages.exclusion(shape.name, [shown(each.name) for each in excluded], EXCLUDED_SINCE)
    lacking = [each for each in shape.keys if set(asked.columns) - set(each.columns)]
    if not lacking:
        return None
    lost = [reference for each in lacking for reference in each.references]
    steps = [f"ALTER TABLE {table} DROP CONSTRAINT {shown(name)}" for table, name in lost]
    steps += [step for each in lacking for step in _changed(shape.name, each, asked.columns)]
    common = [name for name in shape.columns if all(name in each.columns for each in shape.keys)]
    return messages.keys_lack_columns(
        shape.name,
        ", ".join(map(shown, asked.columns)),
        list(map(str, lacking)),
        [f"{shown(name)} of {table}" for table, name in lost],
        "; ".join(steps),
        [shown(each) for each in common],
    )


def _changed(table: str, key: Key, columns: Sequence[str]) -> list[str]:
    """The statements after which the key has the columns, too; where that cannot be known, it is dropped."""
    whole = ", ".join(map(shown, (*key.columns, *(each for each in columns if each not in key.columns))))
    if key.kind == "UNIQUE INDEX":
        index = [f"CREATE UNIQUE INDEX ON {table} ({whole})"] if key.columns else []
        return [f"DROP INDEX {shown(key.name)}", *index]
    again = "" if key.kind == "EXCLUDE" else f", ADD {key.kind} ({whole})"
    return [f"ALTER TABLE {table} DROP CONSTRAINT {shown(key.name)}{again}"]


def find(asked: Partitioning, tables: Mapping[tuple[str, str], Shape]) -> Shape:
    """The table that is meant, by schema and name; without a schema, public's, or the only one of the name.

    Raises `UsageError`.
    """
    places = [place for place in tables if place[1] == asked.table and asked.schema in ("", place[0])]
    chosen = next((place for place in places if place[0] == "public"), places[0] if len(places) == 1 else None)
    if chosen is None:
        raise messages.no_such_table(asked.name, [each.name for each in tables.values() if each.kind not in KINDS])
    return tables[chosen]
