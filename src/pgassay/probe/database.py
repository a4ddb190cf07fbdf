"""pg_stat_database of the loaded database: transactions, blocks, tuples, temporary files, deadlocks.

See the PostgreSQL manual, "The Cumulative Statistics System"; all of these columns are the same in 13 to 18.
"""

from pgassay.probe.views import View, counter

SOURCE = "database"

_COUNTERS = (
    ("xact_commit", "count"),
    ("xact_rollback", "count"),
    ("blks_read", "blocks"),
    ("blks_hit", "blocks"),
    ("tup_returned", "rows"),
    ("tup_fetched", "rows"),
    ("tup_inserted", "rows"),
    ("tup_updated", "rows"),
    ("tup_deleted", "rows"),
    ("temp_files", "count"),
    ("temp_bytes", "bytes"),
    ("deadlocks", "count"),
)


def view(version: int) -> View:
    """One row for the database that we are connected to, in every version."""
    columns = tuple(counter(name, unit, name) for name, unit in _COUNTERS)
    return View(SOURCE, columns, "FROM pg_stat_database WHERE datname = current_database()")
