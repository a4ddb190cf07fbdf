"""WAL: records, full-page images, bytes, writes and syncs from pg_stat_wal (14 on), and always bytes by position.

18 moved writes and syncs to pg_stat_io (see `io`). `lsn_bytes` counts page headers and switched segments too, so it is
a little more than `wal_bytes`; it is the only source in 13.
"""

from pgassay.probe.views import View, counter

SOURCE = "wal"
VIEW_SINCE = 14
WRITES_UNTIL = 17


def view(version: int) -> View:
    """One row in every version."""
    has_view = version >= VIEW_SINCE
    has_writes = has_view and version <= WRITES_UNTIL

    def when(there: bool, expression: str) -> str | None:
        return expression if there else None

    columns = (
        counter("wal_records", "count", when(has_view, "wal_records")),
        counter("wal_fpi", "count", when(has_view, "wal_fpi")),
        counter("wal_bytes", "bytes", when(has_view, "wal_bytes")),
        counter("wal_buffers_full", "count", when(has_view, "wal_buffers_full")),
        counter("wal_write", "count", when(has_writes, "wal_write")),
        counter("wal_sync", "count", when(has_writes, "wal_sync")),
        counter("lsn_bytes", "bytes", "pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
    )
    return View(SOURCE, columns, "FROM pg_stat_wal" if has_view else "")
