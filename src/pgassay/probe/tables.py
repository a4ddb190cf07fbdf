"""All user tables together: rows inserted, updated (HOT, to a new page), deleted; blocks of heap and indexes.

The same numbers as the sums over pg_stat_user_tables and pg_statio_user_tables, by the functions under those views and
one scan of pg_class, TOAST tables and their indexes included. `n_tup_newpage_upd` is there from 16 on.
"""

from pgassay.probe.views import View, counter

SOURCE = "tables"
FIRST_USER_OID = 16384
"""FirstNormalObjectId in access/transam.h: objects below it are the system's own."""
NEWPAGE_SINCE = 16

_HEAP = "c.relkind IN ('r', 'm', 't')"
_INDEX = "c.relkind = 'i'"


def view(version: int) -> View:
    """Sums over everything that is not the system's."""
    newpage = _heap("pg_stat_get_tuples_newpage_updated(c.oid)") if version >= NEWPAGE_SINCE else None
    columns = (
        counter("n_tup_ins", "rows", _heap("pg_stat_get_tuples_inserted(c.oid)")),
        counter("n_tup_upd", "rows", _heap("pg_stat_get_tuples_updated(c.oid)")),
        counter("n_tup_del", "rows", _heap("pg_stat_get_tuples_deleted(c.oid)")),
        counter("n_tup_hot_upd", "rows", _heap("pg_stat_get_tuples_hot_updated(c.oid)")),
        counter("n_tup_newpage_upd", "rows", newpage),
        counter("heap_blks_read", "blocks", _read(_HEAP)),
        counter("heap_blks_hit", "blocks", _hit(_HEAP)),
        counter("idx_blks_read", "blocks", _read(_INDEX)),
        counter("idx_blks_hit", "blocks", _hit(_INDEX)),
    )
    return View(SOURCE, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID}")


def _heap(function: str) -> str:
    return f"coalesce(sum({function}) FILTER (WHERE {_HEAP}), 0)"


def _read(kind: str) -> str:
    fetched = "pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid)"
    return f"coalesce(sum({fetched}) FILTER (WHERE {kind}), 0)"


def _hit(kind: str) -> str:
    return f"coalesce(sum(pg_stat_get_blocks_hit(c.oid)) FILTER (WHERE {kind}), 0)"
