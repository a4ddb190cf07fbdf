"""Checks at the end of a trial whether its data are damaged (`drive.check = "on"`): tables, indexes, file system.

While the server runs, amcheck checks every table and B-tree index, as pg_amcheck does (manual, "amcheck"). Once the
drive is unmounted, the file system's own tool checks it, and an emulated drive checks itself (`Clones.discard`).
"""

from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server

NO_AMCHECK = "drive.check needs the extension amcheck, which is not installed with this server"

DATA, DRIVE, NOT_CHECKED = "damaged_data", "damaged_drive", "not_checked"
_TABLES_SINCE = 14
_PERMANENT = "c.relpersistence <> 't'"
_SMALL = " AND {{table}} >= 16384 AND pg_relation_size({{table}}) <= {most_bytes}"
"""16384 is the first id of what initdb has not made (FirstNormalObjectId)."""
_INSTALLED = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
_INDEXES = (
    "SELECT count(bt_index_check(c.oid, true)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_am a ON a.oid = c.relam"
    f" WHERE a.amname = 'btree' AND c.relkind = 'i' AND {_PERMANENT} AND i.indisready AND i.indisvalid{{narrowed}}"
)
_TABLES = (
    "SELECT c.oid::regclass::text, v.blkno, v.msg FROM pg_class c JOIN pg_am a ON a.oid = c.relam,"
    " LATERAL verify_heapam(c.oid) v"
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
    amcheck is not installed. Raises `QueryError` if the server died.
    """
    if not install(server):
        return {NOT_CHECKED: NO_AMCHECK}
    narrowed = "" if most_bytes is None else _SMALL.format(most_bytes=most_bytes)
    try:
        server.query(_INDEXES.format(narrowed=narrowed.format(table="i.indrelid")))
        tables = _TABLES.format(narrowed=narrowed.format(table="c.oid"))
        found = server.query(tables) if server.version.major >= _TABLES_SINCE else []
    except QueryError as error:
        if not server.alive():
            raise
        return {DATA: error.message}
    return {DATA: _damaged_page(*found[0])} if found else {}


def _damaged_page(table: str, block: int, said: str) -> str:
    """The first damage that amcheck found: `said` is its own message."""
    return f'table "{table}", block {block}: {said}'
