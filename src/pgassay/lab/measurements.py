"""What a trial measures besides its load, where a study asks for it.

`load.maintenance`: a CHECKPOINT and a VACUUM of every page of every table after the window, timed. Both do their work
page by page, so larger pages leave fewer (Coelho 2014). Where a trial counts transactions, the CHECKPOINT lies inside
the window and closes its one cycle: see `regime`.

`load.page_space`: how much room tables and indexes take, and how much of the tables' pages is free: why FILLFACTOR does
what it does. A page's header says where its line pointers end and its rows begin (manual, "Database Page Layout"); the
room between is what the next row version finds. It is read from the files, by the server itself and without any
extension: before the window as the load left them, after it behind a CHECKPOINT.

`load.compressibility`: how far tables, indexes and WAL compress, each kind by itself; one figure for the whole drive
would hide that. A sample of the trial's own files, read after the window, goes through a drive's codec block by block,
as `pgassay drive compressibility` does it (docs/drives.md). Of a drive that stores what it gets this shows what one
that compresses would have made of the same files.

`drive.check`: whether the data are damaged at the end. While the server runs, amcheck checks every table and B-tree
index, as pg_amcheck does (manual, "amcheck"). Once the drive is unmounted, the file system's own tool checks it, and an
emulated drive checks itself (`Clones.discard`). The data may have functions and tables with the names of amcheck's and
of the catalog's, and a search_path that finds them first. So pg_catalog comes first here, and amcheck's functions are
called by schema and whole signature.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Server
from pgassay.lab.settings import mode_of
from pgassay.load.cacheprobe import residency
from pgassay.postgres import cluster_files
from pgassay.postgres.cluster_files import DataFile
from pgassay.probe.server_views import Checkpoints
from pgassay.probe.statistics import FIRST_USER_OID, statement, values_by_source
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.work import WORK

CHECKPOINT = (
    Response("closing_checkpoint_ms", "CHECKPOINT at the end of the work", "ms", Better.LOWER),
    Response("closing_checkpoint_pages", "pages that the CHECKPOINT at the end wrote", "count", Better.LOWER),
    Response("checkpoint_ms_per_1000_pages", "CHECKPOINT at the end of the work, for 1000 pages", "ms", Better.LOWER),
)
VACUUM = (
    Response("vacuum_ms", "VACUUM of every page of all tables", "ms", Better.LOWER),
    Response("vacuum_pages", "pages of the tables and indexes that VACUUM visited", "count", Better.LOWER),
    Response("vacuum_ms_per_1000_pages", "VACUUM of every page, for 1000 pages", "ms", Better.LOWER),
)

_COUNTED_S = 2.0
"""How long to wait for the count: the checkpointer answers first and counts later (before 15 up to half a second)."""
_PAUSE_S = 0.02
_OURS = f"FROM pg_class WHERE oid >= {FIRST_USER_OID} AND relkind"
_TABLES = f"SELECT oid::regclass::text {_OURS} IN ('r', 'm') ORDER BY oid"
_PAGES = f"SELECT coalesce(sum(relpages), 0)::bigint {_OURS} IN ('r', 'm', 't', 'i')"


def checkpoint(server: Server, clock: Clock) -> dict[str, float | None]:
    """Run one CHECKPOINT; returns the responses of `CHECKPOINT`: its length (ms) and the pages that it wrote.

    Pages are None where the server did not count them in time.
    """
    before = _counted(server)
    started_ns = clock.monotonic_ns()
    server.execute("CHECKPOINT")
    taken_ms = (clock.monotonic_ns() - started_ns) / 1e6
    pages = None
    for _ in range(int(_COUNTED_S / _PAUSE_S)):
        after = _counted(server)
        if after["checkpoints_requested"] != before["checkpoints_requested"]:
            end, start = after["buffers_checkpoint"], before["buffers_checkpoint"]
            pages = None if end is None or start is None else end - start
            break
        clock.sleep(_PAUSE_S)
    return _named(CHECKPOINT, taken_ms, pages)


def vacuum(server: Server, clock: Clock) -> dict[str, float | None]:
    """VACUUM every table with its indexes, skipping no page, so that the work depends on the number of pages alone.

    Returns the responses of `VACUUM`: its length (ms) and the pages of all tables and indexes.
    """
    tables = [str(name) for (name,) in server.query(_TABLES)]
    started_ns = clock.monotonic_ns()
    for table in tables:
        server.execute(f"VACUUM (DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON) {table}")
    taken_ms = (clock.monotonic_ns() - started_ns) / 1e6
    return _named(VACUUM, taken_ms, float(server.query(_PAGES)[0][0]))


def _counted(server: Server) -> Mapping[str, float | None]:
    views = [Checkpoints().view(server.version.major)]
    return values_by_source(views, server.query(statement(views))[0])[Checkpoints.name]


def _named(declared: tuple[Response, ...], taken_ms: float, pages: float | None) -> dict[str, float | None]:
    each = taken_ms * 1000 / pages if pages else None
    return dict(zip((response.name for response in declared), (taken_ms, pages, each), strict=True))


PAGES_MAX = 1000
"""How many pages of each table are read, evenly spread: the share is then known to about 0.01."""
PAGE_SPACE_PREFIX = "page_space"
RELATION = "relation"
RELATIONS_MAX = 40
"""Only the largest tables and indexes are recorded; a schema may have thousands."""
PAGE_SPACE = (
    Response(
        "free_share_loaded", "free share of the tables' pages after the load", "share", Better.NEITHER, Scale.DIFFERENCE
    ),
    Response("free_share", "free share of the tables' pages after the run", "share", Better.NEITHER, Scale.DIFFERENCE),
    Response("database_loaded_bytes", "size of the database after the load", "bytes", Better.LOWER),
)
_LOWER, _UPPER, _HEADER_BYTES = 12, 14, 24
"""Offsets of pd_lower and pd_upper, little-endian, in a page's header of 24 bytes."""


