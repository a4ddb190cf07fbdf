"""Every read of a capture: what it asks the server, for what, and when (`--dry-run` prints this list); and its rows.

Columns of views that differ between versions are chosen by `major`; the oldest is 13. Each statement carries a comment
by which our own reads are left out of pg_stat_statements (manual, "pg_stat_statements").

Counters of statements only grow, until an entry is evicted or reset: one that is smaller than before was reset, so all
that it shows is of the window. Our own reads, and what a pg_dump sent in the window, are none of the application's.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pgassay.capture.format import Column, Statement, Table, View
from pgassay.capture.privacy import private_name
from pgassay.interfaces import versions

MARK = "pgassay capture"
"""Stands in each of our statements, and is our application_name."""
_OURS = f"/* {MARK} */"
_USERS_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"


@dataclass(frozen=True)
class Read:
    """One read: its relations, what it is for, and how often it is made."""

    source: str
    purpose: str
    times: str = "once"


ALWAYS = (
    Read("pg_settings", "the settings that are not default"),
    Read("pg_extension, pg_database", "version, size, encoding, collation, extensions"),
    Read("pg_class, pg_attribute, pg_index, pg_constraint", "tables, columns and their types, unique keys, sizes"),
    Read("pg_proc", "names of your functions and of their arguments, which are volatile"),
    Read("pg_rewrite", "which columns of tables the columns of your views are"),
    Read("pg_roles, pg_db_role_setting", "search_path of the roles that the load is of"),
)
STATISTICS = Read("pg_stats", "of each column: distinct values, share of nulls, width; no values")
VALUES = Read("pg_stats", "of each column: also its commonest values and its histogram")
LOAD = (
    Read("pg_stat_statements", "statements with $1 for each constant, calls, times, blocks, WAL", "twice"),
    Read("pg_stat_activity", "states and wait events of client sessions; no texts", "each second"),
    Read("pg_stat_wal, pg_stat_user_tables", "WAL, updates and HOT updates", "twice"),
)


IDENTITY = (
    f"SELECT {_OURS} current_setting('server_version'), current_setting('server_version_num')::int / 10000,"
    " current_database(), pg_encoding_to_char(d.encoding), "
    " CASE to_jsonb(d)->>'datlocprovider' WHEN 'i' THEN"
    " coalesce(to_jsonb(d)->>'datlocale', to_jsonb(d)->>'daticulocale') || ' (ICU)'"
    " WHEN 'b' THEN to_jsonb(d)->>'datlocale' ELSE d.datcollate END, pg_is_in_recovery(),"
    " pg_database_size(d.oid), (SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries')"
    " FROM pg_database d WHERE d.datname = current_database()"
)
"""Version, database, encoding, collation, whether it is a standby, size, libraries (NULL where they are hidden)."""


SETTINGS = (
    f"SELECT {_OURS} name, current_setting(name) FROM pg_settings"
    " WHERE source NOT IN ('default', 'override', 'client', 'session')"
    " AND setting IS DISTINCT FROM boot_val AND context <> 'internal' ORDER BY name"
)
"""Name and value of each setting that an administrator has changed."""


EXTENSIONS = (
    f"SELECT {_OURS} e.extname, e.extversion, quote_ident(n.nspname) FROM pg_extension e"
    " JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY 1"
)
"""Name, version and schema of each extension."""


TABLES = (
    f"SELECT {_OURS} n.nspname, c.relname, c.reltuples, c.relpages"
    f" FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('r', 'p', 'm') AND {_USERS_OWN} AND NOT EXISTS (SELECT FROM pg_depend x"
    " WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e') ORDER BY 1, 2"
)
"""Schema, name, rows (-1 if unknown) and pages of tables and materialized views."""


COLUMNS = (
    f"SELECT {_OURS} n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
    " EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indnkeyatts = 1"
    " AND i.indkey[0] = a.attnum AND i.indpred IS NULL),"
    " c.relkind = 'p' OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND (i.indisunique OR"
    " i.indisexclusion) AND (a.attnum = ANY (i.indkey) OR 0 = ANY (i.indkey)))"
    " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND {_USERS_OWN}"
    " ORDER BY 1, 2, a.attnum"
)
"""Schema, table, column, type, whether it takes nulls, alone is a unique key, is part of any, in the table's order.

