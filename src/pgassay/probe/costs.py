"""What a transaction costs: differences over the window divided by its transactions, and shares; pure.

Costs repeat within a few per cent on machines where speed wanders by tens, and they say why a speed is what it is.
docs/numbers.md tells how each is computed. A cost on the ratio scale may still be 0 for a load that only reads.
"""

from collections.abc import Mapping

from pgassay.probe.differences import Differences
from pgassay.probe.drive_costs import RESPONSES as DRIVE_RESPONSES
from pgassay.probe.drive_costs import drive_costs, drive_cpu_us
from pgassay.study.responses import Better, Response, Scale

_LOWER, _HIGHER, _NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER
_RATIO, _DIFFERENCE = Scale.RATIO, Scale.DIFFERENCE

_PER_TRANSACTION: Mapping[str, tuple[tuple[str, ...], str, str, Scale]] = {
    "server_cpu_us": (("process_tree.user_us", "process_tree.system_us"), "server CPU", "us", _RATIO),
    "client_cpu_us": (("lab_tree.user_us", "lab_tree.system_us"), "CPU of the load program and the lab", "us", _RATIO),
    "context_switches": (("process_tree.context_switches",), "context switches of the server", "count", _RATIO),
    "tuple_bytes": (("tuples.written_bytes",), "row versions written, by the planner's widths", "bytes", _DIFFERENCE),
    "wal_bytes": (("wal.wal_bytes",), "WAL", "bytes", _RATIO),
    "wal_records": (("wal.wal_records",), "WAL records", "count", _RATIO),
    "full_page_images": (("wal.wal_fpi",), "full-page images", "count", _DIFFERENCE),
    "heap_blocks_read": (("tables.heap_blks_read",), "heap blocks read from outside the cache", "count", _DIFFERENCE),
    "heap_blocks_hit": (("tables.heap_blks_hit",), "heap blocks found in the cache", "count", _RATIO),
    "index_blocks_read": (("tables.idx_blks_read",), "index blocks read from outside the cache", "count", _DIFFERENCE),
    "index_blocks_hit": (("tables.idx_blks_hit",), "index blocks found in the cache", "count", _RATIO),
    "temporary_bytes": (("database.temp_bytes",), "temporary files", "bytes", _DIFFERENCE),
    "file_written_bytes": (
        ("process_io.passed_written_bytes",),
        "written to files by the server",
        "bytes",
        _DIFFERENCE,
    ),
    "disk_written_bytes": (("diskstats.written_bytes",), "written to the device", "bytes", _RATIO),
    "wal_disk_written_bytes": (
        ("diskstats_wal.written_bytes",),
        "written to the WAL's own device",
        "bytes",
        _DIFFERENCE,
    ),
    "disk_read_bytes": (("diskstats.read_bytes",), "read from the device", "bytes", _RATIO),
    "disk_writes": (("diskstats.writes",), "writes to the device", "count", _RATIO),
    "disk_reads": (("diskstats.reads",), "reads from the device", "count", _DIFFERENCE),
    "disk_flushes": (("diskstats.flushes",), "flushes of the device", "count", _DIFFERENCE),
}
"""Name (without `_per_transaction`) to the counters that are added up, a title, a unit and the scale."""

_SHARES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str, Better]] = {
    "hot_share": (("tables.n_tup_hot_upd",), ("tables.n_tup_upd",), "share of updates that were HOT", _HIGHER),
    "newpage_share": (
        ("tables.n_tup_newpage_upd",),
        ("tables.n_tup_upd",),
        "share of updates whose row moved to another page",
        _LOWER,
    ),
    "buffer_hit_share": (
        ("tables.heap_blks_hit", "tables.idx_blks_hit"),
        ("tables.heap_blks_hit", "tables.idx_blks_hit", "tables.heap_blks_read", "tables.idx_blks_read"),
        "share of blocks found in shared_buffers",
        _HIGHER,
    ),
}