def _word(offset: int) -> str:
    return f"(get_byte(header, {offset}) + 256 * get_byte(header, {offset + 1}))"


_SHARES = (
    "WITH page AS (SELECT current_setting('block_size')::bigint AS size,"
    " pg_size_bytes(current_setting('segment_size')) AS segment_size),"
    " heap AS (SELECT oid::regclass::text AS name, pg_relation_filepath(oid) AS path,"
    f" pg_relation_size(oid) / size AS pages FROM pg_class, page WHERE relkind = 'r' AND oid >= {FIRST_USER_OID}),"
    " read AS (SELECT name, pages, pg_read_binary_file(path || CASE WHEN number * size >= segment_size"
    f" THEN '.' || number * size / segment_size ELSE '' END, number * size % segment_size, {_HEADER_BYTES}, true)"
    " AS header FROM heap, page,"
    f" LATERAL generate_series(0, pages - 1, greatest(1, pages / {PAGES_MAX})) AS number)"
    f" SELECT name, max(pages)::float8, avg({_word(_UPPER)} - {_word(_LOWER)})::float8 / (SELECT size FROM page)"
    f" FROM read WHERE length(header) = {_HEADER_BYTES} AND {_word(_UPPER)} > 0 GROUP BY name ORDER BY name"
)


_SIZES = (
    "SELECT c.relkind = 'i', c.oid::regclass::text,"
    " CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END AS bytes"
    f" FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm', 'i')"
    " AND c.relnamespace <> 'pg_toast'::regnamespace"
    f" ORDER BY bytes DESC, 2 LIMIT {RELATIONS_MAX}"
)


def read_shares(server: Server, when: str) -> dict[str, float | None]:
    """The free share of each table's pages, as `page_space.WHEN.TABLE_share`, and of all, as `page_space.WHEN_share`.

    Reads what is on disk: a CHECKPOINT before it, unless nothing was changed.
    """
    rows = [(str(name), float(pages), float(share)) for name, pages, share in server.query(_SHARES)]
    pages_total = sum(pages for _, pages, _ in rows)
    free = sum(pages * share for _, pages, share in rows)
    return {
        f"{PAGE_SPACE_PREFIX}.{when}_share": free / pages_total if pages_total else None,
        **{f"{PAGE_SPACE_PREFIX}.{when}.{name}_share": share for name, _, share in rows},
    }


def space_as_loaded(server: Server) -> dict[str, float | None]:
    """The free shares and the size of the database in bytes, before anything has run on the clone."""
    ((size,),) = server.query("SELECT pg_database_size(current_database())::float8")
    return {**read_shares(server, "loaded"), f"{PAGE_SPACE_PREFIX}.database_loaded_bytes": float(size)}


def free_shares(counters: Mapping[str, float | None]) -> dict[str, float | None]:
    return {
        "free_share_loaded": counters.get(f"{PAGE_SPACE_PREFIX}.loaded_share"),
        "free_share": counters.get(f"{PAGE_SPACE_PREFIX}.left_share"),
        "database_loaded_bytes": counters.get(f"{PAGE_SPACE_PREFIX}.database_loaded_bytes"),
    }


def relation_bytes(server: Server) -> dict[str, float]:
    """Bytes of each table (with TOAST and maps) and each index: `relation.table.NAME_bytes`, `relation.index.…`."""
    rows = server.query(_SIZES)
    return {f"{RELATION}.{'index' if index else 'table'}.{name}_bytes": float(size) for index, name, size in rows}