An expression may hold every column, and a partition have a key of its own.
"""


def statistics(*, values: bool) -> str:
    """Schema, table, column and the row of pg_stats; its values as arrays of text, or NULL."""
    found = "most_common_vals::text::text[], most_common_freqs::float8[], histogram_bounds::text::text[]"
    return (
        f"SELECT {_OURS} schemaname, tablename, attname, null_frac, avg_width, n_distinct,"
        f" {found if values else 'NULL::text[], most_common_freqs::float8[], NULL::text[]'} FROM pg_stats"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY inherited"
    )


def search_paths(schema: str, query_ids: Iterable[int]) -> str:
    """Role, its search_path in this database, its time in these statements of pg_stat_statements, whether it is ours.

    Without statements each role that may connect counts, except superusers and our own.
    """
    own, ids = "r.rolname = current_user", ", ".join(map(str, query_ids))
    weight = (
        f"CASE WHEN {own} OR r.rolsuper OR NOT r.rolcanlogin OR NOT has_database_privilege(r.oid, d.oid, 'CONNECT')"
        " THEN 0 ELSE 1 END"
    )
    if ids:
        weight = (
            f"(SELECT coalesce(sum(s.total_exec_time), 0) FROM {schema}.pg_stat_statements(false) s"
            f" WHERE s.userid = r.oid AND s.dbid = d.oid AND s.queryid IN ({ids}))"
        )
    return (
        f"SELECT {_OURS} r.rolname, CASE WHEN {own} THEN current_setting('search_path') ELSE coalesce("
        "(SELECT substr(c.said, 13) FROM pg_db_role_setting x, unnest(x.setconfig) AS c(said)"
        " WHERE c.said LIKE 'search\\_path=%' AND x.setrole IN (r.oid, 0) AND x.setdatabase IN (d.oid, 0)"
        " ORDER BY x.setrole = 0, x.setdatabase = 0 LIMIT 1),"
        " (SELECT CASE WHEN source IN ('database', 'user', 'database user', 'client', 'session') THEN boot_val"
        " ELSE setting END FROM pg_settings WHERE name = 'search_path')) END,"
        f" ({weight})::float8, {own} FROM pg_roles r, pg_database d WHERE d.datname = current_database()"
        f" AND (r.rolcanlogin OR {own}) ORDER BY 1"
    )


_ENTRY = r":resno (\d+) :resname (\S+) :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+)"
VIEWS = (
    f"SELECT {_OURS} DISTINCT n.nspname, c.relname, a.attname, tn.nspname, t.relname, ta.attname"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename = '_RETURN'"
    f" CROSS JOIN LATERAL regexp_matches(r.ev_action::text, '{_ENTRY}', 'g') m"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = m[1]::int2 AND a.attname = m[2]"
    " JOIN pg_class t ON t.oid = m[3]::oid JOIN pg_namespace tn ON tn.oid = t.relnamespace"
    " JOIN pg_attribute ta ON ta.attrelid = t.oid AND ta.attnum = m[4]::int2"
    f" WHERE c.relkind = 'v' AND {_USERS_OWN} ORDER BY 1, 2, 3"
)
"""Schema and name of a view, a column of it, and schema, name and column of the relation that it is of.

A view keeps its query in pg_rewrite, in which each entry of the select list names the column that it is (manual,
"The Query Tree").
"""


FUNCTIONS = (
    f"SELECT {_OURS} p.proname, ARRAY(SELECT coalesce(p.proargnames[k], '') FROM generate_series(1, p.pronargs) k),"
    " ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY x(t, k) ORDER BY k),"
    " p.provolatile = 'v', l.lanpltrusted OR l.lanname IN ('sql', 'internal')"
    " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang"
    f" WHERE p.prokind = 'f' AND {_USERS_OWN} AND NOT EXISTS (SELECT FROM pg_depend x"
    " WHERE x.classid = 'pg_proc'::regclass AND x.objid = p.oid AND x.deptype = 'e') ORDER BY 1, p.oid"
)
"""Name, names and types of the arguments, is it volatile, is its language SQL or a trusted one.

