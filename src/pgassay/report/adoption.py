"""How to put a winner into practice, and what that risks; from the PostgreSQL manual, "Storage Parameters" and
"Setting Parameters".

The text follows from the factor's name alone, so that a record from another machine reads the same.
"""

from collections.abc import Sequence

from pgassay.report import build_adoption
from pgassay.study.levels import Combination

_RESTART = (
    "shared_buffers", "huge_pages", "huge_page_size", "max_connections", "wal_buffers", "wal_level", "io_method",
    "io_workers_max", "shared_preload_libraries", "max_worker_processes", "autovacuum_max_workers", "max_wal_senders",
    "superuser_reserved_connections", "max_prepared_transactions", "max_locks_per_transaction",
    "track_activity_query_size",
    "debug_io_direct", "shared_memory_type", "autovacuum_freeze_max_age", "min_dynamic_shared_memory",
)  # fmt: skip
_UNSAFE = {
    "fsync": "not crash-safe: a power loss can destroy the whole cluster",
    "full_page_writes": "not crash-safe unless the drive and file system never tear a page",
    "synchronous_commit": "the last transactions before a crash may be lost, though nothing is damaged",
}


def advice(treatment: Combination) -> Sequence[str]:
    """A step for each level of the treatment, with its risk."""
    found: list[str] = []
    for name, level in treatment.levels.items():
        found += build_adoption.steps(name, level.typed) or [_step(name, level.typed)]
    return list(dict.fromkeys(found))


def _step(name: str, value: str) -> str:
    space, _, rest = name.partition(".")
    if name == "table.fillfactor" or (space == "table" and rest.endswith(".fillfactor")):
        table = rest.removesuffix(".fillfactor") if rest != "fillfactor" else "TABLE"
        return (
            f"ALTER TABLE {table} SET (fillfactor = {value}); it holds for new pages only: VACUUM FULL {table} rewrites"
            " the old ones under an ACCESS EXCLUSIVE lock and needs room for a second copy (pg_repack does it online)"
        )
    if name == "index.fillfactor":
        return (
            f"ALTER INDEX INDEX_NAME SET (fillfactor = {value}); then REINDEX INDEX CONCURRENTLY INDEX_NAME, which"
            " needs room for a second copy"
        )
    if space == "server":
        return _setting(rest, value)
    if space in ("postgres", "build", "init"):
        return f"{name} = {value}: needs a cluster of its own: initdb, then pg_dump and pg_restore (or pg_upgrade)"
    if space == "drive":
        return f"{name} = {value}: move the cluster (stop, copy, start) or restore a base backup there"
    if space == "load":
        return f"{name} = {value}: a property of the load; change it in the application or its pool"
    return f"{name} = {value}: as those who ran it did it"


def _setting(name: str, value: str) -> str:
    how = (
        "restart the server" if name in _RESTART else "reload (SELECT pg_reload_conf()); pg_settings.context tells more"
    )
    risk = f"; risk: {_UNSAFE[name]}" if name in _UNSAFE and value in ("off", "local", "false", "0", "no") else ""
    return f"ALTER SYSTEM SET {name} = '{value}'; {how}{risk}"
