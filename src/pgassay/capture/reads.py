"""Every read of a capture: what it asks the server, for what, and when; `--dry-run` prints this list.

Columns of views that differ between versions are chosen by `major`; the oldest is 13. Each statement carries a comment
by which our own reads are left out of pg_stat_statements (manual, "pg_stat_statements").
"""

from collections.abc import Iterable
from dataclasses import dataclass

MARK = "pgassay capture"
"""Stands in each of our statements, and is our application_name."""
_WAL_VIEW_SINCE = 14
_TOPLEVEL_SINCE = 14
_PROVIDER_SINCE = 15
_OURS = f"/* {MARK} */"
_USER = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"


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
STATISTICS = Read("pg_stats", "of each column: distinct values, share of nulls, width, correlation; no values")
VALUES = Read("pg_stats", "of each column: also its commonest values and its histogram")
LOAD = (
    Read("pg_stat_statements", "statements with $1 for each constant, calls, times, blocks, WAL", "twice"),
    Read("pg_stat_activity", "states and wait events of client sessions; no texts", "each second"),
    Read("pg_stat_database, pg_stat_wal, pg_stat_user_tables", "counters of the database", "twice"),
)


def identity() -> str:
    """Version, database, encoding, collation, whether it is a standby, size, libraries (NULL where they are hidden)."""
    return (
        f"SELECT {_OURS} current_setting('server_version'), current_setting('server_version_num')::int / 10000,"
        " current_database(), pg_encoding_to_char(d.encoding), "
        " CASE to_jsonb(d)->>'datlocprovider' WHEN 'i' THEN"
        " coalesce(to_jsonb(d)->>'datlocale', to_jsonb(d)->>'daticulocale') || ' (ICU)'"
        " WHEN 'b' THEN to_jsonb(d)->>'datlocale' ELSE d.datcollate END, pg_is_in_recovery(),"
        " pg_database_size(d.oid), (SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries')"
        " FROM pg_database d WHERE d.datname = current_database()"
    )


def settings() -> str:
    """Name and value of each setting that an administrator has changed."""
    return (
        f"SELECT {_OURS} name, current_setting(name) FROM pg_settings"
        " WHERE source NOT IN ('default', 'override', 'client', 'session')"
        " AND setting IS DISTINCT FROM boot_val AND context <> 'internal' ORDER BY name"
    )


def extensions() -> str:
    """Name, version and schema of each extension."""
    return (
        f"SELECT {_OURS} e.extname, e.extversion, quote_ident(n.nspname) FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY 1"
    )


def tables() -> str:
    """Schema, name, rows (-1 if unknown), pages, bytes with indexes and TOAST, of tables and materialized views."""
    return (
        f"SELECT {_OURS} n.nspname, c.relname, c.reltuples, c.relpages, pg_total_relation_size(c.oid)"
        f" FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind IN ('r', 'p', 'm') AND {_USER} AND NOT EXISTS (SELECT FROM pg_depend x"
        " WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e') ORDER BY 1, 2"
    )


def columns() -> str:
    """Schema, table, column, type, whether it takes nulls, alone is a unique key, is part of any, in the table's order.

    An expression may hold every column, and a partition have a key of its own.
    """
    return (
        f"SELECT {_OURS} n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
        " EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indnkeyatts = 1"
        " AND i.indkey[0] = a.attnum AND i.indpred IS NULL),"
        " c.relkind = 'p' OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND (i.indisunique OR"
        " i.indisexclusion) AND (a.attnum = ANY (i.indkey) OR 0 = ANY (i.indkey)))"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND {_USER}"
        " ORDER BY 1, 2, a.attnum"
    )


