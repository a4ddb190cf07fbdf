"""Sizes: of the database, its user tables (with TOAST and maps), their indexes, and the WAL directory.

They stat every file, so they are read at the window's edges only. pg_ls_waldir wants a superuser, which we are on a
private server. See the PostgreSQL manual, "Database Object Size Functions".
"""

from pgassay.probe.tables import FIRST_USER_OID
from pgassay.probe.views import View, gauge

SOURCE = "sizes"


def view(version: int) -> View:
    """One row, the same in every version."""
    columns = (
        gauge("database_bytes", "bytes", "pg_database_size(current_database())"),
        gauge("table_bytes", "bytes", "coalesce(sum(pg_table_size(c.oid)), 0)"),
        gauge("index_bytes", "bytes", "coalesce(sum(pg_indexes_size(c.oid)), 0)"),
        gauge("block_bytes", "bytes", "current_setting('block_size')"),
        gauge("wal_directory_bytes", "bytes", "(SELECT coalesce(sum(size), 0) FROM pg_ls_waldir())"),
    )
    return View(SOURCE, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm')")
