"""pg_stat_io (16 on), summed by object and context: operations, bytes, fsyncs of relations and (18 on) of the WAL.

Bytes are operations times op_bytes in 16 and 17, columns of their own from 18 on. NULL rows mean that a process never
does such a thing, so they count as nothing.
"""

from pgassay.probe.views import Column, View, counter

SOURCE = "io"
SINCE = 16
BYTES_SINCE = 18

_RELATION = "object <> 'wal'"
_BACKEND = "object <> 'wal' AND backend_type = 'client backend'"
_VACUUM = "object <> 'wal' AND context = 'vacuum'"
_BULK = "object <> 'wal' AND context IN ('bulkread', 'bulkwrite')"
_WAL = "object = 'wal'"


def view(version: int) -> View:
    """One row from 16 on; all None before."""
    there, wal = version >= SINCE, version >= BYTES_SINCE
    columns = [
        _operations("relation_reads", "reads", _RELATION, there),
        _bytes("relation_read_bytes", "read", _RELATION, version),
        _operations("relation_writes", "writes", _RELATION, there),
        _bytes("relation_write_bytes", "write", _RELATION, version),
        _operations("relation_extends", "extends", _RELATION, there),
        _bytes("relation_extend_bytes", "extend", _RELATION, version),
        _operations("relation_fsyncs", "fsyncs", _RELATION, there),
        _operations("relation_evictions", "evictions", _RELATION, there),
        _operations("client_backend_writes", "writes", _BACKEND, there),
        _operations("vacuum_writes", "writes", _VACUUM, there),
        _operations("bulk_reads", "reads", _BULK, there),
        _operations("wal_writes", "writes", _WAL, wal),
        _bytes("wal_write_bytes", "write", _WAL, version if wal else 0),
        _operations("wal_fsyncs", "fsyncs", _WAL, wal),
    ]
    return View(SOURCE, tuple(columns), "FROM pg_stat_io" if there else "")


def _operations(name: str, column: str, rows: str, there: bool) -> Column:
    return counter(name, "count", f"coalesce(sum({column}) FILTER (WHERE {rows}), 0)" if there else None)


def _bytes(name: str, operation: str, rows: str, version: int) -> Column:
    if version < SINCE:
        return counter(name, "bytes", None)
    each = f"{operation}_bytes" if version >= BYTES_SINCE else f"{operation}s * op_bytes"
    return counter(name, "bytes", f"coalesce(sum({each}) FILTER (WHERE {rows}), 0)")