_WAITS: Mapping[str, str] = {
    "on_cpu": "had or wanted a CPU",
    "client": "waited for the client",
    "lock": "waited for a lock of another transaction",
    "wal_flush": "waited for WAL to be written or flushed",
    "data_read": "waited for data to be read",
    "data_write": "waited for data to be written",
    "lwlock": "waited for an internal lock",
}
"""Kind of wait (see `probe.waits`) to what backends did when they were looked at."""

_ALL_CPU = tuple(
    f"machine.{kind}_us" for kind in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
)
_BUSY_CPU = tuple(name for name in _ALL_CPU if name not in ("machine.idle_us", "machine.iowait_us", "machine.steal_us"))
_OURS = ("process_tree.user_us", "process_tree.system_us", "lab_tree.user_us", "lab_tree.system_us")

_PAGES: Mapping[str, tuple[str, str]] = {
    "pages_written": ("pages of tables and indexes written out", "count"),
    "page_read_bytes": ("pages read from outside the cache, in bytes", "bytes"),
}
"""Each change of page size changes both: how many pages a transaction dirties or reads, and how many bytes they are."""

RESPONSES: tuple[Response, ...] = (
    *(
        Response(f"{name}_per_transaction", f"{title}, per transaction", unit, _LOWER, scale, cost=True)
        for name, (_, title, unit, scale) in _PER_TRANSACTION.items()
    ),
    *(
        Response(f"{name}_per_transaction", f"{title}, per transaction", unit, _LOWER, _DIFFERENCE, cost=True)
        for name, (title, unit) in _PAGES.items()
    ),
    *(
        Response(name, title, "share", better, _DIFFERENCE, cost=True)
        for name, (_, _, title, better) in _SHARES.items()
    ),
    Response(
        "relation_written_bytes_per_transaction",
        "tables and indexes written by the server, per transaction",
        "bytes",
        _LOWER,
        _DIFFERENCE,
        cost=True,
    ),
    Response(
        "full_page_bytes_per_transaction",
        "full-page images at their whole size, per transaction",
        "bytes",
        _LOWER,
        _DIFFERENCE,
        cost=True,
    ),
    *(
        Response(f"waits_{kind}_share", f"share of looks in which backends {words}", "share", _NEITHER, _DIFFERENCE)
        for kind, words in _WAITS.items()
    ),
    *DRIVE_RESPONSES,
    Response("database_bytes", "size of the database at the end", "bytes", _LOWER),
    Response("table_bytes", "size of the tables at the end, with TOAST and maps", "bytes", _LOWER),
    Response("index_bytes", "size of the indexes at the end", "bytes", _LOWER),
    Response("wal_directory_bytes", "size of pg_wal at the end", "bytes", _LOWER),
    Response("disk_read_latency_ms", "mean time of a read of the device", "ms", _LOWER, _DIFFERENCE),
    Response("disk_write_latency_ms", "mean time of a write to the device", "ms", _LOWER, _DIFFERENCE),
    Response("checkpoints", "checkpoints begun in the window", "count", _NEITHER, _DIFFERENCE),
    Response("cpu_busy_share", "share of the machine's CPU time that was used", "share", _NEITHER, _DIFFERENCE),
    Response("iowait_share", "share of CPU time that waited for storage", "share", _LOWER, _DIFFERENCE),
    Response("steal_share", "share of CPU time that the hypervisor took", "share", _LOWER, _DIFFERENCE),
    Response(
        "foreign_write_share",
        "share of the bytes written to the device that the server cannot account for",
        "share",
        _LOWER,
        _DIFFERENCE,
    ),
    Response("foreign_cpu_share", "share of CPU time that other programs used", "share", _LOWER, _DIFFERENCE),
)


OWN_WRITES_MAX = 2.0
"""A server's writes may at most double on their way to the device before they are called somebody else's."""


