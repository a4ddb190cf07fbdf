"""How much room tables and indexes take, and how much of the tables' pages is free: why FILLFACTOR does what it does.

A page's header says where its line pointers end and its rows begin (manual, "Database Page Layout"); the room between
is what the next row version finds. It is read from the files, by the server itself and without any extension: before
the window as the load left them, after it behind a CHECKPOINT. `load.page_space = "on"` asks for it.
"""

from collections.abc import Iterable, Mapping

from pgassay.bench.load import LoadOptions
from pgassay.bench.server import Server
from pgassay.probe.statistics import FIRST_USER_OID
from pgassay.study.responses import Better, Response, Scale

PAGES_MAX = 1000
"""How many pages of each table are read, evenly spread: the share is then known to about 0.01."""
PREFIX = "page_space"
RELATION = "relation"
RELATIONS_MAX = 40
"""Only the largest tables and indexes are recorded; a schema may have thousands."""
RESPONSES = (
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


def responses(options: Iterable[LoadOptions]) -> tuple[Response, ...]:
    """The responses that trials with these load options, one of each arm, have in addition."""
    return RESPONSES if any(each.page_space for each in options) else ()


def read(server: Server, when: str) -> dict[str, float | None]:
    """The free share of each table's pages, as `page_space.WHEN.TABLE_share`, and of all, as `page_space.WHEN_share`.

    Reads what is on disk: a CHECKPOINT before it, unless nothing was changed.
    """
    rows = [(str(name), float(pages), float(share)) for name, pages, share in server.query(_SHARES)]
    pages_total = sum(pages for _, pages, _ in rows)
    free = sum(pages * share for _, pages, share in rows)
    return {
        f"{PREFIX}.{when}_share": free / pages_total if pages_total else None,
        **{f"{PREFIX}.{when}.{name}_share": share for name, _, share in rows},
    }


def as_loaded(server: Server) -> dict[str, float | None]:
    """The free shares and the size of the database in bytes, before anything has run on the clone."""
    ((size,),) = server.query("SELECT pg_database_size(current_database())::float8")
    return {**read(server, "loaded"), f"{PREFIX}.database_loaded_bytes": float(size)}


def as_left(server: Server) -> dict[str, float | None]:
    """The free shares after the window and its readings; a CHECKPOINT comes first."""
    server.execute("CHECKPOINT")
    return read(server, "left")


def summed(counters: Mapping[str, float | None]) -> dict[str, float | None]:
    """The responses from the counters that `as_loaded` and `as_left` read."""
    return {
        "free_share_loaded": counters.get(f"{PREFIX}.loaded_share"),
        "free_share": counters.get(f"{PREFIX}.left_share"),
        "database_loaded_bytes": counters.get(f"{PREFIX}.database_loaded_bytes"),
    }


def relation_bytes(server: Server) -> dict[str, float]:
    """Bytes of each table (with TOAST and maps) and each index: `relation.table.NAME_bytes`, `relation.index.…`."""
    rows = server.query(_SIZES)
    return {f"{RELATION}.{'index' if index else 'table'}.{name}_bytes": float(size) for index, name, size in rows}
