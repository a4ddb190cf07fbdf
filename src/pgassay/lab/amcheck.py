"""Checks at the end of a trial whether its data are damaged (`drive.check = "on"`): tables, indexes, file system.

While the server runs, amcheck checks every table and B-tree index, as pg_amcheck does (manual, "amcheck"). Once the
drive is unmounted, the file system's own tool checks it, and an emulated drive checks itself (`Clones.discard`).

The data may have functions and tables with the names of amcheck's and of the catalog's, and a search_path that finds
them first. So pg_catalog comes first here, and amcheck's functions are called by schema and whole signature.
"""

from typing import Any

from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server

NO_AMCHECK = "drive.check needs the extension amcheck, which is not installed with this server"

DATA, DRIVE, NOT_CHECKED = "damaged_data", "damaged_drive", "not_checked"
_TABLES_SINCE = 14
_PERMANENT = "c.relpersistence <> 't'"
_SMALL = " AND {{table}} >= 16384 AND pg_relation_size({{table}}) <= {most_bytes}"
"""16384 is the first id of what initdb has not made (FirstNormalObjectId)."""
_INSTALLED = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
_ARGUMENTS = {"bt_index_check": "2205 16", "verify_heapam": "2205 16 16 25 20 20"}
"""Types by their ids, which never change: regclass, boolean; regclass, boolean, boolean, text, bigint, bigint."""
_SCHEMA = (
    "SELECT quote_ident(n.nspname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    " WHERE p.probin = '$libdir/amcheck' AND p.proname = %s AND p.prosrc = p.proname AND p.proargtypes = %s::oidvector"
)
_INDEXES = (
    "SELECT count({schema}.bt_index_check(c.oid::regclass, true)) FROM pg_index i"
    " JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_am a ON a.oid = c.relam"
    f" WHERE a.amname = 'btree' AND c.relkind = 'i' AND {_PERMANENT} AND i.indisready AND i.indisvalid{{narrowed}}"
)
_TABLES = (
    "SELECT c.oid::regclass::text, v.blkno, v.msg FROM pg_class c JOIN pg_am a ON a.oid = c.relam,"
    " LATERAL {schema}.verify_heapam(c.oid::regclass, false, false, 'none', NULL::bigint, NULL::bigint) v"
    f" WHERE a.amname = 'heap' AND c.relkind IN ('r', 'm', 't') AND {_PERMANENT}{{narrowed}} LIMIT 1"
)


def install(server: Server) -> bool:
    """Have amcheck in the database; False where it is not installed on this machine."""
    if not server.query(_INSTALLED):
        return False
    server.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    return True


def check_relations(server: Server, most_bytes: int | None = None) -> dict[str, str]:
    """The first damage in a table or B-tree index, code to detail; empty if there is none.

    With `most_bytes` only the tables of users that are no larger, and their indexes. The code is `not_checked` where
    amcheck is not installed, or its functions are others. Raises `QueryError` if the server died.
    """
    if not install(server):
        return {NOT_CHECKED: NO_AMCHECK}
    narrowed = "" if most_bytes is None else _SMALL.format(most_bytes=most_bytes)
    checks = {"bt_index_check": (_INDEXES, "i.indrelid"), "verify_heapam": (_TABLES, "c.oid")}
    if server.version.major < _TABLES_SINCE:
        del checks["verify_heapam"]
    found: list[tuple[Any, ...]] = []
    try:
        ((path,),) = server.query("SELECT pg_catalog.current_setting('search_path')")
        first = ", ".join(filter(None, ("pg_catalog", path)))
        server.query("SELECT pg_catalog.set_config('search_path', %s, false)", (first,))
        for function, (check, table) in checks.items():
            schemas = server.query(_SCHEMA, (function, _ARGUMENTS[function]))
            if not schemas:
                return {NOT_CHECKED: f"the data have a function {function} in the place of amcheck's"}
            found = server.query(check.format(schema=schemas[0][0], narrowed=narrowed.format(table=table)))
    except QueryError as error:
        if not server.alive():
            raise
        return {DATA: error.message}
    if not found or "verify_heapam" not in checks:
        return {}
    name, block, said = found[0]
    return {DATA: f'table "{name}", block {block}: {said}'}