Of those that are neither PostgreSQL's own nor an extension's.
"""


SEES_ALL = f"SELECT {_OURS} pg_has_role('pg_read_all_stats', 'USAGE')"
"""May our role see the statements of others?"""


_KEPT = (
    f"{_USERS_OWN} AND c.relpersistence <> 't' AND NOT EXISTS (SELECT FROM pg_depend x"
    " WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e')"
)
_NAME = "quote_ident(n.nspname) || '.' || quote_ident(c.relname)"
_THERE = f"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_KEPT}"
RIGHTS = (
    f"SELECT {_OURS} ARRAY(SELECT {_NAME} {_THERE} AND CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE')"
    " THEN c.relkind IN ('r', 'p', 'S') WHEN c.relkind IN ('r', 'p') THEN NOT has_table_privilege(c.oid, 'SELECT')"
    " WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'SELECT') ELSE false END ORDER BY 1),"
    f" ARRAY(SELECT {_NAME} {_THERE} AND c.relkind IN ('r', 'p') AND row_security_active(c.oid) ORDER BY 1)"
)
"""Tables and sequences that pg_dump would read and our role may not, and tables of which it sees some rows only."""


def statements(schema: str, major: int, *, texts: bool) -> str:
    """The counters of each statement of this database since they began, summed over roles; the text with `texts`."""
    view = f"{schema}.pg_stat_statements({'true' if texts else 'false'})"
    only = " AND toplevel" if major >= versions.STATEMENTS_TOPLEVEL else ""
    return (
        f"SELECT {_OURS} queryid, {'min(query)' if texts else 'NULL::text'}, sum(calls)::int8,"
        " sum(total_exec_time)::float8, sum(rows)::int8, sum(shared_blks_hit)::int8, sum(shared_blks_read)::int8,"
        f" sum(temp_blks_written)::int8, sum(wal_bytes)::float8, sum(plans)::int8, sum(wal_records)::int8"
        f" FROM {view}"
        " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f" AND queryid IS NOT NULL{only} GROUP BY queryid"
    )


ACTIVITY = (
    f"SELECT {_OURS} coalesce(state, 'unknown'), CASE WHEN state = 'active' AND wait_event_type IS NOT NULL"
    " THEN wait_event_type || ': ' || wait_event ELSE '' END, count(*)::int FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    f" AND application_name IS DISTINCT FROM '{MARK}' GROUP BY 1, 2"
)
"""State, wait event (`Type: event`, empty on the CPU) and how many client sessions of this database share them."""


def counters(major: int, *, replica: bool) -> str:
    """One row: the names of the counters are the columns' names (docs/your-server.md)."""
    if major >= versions.STAT_WAL:
        wal = "(SELECT wal_bytes::float8 FROM pg_stat_wal)"
    else:
        wal = "NULL::float8" if replica else "pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8"
    return (
        f"SELECT {_OURS} {wal} AS wal_bytes, coalesce(sum(n_tup_upd), 0)::int8 AS updates,"
        " coalesce(sum(n_tup_hot_upd), 0)::int8 AS hot_updates FROM pg_stat_user_tables"
    )


COUNTERS = ("calls", "exec_ms", "rows", "blocks_hit", "blocks_read", "temp_blocks", "wal_bytes", "plans", "wal_records")
HIDDEN = "<insufficient privilege>"
"""What the server shows of another role's text."""

_DUMP_BEGINS = "SELECT pg_catalog.set_config("
_DUMPS = re.compile(
    r"(COPY\b.*\bTO stdout|LOCK TABLE\b.*\bIN ACCESS SHARE MODE|SET TRANSACTION ISOLATION LEVEL .*READ ONLY"
    r"|(PREPARE|EXECUTE) (dump|get)[A-Z]\w+)",
    re.DOTALL,
)
_READ = re.compile(r"\b(?:FROM|JOIN)\s+(?:ONLY\s+)?([\w\"]+)", re.IGNORECASE)


def _of_pg_dump(text: str) -> bool:
    """Is it a statement that pg_dump sends: a copy of a table, a lock, a look into the catalogue alone?"""
    read = _READ.findall(text)
    catalogue = text.startswith(("SELECT", "WITH")) and bool(read) and all(each.startswith("pg_") for each in read)
    return catalogue or text.startswith(_DUMP_BEGINS) or _DUMPS.match(text) is not None


