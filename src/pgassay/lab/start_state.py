"""From a started server to the state a window starts from: cache state, VACUUM if asked, CHECKPOINT; in that order.

CHECKPOINT comes last because a VACUUM after it would start the window dirty. `prewarmed` uses pg_prewarm where the
extension exists (which reads through the page cache and so warms that as well); elsewhere the page cache alone is
warmed, and the record says so.
"""

from pathlib import Path

from pgassay.bench.errors import QueryError
from pgassay.bench.load import LoadOptions
from pgassay.bench.server import Server
from pgassay.lab.site import Caches

_RELATIONS = (
    "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'i', 'm', 't') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
    " ORDER BY c.relpages"
)


def settle(server: Server, options: LoadOptions, data_directory: Path, caches: Caches, *, limited: bool = False) -> str:
    """Bring the server to its start state; returns how the cache state came about, for the record.

    Of a server with `limited` memory only its own processes read the files: pages that we read would be charged to us.
    """
    how = _cache_state(options.cache, server, data_directory, caches, limited=limited)
    if options.vacuum:
        server.execute("VACUUM")
    server.execute("CHECKPOINT")
    return how


def _cache_state(wanted: str, server: Server, data_directory: Path, caches: Caches, *, limited: bool) -> str:
    if wanted == "cold":
        return f"cold ({caches.make_cold(data_directory)})"
    if wanted == "warm" and not limited:
        return f"warm ({caches.make_warm(data_directory)})"

    def otherwise(reason: str) -> str:
        if limited:
            return f"cold (the server's memory is limited, and it cannot read its files itself: {reason})"
        return f"page cache only ({caches.make_warm(data_directory)}; {reason})"

    if not server.query("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'"):
        return otherwise("pg_prewarm is not installed")
    mode = "read" if wanted == "warm" else "buffer"
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        for (relation,) in server.query(_RELATIONS):
            server.query("SELECT pg_prewarm(%s::regclass, %s)", (relation, mode))
    except QueryError as error:
        return otherwise(f"pg_prewarm failed: {error.message}")
    return "warm (read by the server)" if wanted == "warm" else "prewarmed (pg_prewarm)"
