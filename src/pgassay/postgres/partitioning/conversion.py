"""A table of the loaded data becomes a partitioned one: what it is, what belongs to it, and the statements in order.

The old table is renamed, the new one made like it, the rows copied in their order, and then everything else is made
again by the server's own definitions, read beforehand: keys and indexes under their names, triggers, foreign keys from
it and to it, views and functions that read it, sequences, owner and privileges. What cannot be is refused before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server
from pgassay.postgres.partitioning import messages
from pgassay.postgres.partitioning.bounds import Column, Partition, partitions
from pgassay.postgres.partitioning.request import Partitioning, quoted
from pgassay.postgres.partitioning.table import KEYS, Key, Shape, find, require, require_kind

MARK = "made by pgassay for schema.partition"
"""The comment of each partition, by which they are known again."""
_NAME_MAX = 63
_OLD = "pgassay_unpartitioned"

_TABLES = (
    "SELECT n.nspname::text, c.relname::text, c.oid::int8, c.oid::regclass::text, c.relkind::text FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    " AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1, 2"
)
_FACTS = (
    "SELECT c.relpersistence::text, a.amname::text, pg_get_userbyid(c.relowner)::text, c.relispartition OR EXISTS"
    " (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent)), ARRAY(SELECT format('%s = %L', o.option_name,"
    " o.option_value) FROM pg_options_to_table(c.reloptions) o) || ARRAY(SELECT format('toast.%s = %L', o.option_name,"
    f" o.option_value) FROM pg_class t, pg_options_to_table(t.reloptions) o WHERE t.oid = c.reltoastrelid), {KEYS}"
    " FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = {oid}"
)
_COLUMNS = (
    "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), t.typcategory::text, a.attnotnull,"
    " a.attgenerated <> '', a.attidentity <> '', coalesce(a.attstattarget, -1)::int FROM pg_attribute a"
    " JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped"
    " ORDER BY a.attnum"
)
_INDEXES = (
    "SELECT k.relname::text, pg_get_indexdef(i.indexrelid), o.conname::text, pg_get_constraintdef(o.oid),"
    " ARRAY(SELECT format('%s = %L', x.option_name, x.option_value) FROM pg_options_to_table(k.reloptions) x)"
    " FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid LEFT JOIN pg_constraint o ON o.conindid = i.indexrelid"
    " AND o.conrelid = i.indrelid AND o.contype IN ('p', 'u', 'x') WHERE i.indrelid = {oid} AND i.indisvalid ORDER BY 1"
)
_FOREIGN = (
    "SELECT o.conrelid::regclass::text, o.conname::text, pg_get_constraintdef(o.oid), o.convalidated,"
    " o.conrelid = {oid} FROM pg_constraint o WHERE o.contype = 'f' AND o.conparentid = 0"
    " AND {oid} IN (o.conrelid, o.confrelid) ORDER BY 1, 2"
)
_TRIGGERS = (
    "SELECT t.tgname::text, pg_get_triggerdef(t.oid), t.tgenabled::text, (t.tgtype & 1) = 1 AND (t.tgoldtable"
    " IS NOT NULL OR t.tgnewtable IS NOT NULL) FROM pg_trigger t WHERE t.tgrelid = {oid} AND NOT t.tgisinternal"
    " ORDER BY 1"
)
_ENABLED = {"D": "DISABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}
_VIEWS = (
    "SELECT DISTINCT v.oid::regclass::text, pg_get_viewdef(v.oid), ARRAY(SELECT format('%s = %L', x.option_name,"
    " x.option_value) FROM pg_options_to_table(v.reloptions) x) FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid"
    " JOIN pg_class v ON v.oid = r.ev_class WHERE d.classid = 'pg_rewrite'::regclass AND d.deptype = 'n'"
    " AND d.refclassid = 'pg_class'::regclass AND d.refobjid = {oid} AND v.relkind = 'v' AND r.rulename = '_RETURN'"
)
_FUNCTIONS = (
    "SELECT DISTINCT pg_get_functiondef(p.oid) FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid"
    " WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'n' AND d.refclassid = 'pg_class'::regclass"
    " AND d.refobjid = {oid} AND to_jsonb(p) ->> 'prosqlbody' IS NOT NULL"
)
_SEQUENCES = (
    "SELECT s.relname::text, s.oid::regclass::text, a.attname::text, d.deptype = 'i' FROM pg_depend d"
    " JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_attribute a ON a.attrelid = d.refobjid"
    " AND a.attnum = d.refobjsubid WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass"
    " AND d.refobjid = {oid} AND d.deptype IN ('a', 'i') ORDER BY 1"
)
_GRANTS = (
    "SELECT format('GRANT %s ON {table} TO %s%s', x.privilege_type, CASE x.grantee WHEN 0 THEN 'PUBLIC'"
    " ELSE quote_ident(pg_get_userbyid(x.grantee)) END, CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)"
    " FROM pg_class c, aclexplode(c.relacl) x WHERE c.oid = {oid} AND x.grantee <> c.relowner"
    " UNION ALL SELECT format('GRANT %s (%I) ON {table} TO %s', x.privilege_type, a.attname, CASE x.grantee WHEN 0"
    " THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END) FROM pg_attribute a, aclexplode(a.attacl) x"
    " WHERE a.attrelid = {oid} AND NOT a.attisdropped"
)
_HINDRANCES = (
    "SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d JOIN pg_class c"
    " ON c.oid = {oid} JOIN pg_type y ON y.oid = c.reltype WHERE d.deptype = 'n' AND CASE d.refclassid"
    " WHEN 'pg_class'::regclass THEN d.refobjid = c.oid WHEN 'pg_type'::regclass THEN d.refobjid IN (y.oid, y.typarray)"
    " ELSE false END AND NOT CASE d.classid"
    " WHEN 'pg_class'::regclass THEN d.objid = c.oid OR d.objid IN (SELECT indexrelid FROM pg_index"
    " WHERE indrelid = c.oid)"
    " WHEN 'pg_attrdef'::regclass THEN d.objid IN (SELECT oid FROM pg_attrdef WHERE adrelid = c.oid)"
    " WHEN 'pg_constraint'::regclass THEN d.objid IN (SELECT oid FROM pg_constraint WHERE conrelid = c.oid"
    " OR (contype = 'f' AND confrelid = c.oid))"
    " WHEN 'pg_trigger'::regclass THEN d.objid IN (SELECT oid FROM pg_trigger WHERE tgrelid = c.oid)"
    " WHEN 'pg_policy'::regclass THEN d.objid IN (SELECT oid FROM pg_policy WHERE polrelid = c.oid)"
    " WHEN 'pg_rewrite'::regclass THEN d.objid IN (SELECT r.oid FROM pg_rewrite r JOIN pg_class v ON v.oid = r.ev_class"
    " WHERE v.relkind = 'v' AND r.rulename = '_RETURN') AND d.refclassid = 'pg_class'::regclass"
    " WHEN 'pg_proc'::regclass THEN d.refclassid = 'pg_class'::regclass AND d.objid IN (SELECT p.oid FROM pg_proc p"
    " WHERE to_jsonb(p) ->> 'prosqlbody' IS NOT NULL)"
    " ELSE false END"
    " UNION SELECT pg_describe_object('pg_rewrite'::regclass, oid, 0) FROM pg_rewrite WHERE ev_class = {oid}"
    " UNION SELECT format('constraint %s, which is NO INHERIT', quote_ident(conname)) FROM pg_constraint"
    " WHERE conrelid = {oid} AND contype IN ('c', 'n') AND connoinherit ORDER BY 1"
)
"""What depends on the table or its row type and is none of what `statements` makes again."""


@dataclass(frozen=True)
class _Index:
    name: str
    definition: str
    constraint: str | None
    constraint_definition: str | None
    options: tuple[str, ...]


@dataclass(frozen=True)
class Owned:
    """A sequence of a column; of an identity column a new one takes its place."""

    name: str
    relation: str
    column: str
    identity: bool


@dataclass(frozen=True)
class Belongings:
    """All that a table is and has, as the server defines it, before anything is changed."""

    schema: str
    table: str
    relation: str
    """As the server writes it, which is what the definitions say."""
    persistence: str
    access_method: str
    owner: str
    options: tuple[str, ...]
    stored: tuple[str, ...]
    """The columns that are not generated."""
    targets: tuple[tuple[str, int], ...]
    indexes: tuple[_Index, ...]
    foreign: tuple[tuple[str, str, str], ...]
    triggers: tuple[tuple[str, str, str], ...]
    views: tuple[tuple[str, str, tuple[str, ...]], ...]
    functions: tuple[str, ...]
    sequences: tuple[Owned, ...]
    grants: tuple[str, ...]


def convert(asked: Partitioning, server: Server) -> str:
    """Make the table a partitioned one, and return its name; raises `UsageError` where that cannot be.

    Raises `QueryError` in the server's own words for what only it can know.
    """
    server.execute("SET synchronize_seqscans = off")  # rows stay in their order
    server.execute("SET timezone = 'UTC'")  # months begin there
    shapes, numbers = {}, {}
    for schema, name, oid, relation, kind in server.query(_TABLES):
        shapes[schema, name] = Shape(relation, kind, ())
        numbers[relation] = (schema, name, int(oid))
    schema, name, oid = numbers[find(asked, shapes).name]
    require_kind(shapes[schema, name])
    shape, column, found = _described(shapes[schema, name], schema, name, oid, asked, server)
    require(asked, shape, server.version.major)
    _try_clause(asked, found, server)
    for statement in statements(asked, found, partitions(asked, _qualified(found, name), column, server)):
        server.execute(statement)
    return shape.name


def _described(
    shape: Shape, schema: str, name: str, oid: int, asked: Partitioning, server: Server
) -> tuple[Shape, Column, Belongings]:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        return server.query(sql.replace("{oid}", str(oid)))

    ((persistence, method, owner, inherits, options, keys),) = rows(_FACTS)
    columns, foreign, triggers = rows(_COLUMNS), rows(_FOREIGN), rows(_TRIGGERS)
    hindrances = [str(each) for (each,) in rows(_HINDRANCES)]
    hindrances += [f"trigger {each[0]}, which has transition tables for each row" for each in triggers if each[3]]
    shape = Shape(
        shape.name,
        shape.kind,
        tuple(str(each[0]) for each in columns),
        tuple(Key.of(*key) for key in keys),
        frozenset(str(each[0]) for each in columns if each[4]),
        bool(inherits),
        tuple(str(each[1]) for each in foreign if each[4] and not each[3]),
        tuple(hindrances),
    )
    mine = next((each for each in columns if each[0] == asked.columns[0]), ("", "", "", True))
    found = Belongings(
        schema,
        name,
        shape.name,
        str(persistence),
        str(method),
        str(owner),
        tuple(options),
        tuple(str(each[0]) for each in columns if not each[4]),
        tuple((str(each[0]), int(each[6])) for each in columns if each[6] >= 0),
        tuple(_Index(each[0], each[1], each[2], each[3], tuple(each[4])) for each in rows(_INDEXES)),
        tuple((str(table), str(key), str(definition)) for table, key, definition, *_ in foreign),
        tuple((str(each), str(definition), str(enabled)) for each, definition, enabled, _ in triggers),
        tuple((str(view), str(text), tuple(given)) for view, text, given in rows(_VIEWS)),
        tuple(str(text) for (text,) in rows(_FUNCTIONS)),
        tuple(Owned(str(each[0]), str(each[1]), str(each[2]), bool(each[3])) for each in rows(_SEQUENCES)),
        tuple(str(grant) for (grant,) in rows(_granting(shape.name))),
    )
    return shape, Column(str(mine[1]), str(mine[2]), not mine[3]), found


def _granting(relation: str) -> str:
    """`_GRANTS` of a table, whose name stands in a literal that `format` reads."""
    return _GRANTS.replace("{table}", relation.replace("%", "%%").replace("'", "''"))


def _try_clause(asked: Partitioning, found: Belongings, server: Server) -> None:
    """Let the server say, on a table without rows, whether it takes the columns; raises `UsageError`."""
    try:
        server.execute(
            f"CREATE TEMP TABLE pgassay_trial (LIKE {_qualified(found, found.table)}) PARTITION BY {asked.clause}"
        )
    except QueryError as error:
        raise messages.refused_by_server(str(asked), error.message) from None
    server.execute("DROP TABLE pgassay_trial")


def _qualified(found: Belongings, name: str) -> str:
    return f"{quoted(found.schema)}.{quoted(name)}"


def statements(asked: Partitioning, found: Belongings, made: list[Partition]) -> Iterator[str]:
    """What makes the table partitioned, one after the other."""
    table, old = _qualified(found, found.table), _qualified(found, _OLD)
    for relation, name, _ in found.foreign:
        yield f"ALTER TABLE {relation} DROP CONSTRAINT {quoted(name)}"
    for number, index in enumerate(found.indexes):
        yield f"ALTER INDEX {_qualified(found, index.name)} RENAME TO {_OLD}_{number}"
    yield f"ALTER TABLE {table} RENAME TO {_OLD}"
    yield f"CREATE TABLE {table} (LIKE {old} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY {asked.clause}"
    yield f"ALTER TABLE {table} OWNER TO {quoted(found.owner)}"
    yield from _partitions(table, found, made)
    for column, target in found.targets:
        yield f"ALTER TABLE {table} ALTER COLUMN {quoted(column)} SET STATISTICS {target}"
    columns = ", ".join(map(quoted, found.stored))
    yield f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM ONLY {old}"
    yield from _belonging(table, old, found)


def _belonging(table: str, old: str, found: Belongings) -> Iterator[str]:
    """What belongs to the table, once the rows are in the new one; what takes a name of the old one comes last."""
    yield from (_again(table, index) for index in found.indexes)
    yield from (_view(*each) for each in found.views)
    yield from found.functions
    yield from (_sequence(table, each) for each in found.sequences)
    yield f"DROP TABLE {old}"
    yield from (_renamed_sequence(table, each) for each in found.sequences if each.identity)
    for name, definition, enabled in found.triggers:
        yield definition
        if enabled in _ENABLED:
            yield f"ALTER TABLE {table} {_ENABLED[enabled]} TRIGGER {quoted(name)}"
    for relation, name, definition in found.foreign:
        yield f"ALTER TABLE {relation} ADD CONSTRAINT {quoted(name)} {definition}"
    yield from found.grants


def _view(name: str, text: str, options: tuple[str, ...]) -> str:
    given = f" WITH ({', '.join(options)})" if options else ""
    return f"CREATE OR REPLACE VIEW {name}{given} AS {text}"


def _partitions(table: str, found: Belongings, made: list[Partition]) -> Iterator[str]:
    unlogged = "UNLOGGED " if found.persistence == "u" else ""
    using = "" if found.access_method == "heap" else f" USING {quoted(found.access_method)}"
    options = f" WITH ({', '.join(found.options)})" if found.options else ""
    for each in made:
        name = _qualified(found, partition_name(found.table, each.suffix))
        yield f"CREATE {unlogged}TABLE {name} PARTITION OF {table} {each.values}{using}{options}"
        yield f"COMMENT ON TABLE {name} IS '{MARK}'"
        yield f"ALTER TABLE {name} OWNER TO {quoted(found.owner)}"


def partition_name(table: str, suffix: str) -> str:
    """`orders_p1`; a long name of a table is cut, so that the end of it stays."""
    ending = f"_{suffix}"
    return table.encode()[: _NAME_MAX - len(ending)].decode(errors="ignore") + ending


def _again(table: str, index: _Index) -> str:
    """An index under its name; of a constraint, the constraint, whose definition lacks the index's options."""
    if index.constraint is None or index.constraint_definition is None:
        return index.definition
    definition, late = index.constraint_definition, ""
    for words in (" INITIALLY DEFERRED", " DEFERRABLE"):
        if definition.endswith(words):
            definition, late = definition.removesuffix(words), f"{words}{late}"
    options = f" WITH ({', '.join(index.options)})" if index.options and " WHERE (" not in definition else ""
    return f"ALTER TABLE {table} ADD CONSTRAINT {quoted(index.constraint)} {definition}{options}{late}"


