"""What PostgreSQL counts, one probe for each view, and what the load's backends wait for.

See the manual, "The Cumulative Statistics System". What differs between versions goes by `interfaces.versions`. Each
probe says which costs of a transaction its counters give; docs/report.md says how each is computed. A cost on the ratio
scale may still be 0 for a load that only reads.

pg_stat_activity is looked at five times a second, and looks are added up by kind of wait. A backend seen *active*
without a wait event has or wants a CPU. One that waits for its client between or within transactions means that the
client is behind. See the manual, "Wait Event Tables"; the WAL's events changed their capitals in 17. A look costs the
server about as much as one small query.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from pgassay.interfaces import versions
from pgassay.interfaces.probe import (
    Cost,
    Differences,
    Meter,
    Probe,
    Reader,
    Reading,
    Target,
    per_transaction,
    product,
    quotient,
    share,
    total,
    value_at_end,
)
from pgassay.interfaces.running import Clock
from pgassay.probe.statistics import FIRST_USER_OID, Column, Session, View, ViewProbe, counter, gauge
from pgassay.study.responses import Better, Response, Scale

_BLOCK_BYTES = "sizes.block_bytes"
_HEAP_READ, _INDEX_READ = "tables.heap_blks_read", "tables.idx_blks_read"
_HEAP_HIT, _INDEX_HIT = "tables.heap_blks_hit", "tables.idx_blks_hit"


def _counted(name: str, otherwise: Callable[[Differences], float | None], counters: Differences) -> float | None:
    """This counter; in versions that do not have it what stands for it."""
    counted = counters.get(name)
    return otherwise(counters) if counted is None else counted


class Database(ViewProbe):
    """pg_stat_database of the database that we are connected to; all of its columns are the same in 13 to 19."""

    name = "database"
    summary = "transactions, blocks, rows, temporary files and deadlocks of the loaded database"
    costs = (per_transaction("temporary_bytes", "temporary files", "bytes", "database.temp_bytes"),)

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

    def view(self, version: int) -> View:
        columns = tuple(counter(name, unit, name) for name, unit in self._COUNTERS)
        return View(self.name, columns, "FROM pg_stat_database WHERE datname = current_database()")


class Tables(ViewProbe):
    """All user tables: rows inserted, updated (HOT, to a new page), deleted; blocks of heap and indexes.

    The same numbers as the sums over pg_stat_user_tables and pg_statio_user_tables, by the functions under those views
    and one scan of pg_class, TOAST tables and their indexes included.
    """

    name = "tables"
    summary = "rows written and blocks read of all user tables, their TOAST tables and indexes"
    costs = (
        per_transaction("heap_blocks_read", "heap blocks read from outside the cache", "count", _HEAP_READ),
        per_transaction("heap_blocks_hit", "heap blocks found in the cache", "count", _HEAP_HIT, Scale.RATIO),
        per_transaction("index_blocks_read", "index blocks read from outside the cache", "count", _INDEX_READ),
        per_transaction("index_blocks_hit", "index blocks found in the cache", "count", _INDEX_HIT, Scale.RATIO),
        per_transaction(
            "page_read_bytes",
            "pages read from outside the cache, in bytes",
            "bytes",
            lambda counters: product(total(counters, (_HEAP_READ, _INDEX_READ)), counters.get(_BLOCK_BYTES)),
        ),
        share(
            "hot_share",
            "share of updates that were HOT",
            ["tables.n_tup_hot_upd"],
            ["tables.n_tup_upd"],
            Better.HIGHER,
            cost=True,
        ),
        share(
            "newpage_share",
            "share of updates whose row moved to another page",
            ["tables.n_tup_newpage_upd"],
            ["tables.n_tup_upd"],
            Better.LOWER,
            cost=True,
        ),
        share(
            "buffer_hit_share",
            "share of blocks found in shared_buffers",
            [_HEAP_HIT, _INDEX_HIT],
            [_HEAP_HIT, _INDEX_HIT, _HEAP_READ, _INDEX_READ],
            Better.HIGHER,
            cost=True,
        ),
    )

    def view(self, version: int) -> View:
        heap, index = "c.relkind IN ('r', 'm', 't')", "c.relkind = 'i'"
        read = "pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid)"
        hit = "pg_stat_get_blocks_hit(c.oid)"
        newpage = "pg_stat_get_tuples_newpage_updated(c.oid)" if version >= versions.NEWPAGE_UPDATES else None
        columns = (
            counter("n_tup_ins", "rows", _sum("pg_stat_get_tuples_inserted(c.oid)", heap)),
            counter("n_tup_upd", "rows", _sum("pg_stat_get_tuples_updated(c.oid)", heap)),
            counter("n_tup_del", "rows", _sum("pg_stat_get_tuples_deleted(c.oid)", heap)),
            counter("n_tup_hot_upd", "rows", _sum("pg_stat_get_tuples_hot_updated(c.oid)", heap)),
            counter("n_tup_newpage_upd", "rows", _sum(newpage, heap)),
            counter("heap_blks_read", "blocks", _sum(read, heap)),
            counter("heap_blks_hit", "blocks", _sum(hit, heap)),
            counter("idx_blks_read", "blocks", _sum(read, index)),
            counter("idx_blks_hit", "blocks", _sum(hit, index)),
        )
        return View(self.name, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID}")


class RowVersions(ViewProbe):
    """Bytes of row versions: rows inserted and updated, times the mean width of a row of their table.

    The width is the planner's (ANALYZE's mean width of each column and its share of NULLs; 32 bytes for a column of
    variable length that was never analysed, as in `get_typavgwidth`), with the line pointer and the header of a row on
    a page. An estimate; see the manual, "Database Page Layout".
    """

    name = "tuples"
    summary = "bytes of row versions written, by the planner's widths (an estimate)"
    per_second = False
    costs = (
        per_transaction(
            "tuple_bytes", "row versions written, by the planner's widths", "bytes", "tuples.written_bytes"
        ),
    )

    ROW_OVERHEAD_BYTES = 28
    """A line pointer of 4 bytes and a header of 23, aligned to 24."""

    def view(self, version: int) -> View:
        written = "pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)"
        columns_bytes = (
            "SELECT sum(coalesce(s.stawidth * (1 - s.stanullfrac), CASE WHEN a.attlen > 0 THEN a.attlen ELSE 32 END))"
            " FROM pg_attribute a LEFT JOIN pg_statistic s"
            " ON s.starelid = a.attrelid AND s.staattnum = a.attnum AND NOT s.stainherit"
            " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        )
        width = f"{self.ROW_OVERHEAD_BYTES} + coalesce(({columns_bytes}), 0)"
        columns = (counter("written_bytes", "bytes", f"coalesce(sum(({written}) * ({width})), 0)"),)
        return View(self.name, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm')")


class Wal(ViewProbe):
    """Records, full-page images and bytes from pg_stat_wal, and always bytes by position.

    `lsn_bytes` counts page headers and switched segments too, so it is a little more than `wal_bytes`. Full-page images
    are counted: no view shows their bytes, since the hole in a page is left out and `wal_compression` shrinks the rest.
    """

    name = "wal"
    summary = "WAL records, full-page images, bytes, writes and syncs"
    costs = (
        # 13 has no pg_stat_wal, and counts by position.
        per_transaction(
            "wal_bytes",
            "WAL",
            "bytes",
            partial(_counted, "wal.wal_bytes", lambda counters: counters.get("wal.lsn_bytes")),
            Scale.RATIO,
        ),
        per_transaction("wal_records", "WAL records", "count", "wal.wal_records", Scale.RATIO),
        per_transaction("full_page_images", "full-page images", "count", "wal.wal_fpi"),
    )

    def view(self, version: int) -> View:
        has_view = version >= versions.STAT_WAL
        has_writes = has_view and version < versions.STAT_IO_BYTES
        columns = (
            counter("wal_records", "count", "wal_records" if has_view else None),
            counter("wal_fpi", "count", "wal_fpi" if has_view else None),
            counter("wal_bytes", "bytes", "wal_bytes" if has_view else None),
            counter("wal_buffers_full", "count", "wal_buffers_full" if has_view else None),
            counter("wal_write", "count", "wal_write" if has_writes else None),
            counter("wal_sync", "count", "wal_sync" if has_writes else None),
            counter("lsn_bytes", "bytes", "pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
        )
        return View(self.name, columns, "FROM pg_stat_wal" if has_view else "")


class Checkpoints(ViewProbe):
    """Checkpoints and the background writer: pg_stat_bgwriter, and also pg_stat_checkpointer from 17 on.

    In 17 and later `checkpoints_timed` also counts timed checkpoints that were skipped because nothing was written; 18
    has the number completed. `buffers_backend` is gone from 17 on (pg_stat_io has it by kind of process).
    """

    name = "checkpoints"
    summary = "checkpoints and the buffers that the checkpointer, the background writer and backends wrote"
    costs = (
        Cost(
            Response("checkpoints", "checkpoints begun in the window", "count", Better.NEITHER, Scale.DIFFERENCE),
            lambda counters, _: total(counters, ("checkpoints.checkpoints_timed", "checkpoints.checkpoints_requested")),
        ),
    )

    def view(self, version: int) -> View:
        new = version >= versions.STAT_CHECKPOINTER
        done = "k.num_done" if version >= versions.CHECKPOINTS_DONE else None
        columns = (
            counter("checkpoints_timed", "count", "k.num_timed" if new else "b.checkpoints_timed"),
            counter("checkpoints_requested", "count", "k.num_requested" if new else "b.checkpoints_req"),
            counter("checkpoints_done", "count", done),
            counter("checkpoint_write_ms", "ms", "k.write_time" if new else "b.checkpoint_write_time"),
            counter("checkpoint_sync_ms", "ms", "k.sync_time" if new else "b.checkpoint_sync_time"),
            counter("buffers_checkpoint", "blocks", "k.buffers_written" if new else "b.buffers_checkpoint"),
            counter("buffers_clean", "blocks", "b.buffers_clean"),
            counter("maxwritten_clean", "count", "b.maxwritten_clean"),
            counter("buffers_backend", "blocks", None if new else "b.buffers_backend"),
            counter("buffers_alloc", "blocks", "b.buffers_alloc"),
        )
        origin = "FROM pg_stat_bgwriter b" + (" CROSS JOIN pg_stat_checkpointer k" if new else "")
        return View(self.name, columns, origin)


def _buffers_written(counters: Differences) -> float | None:
    """By pg_stat_bgwriter, which before 17 has all three kinds of writers."""
    kinds = ("buffers_checkpoint", "buffers_clean", "buffers_backend")
    return total(counters, [f"checkpoints.{kind}" for kind in kinds])


class Io(ViewProbe):
    """pg_stat_io, summed by object and context: operations, bytes, fsyncs of relations and (18 on) of the WAL.

    Bytes are operations times op_bytes in 16 and 17, columns of their own from 18 on. NULL rows mean that a process
    never does such a thing, so they count as nothing.
    """

    name = "io"
    summary = "reads, writes, extends and fsyncs by object and context (PostgreSQL 16 on)"
    costs = (
        # Out of shared_buffers. A page dirtied again before it is written out counts once.
        per_transaction(
            "pages_written",
            "pages of tables and indexes written out",
            "count",
            partial(_counted, "io.relation_writes", _buffers_written),
        ),
        per_transaction(
            "relation_written_bytes",
            "tables and indexes written by the server",
            "bytes",
            partial(
                _counted,
                "io.relation_write_bytes",
                lambda counters: product(_buffers_written(counters), counters.get(_BLOCK_BYTES)),
            ),
        ),
    )

    _RELATION = "object <> 'wal'"
    _BACKEND = "object <> 'wal' AND backend_type = 'client backend'"
    _VACUUM = "object <> 'wal' AND context = 'vacuum'"
    _BULK = "object <> 'wal' AND context IN ('bulkread', 'bulkwrite')"
    _WAL = "object = 'wal'"

    def view(self, version: int) -> View:
        there, wal = version >= versions.STAT_IO, version >= versions.STAT_IO_BYTES
        columns = (
            self._operations("relation_reads", "reads", self._RELATION, there),
            self._bytes("relation_read_bytes", "read", self._RELATION, version),
            self._operations("relation_writes", "writes", self._RELATION, there),
            self._bytes("relation_write_bytes", "write", self._RELATION, version),
            self._operations("relation_extends", "extends", self._RELATION, there),
            self._bytes("relation_extend_bytes", "extend", self._RELATION, version),
            self._operations("relation_fsyncs", "fsyncs", self._RELATION, there),
            self._operations("relation_evictions", "evictions", self._RELATION, there),
            self._operations("client_backend_writes", "writes", self._BACKEND, there),
            self._operations("vacuum_writes", "writes", self._VACUUM, there),
            self._operations("bulk_reads", "reads", self._BULK, there),
            self._operations("wal_writes", "writes", self._WAL, wal),
            self._bytes("wal_write_bytes", "write", self._WAL, version if wal else 0),
            self._operations("wal_fsyncs", "fsyncs", self._WAL, wal),
        )
        return View(self.name, columns, "FROM pg_stat_io" if there else "")

    def _operations(self, name: str, column: str, rows: str, there: bool) -> Column:
        return counter(name, "count", _sum(column if there else None, rows))

    def _bytes(self, name: str, operation: str, rows: str, version: int) -> Column:
        if version < versions.STAT_IO:
            return counter(name, "bytes", None)
        each = f"{operation}_bytes" if version >= versions.STAT_IO_BYTES else f"{operation}s * op_bytes"
        return counter(name, "bytes", _sum(each, rows))


class Sizes(ViewProbe):
    """Sizes of the database, its user tables (with TOAST and maps), their indexes, and the WAL directory.

    They stat every file. pg_ls_waldir needs a superuser, which we are on a private server. See the manual, "Database
    Object Size Functions".
    """

    name = "sizes"
    summary = "sizes of the database, its tables and indexes, and pg_wal"
    per_second = False
    costs = (
        value_at_end("database_bytes", "size of the database at the end", "bytes", "sizes.database_bytes"),
        value_at_end("table_bytes", "size of the tables at the end, with TOAST and maps", "bytes", "sizes.table_bytes"),
        value_at_end("index_bytes", "size of the indexes at the end", "bytes", "sizes.index_bytes"),
        value_at_end("wal_directory_bytes", "size of pg_wal at the end", "bytes", "sizes.wal_directory_bytes"),
    )

    def view(self, version: int) -> View:
        columns = (
            gauge("database_bytes", "pg_database_size(current_database())"),
            gauge("table_bytes", "coalesce(sum(pg_table_size(c.oid)), 0)"),
            gauge("index_bytes", "coalesce(sum(pg_indexes_size(c.oid)), 0)"),
            gauge("block_bytes", "current_setting('block_size')"),
            gauge("wal_directory_bytes", "(SELECT coalesce(sum(size), 0) FROM pg_ls_waldir())"),
        )
        return View(self.name, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm')")


def _sum(expression: str | None, rows: str) -> str | None:
    """The sum of an expression over those rows; None where this version has no such number."""
    return None if expression is None else f"coalesce(sum({expression}) FILTER (WHERE {rows}), 0)"


INTERVAL_S = 0.2
JOIN_S = 10.0


@dataclass(frozen=True)
class Kind:
    """A kind of wait: its condition on pg_stat_activity, and what a backend does that it holds for.

    `wait_event_type` is t, `wait_event` e. What fits no kind is counted in `all` only: extension of files, buffer pins,
    sleeping, idle without an event.
    """

    name: str
    condition: str
    words: str


_WAL_WAITS = "('walsync', 'walwrite', 'walinitsync', 'walinitwrite')"
KINDS = (
    Kind("on_cpu", "e IS NULL AND state = 'active'", "had or wanted a CPU"),
    Kind("client", "t = 'Client'", "waited for the client"),
    Kind("lock", "t = 'Lock' AND e <> 'extend'", "waited for a lock of another transaction"),
    Kind("wal_flush", f"t IN ('IO', 'LWLock') AND lower(e) IN {_WAL_WAITS}", "waited for WAL to be written or flushed"),
    Kind(
        "data_read",
        "t = 'IO' AND e IN ('DataFileRead', 'DataFilePrefetch', 'AioIoCompletion')",
        "waited for data to be read",
    ),
    Kind(
        "data_write",
        "t = 'IO' AND e LIKE 'DataFile%' AND e NOT IN ('DataFileRead', 'DataFilePrefetch')",
        "waited for data to be written",
    ),
    Kind("lwlock", "t = 'LWLock' AND lower(e) <> 'walwrite'", "waited for an internal lock"),
)

_WAITS_QUERY = (
    f"SELECT {', '.join(f'count(*) FILTER (WHERE {kind.condition})' for kind in KINDS)}, count(*) FROM"
    " (SELECT wait_event_type AS t, wait_event AS e, state FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND application_name <> 'pgassay' AND state IS NOT NULL) s"
).encode()
_METERS = tuple(Meter(name, "count") for name in ("looks", *(kind.name for kind in KINDS), "all"))


WAITS = "waits"


class WaitsReader:
    """See `interfaces.probe.Reader`; a thread looks between the readings."""

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {WAITS: _METERS}
    per_second = True
    """Reading it is one look more."""

    def __init__(self, session: Session, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._session = session
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting = False
        self._counts = dict.fromkeys((meter.name for meter in _METERS), 0.0)

    def settle(self) -> None:
        """What was seen is counted at once."""

    def read(self) -> tuple[Reading, ...]:
        """The looks so far, and one now; all None while the server does not answer."""
        with self._lock:
            answered = self._look()
            values: dict[str, float | None] = dict(self._counts) if answered else dict.fromkeys(self._counts)
        if answered and self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._run, name="waits", daemon=True)
            self._thread.start()
        return (Reading(WAITS, self._clock.monotonic_ns(), self._clock.wall_ns(), values),)

    def rest(self) -> None:
        """A look that is under way is ended first; one that a frozen server answers later would see nobody at work."""
        self._resting = True
        with self._lock:
            pass

    def wake(self) -> None:
        self._resting = False

    def close(self) -> None:
        """End the looking and close the session; harmless when that is done."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        with self._lock:
            self._session.close()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            with self._lock:
                if not self._ended.is_set() and not self._resting:
                    self._look()

    def _look(self) -> bool:
        row = self._session.fetch(_WAITS_QUERY)
        if row is None:
            return False
        for name, value in zip(self._counts, (1, *row), strict=True):
            self._counts[name] += float(value)
        return True


def _waits_share(kind: Kind) -> Cost:
    response = Response(
        f"waits_{kind.name}_share",
        f"share of looks in which backends {kind.words}",
        "share",
        Better.NEITHER,
        Scale.DIFFERENCE,
    )
    return Cost(response, lambda counters, _: quotient(counters.get(f"waits.{kind.name}"), counters.get("waits.all")))


class Waits(Probe):
    """What the load's backends wait for."""

    name = WAITS
    summary = "what backends wait for, by kind, from looks at pg_stat_activity"
    costs = tuple(map(_waits_share, KINDS))
    asks_server = True

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {WAITS: _METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """With a session of its own: it looks between the questions of others."""
        return (WaitsReader(Session(target.server.endpoint), target.clock),)