def between(before: Iterable[tuple[Any, ...]], after: Iterable[tuple[Any, ...]]) -> tuple[Statement, ...]:
    """The statements with calls in the window, the longest in all first; rows as `statements` gives them."""
    earlier = {row[0]: row[2:] for row in before}
    found = []
    for query_id, text, *counters in after:
        text = text or ""  # NULL where the file of texts was lost
        if MARK in text:
            continue
        first = earlier.get(query_id, (0,) * len(counters))
        if counters[0] < first[0]:
            first = (0,) * len(counters)
        calls, exec_ms, rows, hit, read, temp, wal, plans, records = (
            max(0, now - then) for now, then in zip(counters, first, strict=True)
        )
        if calls:
            found.append(
                Statement(int(query_id), text, calls, exec_ms, rows, hit, read, temp, int(wal), plans, records)
            )
    if any(each.text.startswith(_DUMP_BEGINS) for each in found):  # a dump of another capture, or a backup
        found = [each for each in found if not _of_pg_dump(each.text)]
    return tuple(sorted(found, key=lambda each: (-each.exec_ms, each.query_id)))


def merged(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements of one text as one, the longest in all first.

    They have several entries where drivers send parameters of different types, or roles differ in their search_path.
    """
    found: dict[str, Statement] = {}
    for each in statements:
        known = found.get(each.text) if each.text else None
        found[each.text or str(each.query_id)] = plus(known, each) if known else each
    return tuple(sorted(found.values(), key=lambda each: (-each.exec_ms, each.query_id)))


def plus(one: Statement, other: Statement) -> Statement:
    """The counters of both, under the identifier and text of the first."""
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in COUNTERS})


Rows = Iterable[tuple[Any, ...]]
_LEAST_SHARE = 0.01
"""Of the load: a role with less has no say."""
_PATH_PART = re.compile(r'"((?:[^"]|"")*)"|([^,"\s]+)')


def search_paths_of(rows: Rows, schemas: Collection[str]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Our own search_path, and those of the roles that the load is of, the busiest first; `schemas` are those with
    tables, and others are left out. Rows as `search_paths` gives them.
    """
    weights: dict[tuple[str, ...], float] = {}
    own: tuple[str, ...] = ()
    for role, said, weight, ours in rows:
        names = (quoted.replace('""', '"') or plain.lower() for quoted, plain in _PATH_PART.findall(said))
        path = tuple(each for each in (role if name == "$user" else name for name in names) if each in schemas)
        weights[path] = weights.get(path, 0.0) + weight
        own = path if ours else own
    total = sum(weights.values())
    ordered = sorted(weights, key=lambda each: -weights[each])
    return own, tuple(each for each in ordered if weights[each] > _LEAST_SHARE * total) or (own,)


def views_of(rows: Rows) -> tuple[View, ...]:
    """The views with those of their columns that are columns of others; rows as `VIEWS` gives them.

    Subqueries have entries, too: a column that has several is none of the view's for sure.
    """
    found: dict[tuple[str, str], dict[str, set[tuple[str, str, str]]]] = {}
    for schema, view, name, *below in rows:
        found.setdefault((schema, view), {}).setdefault(name, set()).add((below[0], below[1], below[2]))
    return tuple(
        View(*named, tuple((name, *next(iter(below))) for name, below in columns.items() if len(below) == 1))
        for named, columns in found.items()
    )


def tables_of(tables: Rows, columns: Rows, statistics: Rows) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables in order, and the columns whose values were left out because of their names.

    Rows as `TABLES`, `COLUMNS` and `statistics` give them; statistics of a table with its partitions
    come after those of the table alone, and win.
    """
    by_table: dict[tuple[str, str], list[Column]] = {}
    for schema, table, name, type_name, not_null, unique, keyed in columns:
        by_table.setdefault((schema, table), []).append(Column(name, type_name, not_null, unique, keyed=keyed))
    found = {(row[0], row[1], row[2]): row[3:] for row in statistics}
    left_out: list[str] = []
    result = []
    for schema, table, rows, pages in tables:
        described = []
        for column in by_table.get((schema, table), []):
            known = found.get((schema, table, column.name))
            if known is not None and private_name(column.name) and (known[3] or known[5]):
                left_out.append(f"{schema}.{table}.{column.name}")
                known = (*known[:3], None, known[4], None)
            if known is not None:
                null_share, width, n_distinct, values, shares, histogram = known
                column = replace(
                    column,
                    null_share=float(null_share),
                    width_bytes=int(width),
                    n_distinct=float(n_distinct),
                    common_values=tuple(values or ()),
                    common_shares=tuple(map(float, shares or ())),
                    histogram=tuple(histogram or ()),
                )
            described.append(column)
        count = None if rows < 0 else float(rows)
        result.append(Table(schema, table, count, int(pages), tuple(described)))
    return tuple(result), tuple(left_out)