def _sequence(table: str, each: Owned) -> str:
    """A serial's goes to the new table, an identity's new one goes on where the old one was."""
    if not each.identity:
        return f"ALTER SEQUENCE {each.relation} OWNED BY {table}.{quoted(each.column)}"
    where = f"{_literal(table)}, {_literal(each.column)}"
    return f"SELECT setval(pg_get_serial_sequence({where}), last_value, is_called) FROM {each.relation}"


def _renamed_sequence(table: str, each: Owned) -> str:
    """The new sequence has the old one's name, which scripts may call."""
    return (
        "DO $pgassay$ BEGIN EXECUTE format('ALTER SEQUENCE %s RENAME TO %I',"
        f" pg_get_serial_sequence({_literal(table)}, {_literal(each.column)}), {_literal(each.name)}); END $pgassay$"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def read(server: Any) -> list[tuple[str, str, int]]:
    """The tables that were made partitioned here: schema and name, the clause, how many partitions but a DEFAULT."""
    rows = server.query(
        "SELECT p.oid::regclass::text, pg_get_partkeydef(p.oid), count(*) FILTER (WHERE pg_get_expr(c.relpartbound,"
        " c.oid) <> 'DEFAULT') FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c"
        " ON c.oid = i.inhrelid WHERE p.relkind = 'p' AND obj_description(c.oid, 'pg_class')"
        f" = '{MARK}' GROUP BY p.oid ORDER BY 1"
    )
    return [(str(table), str(clause), int(count)) for table, clause, count in rows]


def has(asked: Partitioning, found: list[tuple[str, str, int]]) -> bool:
    """Is the table among those that `read` found, partitioned so?"""
    for table, clause, count in found:
        same = table == asked.name or table.rpartition(".")[2] == asked.name.rpartition(".")[2]
        bare = f"{asked.method} ({', '.join(asked.columns)})"
        if same and clause.replace('"', "") == bare and asked.into in (None, count):
            return True
    return False
