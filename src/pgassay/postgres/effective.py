"""What a running server really has: one setting, all that differ from the built-in defaults, huge pages.

Settings counted in blocks are always shown, because their defaults mean something else under another page size: those
with a unit of a number of kB in pg_settings (guc.c, get_config_unit_name), newer ones of later versions included.
"""

import re
from pathlib import Path

from pgassay.bench import versions
from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server
from pgassay.postgres import settings
from pgassay.postgres.settings import Setting, same

ALWAYS_SHOWN = (
    "block_size", "wal_block_size", "wal_segment_size", "data_checksums", "server_version", "shared_buffers",
    "wal_buffers", "effective_cache_size", "temp_buffers", "checkpoint_flush_after", "bgwriter_flush_after",
    "backend_flush_after", "wal_writer_flush_after", "bgwriter_lru_maxpages", "vacuum_cost_limit", "fsync",
    "full_page_writes", "synchronous_commit", "wal_compression", "io_method", "huge_pages", "huge_pages_status",
)  # fmt: skip

_IN_BLOCKS = "^[0-9]+kB$"
"""The unit of what is counted in pages or WAL blocks: 8kB, 2kB; never kB alone."""

_OF_THE_PLACE = (
    "DateStyle", "TimeZone", "log_timezone", "default_text_search_config", "dynamic_shared_memory_type", "lc_messages",
    "lc_monetary", "lc_numeric", "lc_time",
)  # fmt: skip
"""What initdb writes into every postgresql.conf from where it runs: no part of an experiment."""


def setting(server: Server, name: str) -> Setting | None:
    """The row of pg_settings, or None if the server has no such setting."""
    rows = server.query(
        "SELECT name, setting, unit, vartype, source, context FROM pg_settings WHERE lower(name) = lower(%s)", [name]
    )
    return Setting(*rows[0]) if rows else None


def holds(server: Server, found: Setting, typed: str) -> bool:
    """Is `typed` in force? By its meaning; failing that (an alias, a list) by the file that the server took it from."""
    if same(typed, found):
        return True
    if versions.AUTOMATIC_SETTINGS.get(found.name) == typed.strip():
        return True  # It asks the server to choose, and the server has chosen.
    rows = server.query(
        "SELECT f.setting FROM pg_file_settings f JOIN pg_settings s USING (name, sourcefile, sourceline)"
        " WHERE lower(name) = lower(%s) AND f.applied AND f.error IS NULL AND NOT s.pending_restart"
        " AND sourcefile LIKE %s AND s.vartype IN ('enum', 'string')",
        [found.name, f"%/{settings.FILE}"],
    )
    return rows == [(typed,)]


def shown(server: Server) -> dict[str, str]:
    """Every setting that differs from the built-in default, and those of `ALWAYS_SHOWN`, as SHOW prints them."""
    rows = server.query(
        "SELECT name, current_setting(name) FROM pg_settings"
        " WHERE (source NOT IN ('default', 'client', 'session') AND context <> 'internal'"
        " AND name !~ '^(transaction_|pgassay\\.)') OR name = ANY(%s) OR unit ~ %s"
        " ORDER BY name",
        [list(ALWAYS_SHOWN), _IN_BLOCKS],
    )
    found = {name: value for name, value in rows if name not in (*settings.PRIVATE, *_OF_THE_PLACE)}
    status = huge_pages_status(server)
    return found if status is None else found | {"huge_pages_status": status}


def huge_pages_status(server: Server) -> str | None:
    """`on` or `off`: as the server says from 17 on, else by the postmaster's memory map; None if it is closed."""
    if server.version.major >= versions.HUGE_PAGES_STATUS:
        try:
            status = str(server.query("SHOW huge_pages_status")[0][0])
        except QueryError:
            return None
        return status if status in ("on", "off") else None
    try:
        return status_of_map(Path(f"/proc/{server.postmaster_pid}/smaps").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def status_of_map(smaps: str) -> str:
    """Does any shared mapping of /proc/pid/smaps lie in pages larger than the base page?"""
    shared = False
    for line in smaps.split("\n"):
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            shared = line.split(" ", 2)[1].endswith("s")
        elif shared and line.startswith("KernelPageSize:") and int(line.split()[1]) >= 1024:
            return "on"
    return "off"


def adoption(server: Server, name: str) -> str:
    """What it takes to put a setting into practice: `restart`, or `reload` (new sessions at the latest)."""
    found = setting(server, name)
    return "restart" if found is not None and found.context == "postmaster" else "reload"
