"""From a started server to the state a window starts from: cache state, VACUUM if asked, CHECKPOINT; in that order.

CHECKPOINT comes last because a VACUUM after it would start the window dirty. `prewarmed` uses pg_prewarm where the
extension exists; elsewhere the page cache alone is warmed, and the record says so.
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server
from pgassay.lab.site import Caches

_RELATIONS = (
    "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'i', 'm', 't') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
    " ORDER BY c.relpages"
)


def settle(server: Server, options: Mapping[str, str], data_directory: Path, caches: Caches) -> str:
    """Bring the server to its start state; returns how the cache state came about, for the record."""
    how = _cache_state(options.get("cache", "prewarmed"), server, data_directory, caches)
    if options.get("vacuum", "off") == "on":
        server.execute("VACUUM")
    server.execute("CHECKPOINT")
    return how


def _cache_state(wanted: str, server: Server, data_directory: Path, caches: Caches) -> str:
    if wanted == "cold":
        return f"cold ({caches.make_cold(data_directory)})"
    page_cache = caches.make_warm(data_directory)
    if wanted == "warm":
        return f"warm ({page_cache})"
    available = server.query("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'")
    if not available:
        return f"page cache only ({page_cache}; pg_prewarm is not installed)"
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        for (relation,) in server.query(_RELATIONS):
            server.query("SELECT pg_prewarm(%s::regclass)", (relation,))
    except QueryError as error:
        return f"page cache only ({page_cache}; pg_prewarm failed: {error.message})"
    return f"prewarmed (pg_prewarm; {page_cache})"
