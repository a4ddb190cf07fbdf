"""All that differs between PostgreSQL 13 … 19 as far as this room is concerned, in one place.

Sources: the release notes' "Migration" sections and the manual of each version. What the statistics views hold differs
too; the probe room keeps that in a table of its own.
"""

import re

from pgassay.bench.places import Version

OLDEST = 13
TOLERATED = 19
"""Not released when this was written: used when named, without promise. Those in between are supported."""

CHECKSUMS_BY_DEFAULT = 18
"""initdb turns data checksums on, and knows --no-data-checksums."""

NO_INSTRUCTIONS = 14
"""initdb knows --no-instructions."""

HUGE_PAGES_STATUS = 17
"""SHOW huge_pages_status exists; before it, the postmaster's memory map tells."""

AUTOMATIC_SETTINGS = {
    "wal_buffers": "-1",
    "commit_timestamp_buffers": "0",
    "subtransaction_buffers": "0",
    "transaction_buffers": "0",
}
"""Settings whose special value the server replaces by what it computed, with the source `override`."""

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+)|(?:devel|alpha|beta|rc)\d*)?")


def parse_version(text: str) -> Version | None:
    """`postgres (PostgreSQL) 15.18 (Debian …)` as a version; None for anything else (9.6 has major 9)."""
    found = _VERSION.search(text)
    return Version(int(found[1]), int(found[2] or 0), text.strip()) if found else None


def supported(version: Version) -> bool:
    """Do we know this major version?"""
    return OLDEST <= version.major <= TOLERATED