def statistics(*, values: bool) -> str:
    """Schema, table, column and the row of pg_stats; its values as arrays of text, or NULL."""
    found = "most_common_vals::text::text[], most_common_freqs::float8[], histogram_bounds::text::text[]"
    return (
        f"SELECT {_OURS} schemaname, tablename, attname, null_frac, avg_width, n_distinct, correlation,"
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


def views() -> str:
    """Schema and name of a view, a column of it, and schema, name and column of the relation that it is of.

    A view keeps its query in pg_rewrite, in which each entry of the select list names the column that it is (manual,
    "The Query Tree").
    """
    entry = r":resno (\d+) :resname (\S+) :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+)"
    return (
        f"SELECT {_OURS} DISTINCT n.nspname, c.relname, a.attname, tn.nspname, t.relname, ta.attname"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename = '_RETURN'"
        f" CROSS JOIN LATERAL regexp_matches(r.ev_action::text, '{entry}', 'g') m"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = m[1]::int2 AND a.attname = m[2]"
        " JOIN pg_class t ON t.oid = m[3]::oid JOIN pg_namespace tn ON tn.oid = t.relnamespace"
        " JOIN pg_attribute ta ON ta.attrelid = t.oid AND ta.attnum = m[4]::int2"
        f" WHERE c.relkind = 'v' AND {_USER} ORDER BY 1, 2, 3"
    )


def functions() -> str:
    """Name, names and types of the arguments, is it volatile, is its language SQL or a trusted one.

    Of those that are neither PostgreSQL's own nor an extension's.
    """
    return (
        f"SELECT {_OURS} p.proname, ARRAY(SELECT coalesce(p.proargnames[k], '') FROM generate_series(1, p.pronargs) k),"
        " ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY x(t, k) ORDER BY k),"
        " p.provolatile = 'v', l.lanpltrusted OR l.lanname IN ('sql', 'internal')"
        " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang"
        f" WHERE p.prokind = 'f' AND {_USER} AND NOT EXISTS (SELECT FROM pg_depend x"
        " WHERE x.classid = 'pg_proc'::regclass AND x.objid = p.oid AND x.deptype = 'e') ORDER BY 1, p.oid"
    )


def sees_all() -> str:
    """May our role see the statements of others?"""
    return f"SELECT {_OURS} pg_has_role('pg_read_all_stats', 'USAGE')"


def rights() -> str:
    """Tables and sequences that pg_dump would read and our role may not, and tables of which it sees some rows only."""
    kept = (
        f"{_USER} AND c.relpersistence <> 't' AND NOT EXISTS (SELECT FROM pg_depend x"
        " WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e')"
    )
    name = "quote_ident(n.nspname) || '.' || quote_ident(c.relname)"
    there = f"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {kept}"
    return (
        f"SELECT {_OURS} ARRAY(SELECT {name} {there} AND CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE')"
        " THEN c.relkind IN ('r', 'p', 'S') WHEN c.relkind IN ('r', 'p') THEN NOT has_table_privilege(c.oid, 'SELECT')"
        " WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'SELECT') ELSE false END ORDER BY 1),"
        f" ARRAY(SELECT {name} {there} AND c.relkind IN ('r', 'p') AND row_security_active(c.oid) ORDER BY 1)"
    )


def statements(schema: str, major: int, *, texts: bool) -> str:
    """The counters of each statement of this database since they began, summed over roles; the text with `texts`."""
    view = f"{schema}.pg_stat_statements({'true' if texts else 'false'})"
    only = " AND toplevel" if major >= _TOPLEVEL_SINCE else ""
    return (
        f"SELECT {_OURS} queryid, {'min(query)' if texts else 'NULL::text'}, sum(calls)::int8,"
        " sum(total_exec_time)::float8, sum(rows)::int8, sum(shared_blks_hit)::int8, sum(shared_blks_read)::int8,"
        f" sum(temp_blks_written)::int8, sum(wal_bytes)::float8, sum(plans)::int8, sum(wal_records)::int8"
        f" FROM {view}"
        " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f" AND queryid IS NOT NULL{only} GROUP BY queryid"
    )


def activity() -> str:
    """State, wait event (`Type: event`, empty on the CPU) and how many client sessions of this database share them."""
    return (
        f"SELECT {_OURS} coalesce(state, 'unknown'), CASE WHEN state = 'active' AND wait_event_type IS NOT NULL"
        " THEN wait_event_type || ': ' || wait_event ELSE '' END, count(*)::int FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        f" AND application_name IS DISTINCT FROM '{MARK}' GROUP BY 1, 2"
    )


def counters(major: int, *, replica: bool) -> str:
    """One row: the names of the counters are the columns' names (docs/your-server.md)."""
    if major >= _WAL_VIEW_SINCE:
        wal = "(SELECT wal_bytes::float8 FROM pg_stat_wal)"
    else:
        wal = "NULL::float8" if replica else "pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8"
    return (
        f"SELECT {_OURS} d.xact_commit AS commits, d.xact_rollback AS rollbacks, d.blks_hit AS blocks_hit,"
        " d.blks_read AS blocks_read, d.temp_bytes AS temp_bytes, d.temp_files AS temp_files,"
        f" {wal} AS wal_bytes, t.updates, t.hot_updates FROM pg_stat_database d,"
        " (SELECT coalesce(sum(n_tup_upd), 0)::int8 AS updates, coalesce(sum(n_tup_hot_upd), 0)::int8 AS hot_updates"
        " FROM pg_stat_user_tables) t WHERE d.datname = current_database()"
    )


def sizes() -> str:
    """Bytes of all databases, and of what the two settings of a spread checkpoint come to in seconds."""
    return (
        f"SELECT {_OURS} (SELECT sum(pg_database_size(oid))::int8 FROM pg_database),"
        " (SELECT setting::float8 FROM pg_settings WHERE name = 'checkpoint_timeout')"
        " * current_setting('checkpoint_completion_target')::float8"
    )


def bulk(megabytes: int) -> str:
    """So many bytes at once, to see how fast they come here."""
    return f"SELECT {_OURS} repeat('0123456789abcdef', {megabytes << 16})"


def analysed() -> str:
    """How many tables and columns of the user's have statistics."""
    return (
        f"SELECT {_OURS} count(DISTINCT (schemaname, tablename)), count(*) FROM pg_stats"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )


def tablespaces() -> str:
    """The place of each tablespace of the user's that has one of its own."""
    return (
        f"SELECT {_OURS} pg_tablespace_location(oid) FROM pg_tablespace"
        " WHERE spcname NOT IN ('pg_default', 'pg_global') AND pg_tablespace_location(oid) LIKE '/%' ORDER BY oid"
    )


def files(major: int) -> str:
    """The cluster's identifier, provider and version of the database's collation, libraries of its functions."""
    known = major >= _PROVIDER_SINCE
    collation = "d.datlocprovider::text, d.datcollversion" if known else "NULL::text, NULL::text"
    return (
        f"SELECT {_OURS} (SELECT system_identifier::text FROM pg_control_system()), {collation},"
        " ARRAY(SELECT DISTINCT probin::text FROM pg_proc WHERE probin IS NOT NULL ORDER BY 1)"
        " FROM pg_database d WHERE d.datname = current_database()"
    )
