"""What the server under load had done when its power was cut: checkpoints, recycled WAL, writes to each kind of file.

It is asked just before each cut and just after it, by functions that every version has (manual, "System Administration
Functions"), so that neither its settings nor its log matter. Whatever is not certain counts as not met: a checkpoint
that no look saw in pg_control, and a second write within the same second.
"""

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgassay.analysis.crash_coverage import Met
from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server

_CHANGED = "(SELECT extract(epoch FROM max((pg_stat_file({path}, true)).modification))::bigint{of})"
_MODIFIED: Mapping[str, str] = {
    "heap": _CHANGED.format(path="path", of=" FROM relation WHERE relkind IN ('r', 't', 'm')"),
    "index": _CHANGED.format(path="path", of=" FROM relation WHERE relkind = 'i'"),
    "pg_xact": _CHANGED.format(path="'pg_xact/' || name", of=" FROM pg_ls_dir('pg_xact') name"),
    "control": _CHANGED.format(path="'global/pg_control'", of=""),
    "wal": _CHANGED.format(path="'pg_wal/' || name", of=" FROM pg_ls_waldir()"),
    "maps": _CHANGED.format(path="path || fork", of=" FROM relation, unnest(ARRAY['_vm', '_fsm']) fork"),
}
"""Of each of `crash_coverage.KINDS` when one of its files was last written to, in whole seconds."""
_PAGE_HEADER_BYTES, _PAGE_ADDRESS = 16, slice(8, 16)
"""Of a page of WAL: its address is the third thing in it (XLogPageHeaderData)."""
_LOOK = f"""
WITH wal AS (SELECT pg_current_wal_insert_lsn() AS at,
                    pg_size_bytes(current_setting('wal_segment_size')) AS segment,
                    current_setting('wal_block_size')::bigint AS page),
     relation AS (SELECT relkind, pg_relation_filepath(oid) AS path FROM pg_class
                  WHERE oid >= 16384 AND relkind IN ('r', 't', 'm', 'i') AND relpersistence = 'p')
SELECT (redo_lsn - '0/0')::bigint, (checkpoint_lsn - '0/0')::bigint, (at - '0/0')::bigint, segment,
       pg_read_binary_file('pg_wal/' || pg_walfile_name(at), segment - page, {_PAGE_HEADER_BYTES}, true),
       {", ".join(_MODIFIED.values())}
FROM pg_control_checkpoint(), wal
"""


@dataclass(frozen=True)
class Look:
    """One look at the server; LSNs as numbers. `redo` and `record` are of its last whole checkpoint: where recovery
    begins, and the completion record. WAL is inserted `at`. `modified` in whole seconds, None without such a file."""

    redo: int
    record: int
    at: int
    recycled_wal: bool
    modified: Mapping[str, int | None]


class Surroundings:
    """Looks at one server, from its cuts' threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._looks: list[Look] = []

    def look(self) -> Look | None:
        """What it has done by now; None where it could not be asked, because it died."""
        with self._lock:
            try:
                ((redo, record, at, segment, header, *modified),) = self._server.query(_LOOK)
            except QueryError:
                return None
            found = Look(
                redo, record, at, _held_older(header, at, segment), dict(zip(_MODIFIED, modified, strict=True))
            )
            self._looks.append(found)
            return found

    def redo_before(self, look: Look) -> int | None:
        """Where the whole checkpoint before the last one began; None where none was whole since the first look.

        Where only one was, its place is taken by the first look's.
        """
        with self._lock:
            redos = sorted({each.redo for each in self._looks if each.redo <= look.redo})
        return redos[-2] if len(redos) > 1 else None

    def met(self, around: Sequence[tuple[Look | None, Look | None]]) -> Sequence[Met | None]:
        """What each cut met, by the looks before and after it; call it once the last look was made."""
        with self._lock:
            return met_by(self._looks, around)


def _held_older(header: bytes | None, at: int, segment: int) -> bool:
    """Was the segment used for older WAL? Then its last page, which is written last, still has that WAL's address."""
    address = int.from_bytes((header or b"")[_PAGE_ADDRESS], sys.byteorder)
    return 0 < address < at - at % segment


def met_by(looks: Sequence[Look], around: Sequence[tuple[Look | None, Look | None]]) -> Sequence[Met | None]:
    """What each cut met. `looks` are all that were made, in their order; the load began after the first one."""
    if not looks:
        return [None for _ in around]
    first = looks[0]
    whole = {(look.redo, look.record) for look in looks if look.record > first.record}
    found: dict[int, Met] = {}
    known = [(before, after, place) for place, (before, after) in enumerate(around) if before and after]
    known.sort(key=lambda each: looks.index(each[0]))
    for earlier, (before, after, place) in pairwise([(first, first, -1), *known]):
        found[place] = Met(
            checkpoints=sum(record <= before.record for _, record in whole),
            in_checkpoint=any(redo <= before.at and after.at <= record for redo, record in whole),
            recycled_wal=before.recycled_wal,
            written=tuple(
                kind for kind, when in before.modified.items() if when is not None and when != earlier[0].modified[kind]
            ),
        )
    return [found.get(place) for place in range(len(around))]
