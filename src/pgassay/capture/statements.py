"""What each statement did between two snapshots of pg_stat_statements; pure.

Counters only grow, until an entry is evicted or reset: one that is smaller than before was reset, so all that it shows
is of the window (manual, "pg_stat_statements"). Our own reads, and what a pg_dump sent in the window, are none of the
application's.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pgassay.capture.format import Statement
from pgassay.capture.reads import MARK

COUNTERS = ("calls", "exec_ms", "rows", "blocks_hit", "blocks_read", "temp_blocks", "wal_bytes", "plans", "wal_records")
HIDDEN = "<insufficient privilege>"
"""What the server shows of another role's text."""

_DUMP_BEGINS = "SELECT pg_catalog.set_config("
_DUMPS = re.compile(
    r"(COPY\b.*\bTO stdout|LOCK TABLE\b.*\bIN ACCESS SHARE MODE|SET TRANSACTION ISOLATION LEVEL .*READ ONLY"
    r"|(PREPARE|EXECUTE) (dump|get)[A-Z]\w+)",
    re.DOTALL,
)
_READ = re.compile(r"\b(?:FROM|JOIN)\s+(?:ONLY\s+)?([\w\"]+)", re.IGNORECASE)


def _of_pg_dump(text: str) -> bool:
    """Is it a statement that pg_dump sends: a copy of a table, a lock, a look into the catalogue alone?"""
    read = _READ.findall(text)
    catalogue = text.startswith(("SELECT", "WITH")) and bool(read) and all(each.startswith("pg_") for each in read)
    return catalogue or text.startswith(_DUMP_BEGINS) or _DUMPS.match(text) is not None


def between(before: Iterable[tuple[Any, ...]], after: Iterable[tuple[Any, ...]]) -> tuple[Statement, ...]:
    """The statements with calls in the window, the longest in all first; rows as `reads.statements` gives them."""
    earlier = {row[0]: row[2:] for row in before}
    found = []
    for query_id, text, *counters in after:
        text = text or ""  # NULL where the file of texts was lost
        if MARK in text:
            continue
        first = earlier.get(query_id, (0,) * len(counters))
        if counters[0] < first[0]:
            first = (0,) * len(counters)
        calls, exec_ms, rows, hit, read, temp, wal, plans, records = (
            max(0, now - then) for now, then in zip(counters, first, strict=True)
        )
        if calls:
            found.append(
                Statement(int(query_id), text, calls, exec_ms, rows, hit, read, temp, int(wal), plans, records)
            )
    if any(each.text.startswith(_DUMP_BEGINS) for each in found):  # a dump of another capture, or a backup
        found = [each for each in found if not _of_pg_dump(each.text)]
    return tuple(sorted(found, key=lambda each: (-each.exec_ms, each.query_id)))


def merged(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements of one text as one, the longest in all first.

    They have several entries where drivers send parameters of different types, or roles differ in their search_path.
    """
    found: dict[str, Statement] = {}
    for each in statements:
        known = found.get(each.text) if each.text else None
        found[each.text or str(each.query_id)] = plus(known, each) if known else each
    return tuple(sorted(found.values(), key=lambda each: (-each.exec_ms, each.query_id)))


def plus(one: Statement, other: Statement) -> Statement:
    """The counters of both, under the identifier and text of the first."""
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in COUNTERS})