def cached_shares(server: Server) -> dict[str, float | None]:
    """What both caches hold of these relations: `cached.NAME.page_cache_share` and `….buffers_share`, see `residency`.

    A table's TOAST and maps are not looked at.
    """
    return {
        f"cached.{name}.{place}_share": share
        for name, shares in residency(server, [name for _, name, _ in server.query(_SIZES)]).items()
        for place, share in zip(("page_cache", "buffers"), shares, strict=True)
    }


PAGE_READ = Response(
    "page_read_us", "latency for each block of tables and indexes that was not in shared_buffers", "us", Better.LOWER
)


def reads_cold(options: LoadOptions) -> bool:
    return options.cache == "cold" and options.driver == "pgbench" and options.transactions == 1


def page_read(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """What a page of a scan takes, from the responses of a trial of one transaction that began cold."""
    latency_ms, heap, index = (
        found.get(name)
        for name in ("latency_ms", "heap_blocks_read_per_transaction", "index_blocks_read_per_transaction")
    )
    blocks = heap + index if heap is not None and index is not None else 0
    return {PAGE_READ.name: latency_ms * 1000 / blocks if latency_ms is not None and blocks else None}


STORED = "stored"
SAMPLE_BYTES = 96 << 20
"""How much is read of all kinds together; if there is less, all of it is read."""
BLOCK_BYTES = 4096
CODEC = "zstd-1"
"""The codec for drives that have none of their own."""
KINDS: Mapping[str, str] = {"heap": "tables", "index": "indexes", "wal": "WAL"}
_OF_RELKIND = {"r": "heap", "m": "heap", "t": "heap", "i": "index"}
_RESPONSE = "{kind}_compression_ratio"
_BLOCKS, _SUMS = 0, 2

_RELATION_FILES = (
    "SELECT pg_relation_filepath(oid), relkind::text FROM pg_class"
    f" WHERE oid >= {FIRST_USER_OID} AND relkind IN ('r', 'm', 't', 'i')"
)


@dataclass(frozen=True)
class Kind:
    name: str
    files: tuple[DataFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


COMPRESSION = tuple(
    Response(
        _RESPONSE.format(kind=kind), f"logical / compressed bytes of {title} at the end, sampled", "ratio",
        Better.HIGHER,
    )
    for kind, title in KINDS.items()
)  # fmt: skip


def codec_of(drives: DriveOptions) -> str:
    """The codec of the drive that holds the data, as the study asks for it; `CODEC` if it asks for none."""
    named = drives.data.codec
    return CODEC if named in (None, "none") else named


def stored_wal(server: Server, directory: Path, codec: str) -> dict[str, float | None]:
    """As `stored_relations`, for WAL as far as it was written; before a CHECKPOINT recycles what the window wrote."""
    ((current, offset),) = server.query("SELECT * FROM pg_walfile_name_offset(pg_current_wal_insert_lsn())")
    files = []
    for file in cluster_files.list_files(directory).files:
        if file.owner == "WAL":
            written = int(offset) if file.path.name == current else file.bytes
            files.append(replace(file, bytes=written // BLOCK_BYTES * BLOCK_BYTES))
    return _stored((Kind("wal", tuple(file for file in files if file.bytes)),), codec)


def stored_relations(server: Server, directory: Path, codec: str) -> dict[str, float | None]:
    """For tables and for indexes: `stored.KIND_logical_bytes`, `…_read_bytes` (of the sample) and `…_compressed_bytes`
    (for all of them, at the ratio of the sample). A CHECKPOINT comes first; raises `QueryError`.
    """
    server.execute("CHECKPOINT")
    kind_of = {Path(str(path)).name: _OF_RELKIND[str(relkind)] for path, relkind in server.query(_RELATION_FILES)}
    files: dict[str, list[DataFile]] = {}
    for file in cluster_files.list_files(directory).files:
        if isinstance(file.owner, cluster_files.RelationFile) and "_" not in file.path.name and file.bytes:
            kind = kind_of.get(str(file.owner.filenode))
            if kind is not None:
                files.setdefault(kind, []).append(file)
    return _stored(tuple(Kind(kind, tuple(found)) for kind, found in files.items()), codec)


def compression_ratios(counters: Mapping[str, float | None]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for kind in KINDS:
        whole, stored = (counters.get(f"{STORED}.{kind}_{side}_bytes") for side in ("logical", "compressed"))
        found[_RESPONSE.format(kind=kind)] = whole / stored if whole and stored else None
    return found


def _stored(kinds: tuple[Kind, ...], codec: str) -> dict[str, float | None]:
    there = tuple(kind for kind in kinds if kind.files)
    if not there:
        return {}
    from pgassay._core import scan_blocks
    from pgassay.postgres import cluster_files

    chunks = cluster_files.sample_chunks(there, SAMPLE_BYTES)
    rows = scan_blocks(
        chunks.paths, chunks.files, chunks.offsets, chunks.lengths, codecs=(codec,), granularities=(1,), threads=None
    )
    found: dict[str, float | None] = {}
    for number, kind in enumerate(there):
        mine = rows[chunks.groups == number]
        read_bytes, stored_bytes = float(mine[:, _BLOCKS].sum()) * BLOCK_BYTES, float(mine[:, _SUMS].sum())
        found[f"{STORED}.{kind.name}_logical_bytes"] = float(kind.bytes)
        found[f"{STORED}.{kind.name}_read_bytes"] = read_bytes
        found[f"{STORED}.{kind.name}_compressed_bytes"] = kind.bytes * stored_bytes / read_bytes if read_bytes else None
    return found


NO_AMCHECK = "drive.check needs the extension amcheck, which is not installed with this server"

DATA, DRIVE, NOT_CHECKED = "damaged_data", "damaged_drive", "not_checked"
_TABLES_SINCE = 14
_PERMANENT = "c.relpersistence <> 't'"
_SMALL = " AND {{table}} >= 16384 AND pg_relation_size({{table}}) <= {most_bytes}"
"""16384 is the first id of what initdb has not made (FirstNormalObjectId)."""
_INSTALLED = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
_ARGUMENTS = {"bt_index_check": "2205 16", "verify_heapam": "2205 16 16 25 20 20"}
"""Types by their ids, which never change: regclass, boolean; regclass, boolean, boolean, text, bigint, bigint."""
_SCHEMA = (
    "SELECT quote_ident(n.nspname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    " WHERE p.probin = '$libdir/amcheck' AND p.proname = %s AND p.prosrc = p.proname AND p.proargtypes = %s::oidvector"
)
_CHECKED_INDEXES = (
    "SELECT count({schema}.bt_index_check(c.oid::regclass, true)) FROM pg_index i"
    " JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_am a ON a.oid = c.relam"
    f" WHERE a.amname = 'btree' AND c.relkind = 'i' AND {_PERMANENT} AND i.indisready AND i.indisvalid{{narrowed}}"
)
_CHECKED_TABLES = (
    "SELECT c.oid::regclass::text, v.blkno, v.msg FROM pg_class c JOIN pg_am a ON a.oid = c.relam,"
    " LATERAL {schema}.verify_heapam(c.oid::regclass, false, false, 'none', NULL::bigint, NULL::bigint) v"
    f" WHERE a.amname = 'heap' AND c.relkind IN ('r', 'm', 't') AND {_PERMANENT}{{narrowed}} LIMIT 1"
)


def install(server: Server) -> bool:
    """Have amcheck in the database; False where it is not installed on this machine."""
    if not server.query(_INSTALLED):
        return False
    server.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    return True


def check_relations(server: Server, most_bytes: int | None = None) -> dict[str, str]:
    """The first damage in a table or B-tree index, code to detail; empty if there is none.

    With `most_bytes` only the tables of users that are no larger, and their indexes. The code is `not_checked` where
    amcheck is not installed, or its functions are others. Raises `QueryError` if the server died.
    """
    if not install(server):
        return {NOT_CHECKED: NO_AMCHECK}
    narrowed = "" if most_bytes is None else _SMALL.format(most_bytes=most_bytes)
    checks = {"bt_index_check": (_CHECKED_INDEXES, "i.indrelid"), "verify_heapam": (_CHECKED_TABLES, "c.oid")}
    if server.version.major < _TABLES_SINCE:
        del checks["verify_heapam"]
    found: list[tuple[Any, ...]] = []
    try:
        ((path,),) = server.query("SELECT pg_catalog.current_setting('search_path')")
        first = ", ".join(filter(None, ("pg_catalog", path)))
        server.query("SELECT pg_catalog.set_config('search_path', %s, false)", (first,))
        for function, (check, table) in checks.items():
            schemas = server.query(_SCHEMA, (function, _ARGUMENTS[function]))
            if not schemas:
                return {NOT_CHECKED: f"the data have a function {function} in the place of amcheck's"}
            found = server.query(check.format(schema=schemas[0][0], narrowed=narrowed.format(table=table)))
    except QueryError as error:
        if not server.alive():
            raise
        return {DATA: error.message}
    if not found or "verify_heapam" not in checks:
        return {}
    name, block, said = found[0]
    return {DATA: f'table "{name}", block {block}: {said}'}


def responses(options: Sequence[LoadOptions]) -> tuple[Response, ...]:
    """The responses that trials with these load options, one of each arm, have in addition."""
    vacuum = any(each.maintenance for each in options)
    closing = vacuum or any(mode_of(each) == WORK for each in options)
    return (
        *(CHECKPOINT if closing else ()),
        *(VACUUM if vacuum else ()),
        *(PAGE_SPACE if any(each.page_space for each in options) else ()),
        *((PAGE_READ,) if any(reads_cold(each) for each in options) else ()),
        *(COMPRESSION if any(each.compressibility for each in options) else ()),
    )