def costs(counters: Differences, transactions: int) -> dict[str, float | None]:
    """Every declared response from the window's differences; None where a counter is missing or nothing was done."""
    found: dict[str, float | None] = {
        f"{name}_per_transaction": _quotient(_total(counters, names), transactions)
        for name, (names, _, _, _) in _PER_TRANSACTION.items()
    }
    if found["wal_bytes_per_transaction"] is None:  # 13 has no pg_stat_wal.
        found["wal_bytes_per_transaction"] = _quotient(counters.get("wal.lsn_bytes"), transactions)
    found["relation_written_bytes_per_transaction"] = _quotient(_relation_written(counters), transactions)
    images = _product(counters.get("wal.wal_fpi"), counters.get("sizes.block_bytes"))
    found["full_page_bytes_per_transaction"] = _quotient(images, transactions)
    for name, (part, whole, _, _) in _SHARES.items():
        found[name] = _quotient(_total(counters, part), _total(counters, whole))
    for kind in _WAITS:
        found[f"waits_{kind}_share"] = _quotient(counters.get(f"waits.{kind}"), counters.get("waits.all"))
    found |= _pages(counters, transactions)
    for name in ("database_bytes", "table_bytes", "index_bytes", "wal_directory_bytes"):
        found[name] = counters.get(f"sizes.{name}")
    for kind, operations in (("read", "reads"), ("write", "writes")):
        taken_ms = counters.get(f"diskstats.{kind}_ms")
        found[f"disk_{kind}_latency_ms"] = _quotient(taken_ms, counters.get(f"diskstats.{operations}"))
    found["checkpoints"] = _total(counters, ("checkpoints.checkpoints_timed", "checkpoints.checkpoints_requested"))
    found["foreign_write_share"] = _foreign_writes(counters)
    return found | drive_costs(counters, transactions) | _machine_shares(counters)


def _relation_written(counters: Differences) -> float | None:
    """What the server wrote of tables and indexes: pg_stat_io tells from 16 on, before it every writer's buffers."""
    told = counters.get("io.relation_write_bytes")
    if told is not None:
        return told
    buffers = _total(
        counters, ("checkpoints.buffers_checkpoint", "checkpoints.buffers_clean", "checkpoints.buffers_backend")
    )
    return _product(buffers, counters.get("sizes.block_bytes"))


def _pages(counters: Differences, transactions: int) -> dict[str, float | None]:
    """Pages in and out of shared_buffers. A page dirtied again before it is written out counts once."""
    written = counters.get("io.relation_writes")
    if written is None:  # before 16, pg_stat_bgwriter has all three kinds of writers
        kinds = ("buffers_checkpoint", "buffers_clean", "buffers_backend")
        written = _total(counters, tuple(f"checkpoints.{kind}" for kind in kinds))
    read = _total(counters, ("tables.heap_blks_read", "tables.idx_blks_read"))
    return {
        "pages_written_per_transaction": _quotient(written, transactions),
        "page_read_bytes_per_transaction": _quotient(_product(read, counters.get("sizes.block_bytes")), transactions),
    }


def _foreign_writes(counters: Differences) -> float | None:
    """What the device wrote beyond `OWN_WRITES_MAX` times what the server's processes passed to files, as a share.

    A file system writes its journal and metadata along, and pages that were dirtied before; so only a gross excess
    speaks of somebody else.
    """
    device, ours = counters.get("diskstats.written_bytes"), counters.get("process_io.passed_written_bytes")
    if device is None or ours is None:
        return None
    return max(0.0, 1.0 - OWN_WRITES_MAX * ours / device) if device > 0 else 0.0


def _machine_shares(counters: Differences) -> dict[str, float | None]:
    every, busy = _total(counters, _ALL_CPU), _total(counters, _BUSY_CPU)
    ours = _total(counters, _OURS)
    emulation = drive_cpu_us(counters) or 0.0
    foreign = None if busy is None or ours is None else max(0.0, busy - ours - emulation)
    return {
        "cpu_busy_share": _quotient(busy, every),
        "iowait_share": _quotient(counters.get("machine.iowait_us"), every),
        "steal_share": _quotient(counters.get("machine.steal_us"), every),
        "foreign_cpu_share": _quotient(foreign, every),
    }


def _total(counters: Differences, names: tuple[str, ...]) -> float | None:
    values = [counters.get(name) for name in names]
    return None if any(value is None for value in values) else sum(value for value in values if value is not None)


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _quotient(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
