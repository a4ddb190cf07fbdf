"""All that differs between PostgreSQL 13 … 19, in one place: since which version something is there.

Sources: the release notes' "Migration" sections and the manual of each version.
"""

import re

from pgassay.interfaces.places import Version

OLDEST, NEWEST = 13, 19
"""19 was tried as it was in May 2026, before its release."""

CHECKSUMS_BY_DEFAULT = 18
"""initdb turns data checksums on, and knows --no-data-checksums."""

NO_INSTRUCTIONS = 14
"""initdb knows --no-instructions."""

HUGE_PAGES_NEEDED = 15
"""`postgres -C shared_memory_size_in_huge_pages` says how many huge pages a server needs."""

HUGE_PAGES_STATUS = 17
"""SHOW huge_pages_status exists; before it, the postmaster's memory map shows it."""

ALL_FROZEN = 18
"""pg_class has relallfrozen, which moves the columns behind it by four bytes."""

ICU_BY_DEFAULT = 16
"""configure wants ICU unless it is switched off."""

PARSER_NOT_IN_TARBALL = 17
"""A source needs bison and flex; older tarballs contain what these generate."""

LZ4, ZSTD, LIBURING = 14, 15, 18
"""configure knows --with-lz4, --with-zstd, --with-liburing."""

STAT_WAL = 14
"""pg_stat_wal exists."""

STATEMENTS_TOPLEVEL = 14
"""pg_stat_statements says whether a statement ran within another one."""

FLUSH_ON_REQUEST = 15
"""Statistics are in shared memory: pg_stat_force_next_flush; before, a collector gets them up to half a second late."""

PG_CHECKPOINT, PARAMETER_PRIVILEGES = 15, 15
"""The role pg_checkpoint, and the rights to SET a setting and to ALTER SYSTEM for it that may be granted."""

CREATE_BY_FILES = 15
"""CREATE DATABASE copies through the WAL unless it is asked for STRATEGY = FILE_COPY; before, files are copied."""

COUNTS_SESSIONS = 14
"""pg_stat_database counts the sessions that began."""

STAT_IO = 16
"""pg_stat_io exists."""

NEWPAGE_UPDATES = 16
"""Updates whose row moved to another page are counted."""

STAT_CHECKPOINTER = 17
"""pg_stat_checkpointer exists; before it, its columns are in pg_stat_bgwriter."""

CHECKPOINTS_DONE = 18
"""pg_stat_checkpointer counts completed checkpoints, apart from those skipped for want of work."""

STAT_IO_BYTES = 18
"""pg_stat_io counts bytes and the WAL; pg_stat_wal no longer counts writes and syncs."""

AUTOMATIC_SETTINGS = {
    "wal_buffers": "-1",
    "commit_timestamp_buffers": "0",
    "subtransaction_buffers": "0",
    "transaction_buffers": "0",
}
"""Settings whose special value the server replaces by what it computed, with the source `override`."""

SETTINGS_OF = {
    "io_method": "18 and later",
    "io_workers": "18; later ones have io_min_workers and io_max_workers",
    "io_min_workers": "19 and later; 18 has io_workers",
    "io_max_workers": "19 and later; 18 has io_workers",
    "io_worker_idle_timeout": "19 and later",
    "io_worker_launch_interval": "19 and later",
}
"""Which versions have a setting, for the hint where one has not; `--describe-config` says what a server knows."""

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+)|(?:devel|alpha|beta|rc)\d*)?")


def parse_version(text: str) -> Version | None:
    """`postgres (PostgreSQL) 15.18 (Debian …)` as a version; None for anything else (9.6 has major 9)."""
    found = _VERSION.search(text)
    return Version(int(found[1]), int(found[2] or 0), text.strip()) if found else None


def supported(version: Version) -> bool:
    return OLDEST <= version.major <= NEWEST
