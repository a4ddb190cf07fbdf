"""The load of the cache study: 100 index probes, a sequential scan of the whole table, 100 index probes again.

The lab's warm-up of this load is the published one: pg_prewarm of the table, then of the index, then probes for a while
(pg_prewarm alone is not enough). Blocks read and hit are differences over the window, which is what the published reset
of the table's counters came to, and leaves other readers of these counters their own.

The table is `random(random real, data float[])`, frozen as it is loaded, with an index on its key. Its size is rows,
bytes, or a multiple of the memory that the server may have. A row is a real, and an array of 20 double precision: 37 to
a page of 8 kB, so 75 million make 15.5 GB as published. One COPY fills it: FREEZE works only in the transaction that
made or emptied the table, so several sessions cannot share it. Making rows costs a fifth of what loading them costs,
and happens at the same time.

Each phase has a connection of its own, by our player, which reads its clock around each statement. The published one
was a pgbench (`--transactions 100 --report-per-command`), which reads it lazily: some probes seem to take no time.

Where heap and index are is their share in the page cache (cachestat(2), else mincore(2)) and in shared_buffers: that
both hold the same pages, the double caching, is seen and not inferred. Looking reads no page of the files; the question
to pg_buffercache takes a moment, so it is asked between the timed phases only.
"""

import ctypes
import itertools
import json
import mmap
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.errors import LoadError, QueryError
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.kinds import Kind, optional, seconds, whole
from pgassay.interfaces.load import BaseLoad, Driver, LoadResult
from pgassay.interfaces.options import answer_to, option
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import LatencyHistogram, Slice
from pgassay.load import bulk, program
from pgassay.load import responses as shared
from pgassay.load.options import OTHER_LOAD, PlacedOptions, kind
from pgassay.load.player import PlayedLoad, PlayedScript, Player, await_sessions_end, find
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, format_number, parse_memory
from pgassay.study.work import QUERY

COPIES = 20
"""Of the key, in each row's array."""
ROWS_PER_PAGE = 37
PAGE_BYTES = 8192
INDEX_SHARE = 0.11
"""An index entry of 16 bytes and its line pointer, nine tenths full, against a row of 221."""
ROWS_MIN = 1000
BYTES_MIN = PAGE_BYTES * ROWS_MIN // ROWS_PER_PAGE


@dataclass(frozen=True)
class Size:
    """One of the three is above 0."""

    rows: int = 0
    bytes: int = 0
    multiple: float = 0.0

    def __str__(self) -> str:
        if self.rows:
            return f"{self.rows}rows"
        return f"{format_number(self.multiple)}x" if self.multiple else format_bytes(self.bytes)


def _size(text: str) -> Size | None:
    stripped = text.replace("_", "")
    rows = re.fullmatch(r"(\d{1,12})\s*rows", stripped)
    if rows and int(rows[1]) >= ROWS_MIN:
        return Size(rows=int(rows[1]))
    multiple = re.fullmatch(r"(\d{1,12}(?:\.\d*)?|\.\d+)x", stripped)
    if multiple and float(multiple[1]) > 0:
        return Size(multiple=float(multiple[1]))
    size = parse_memory(stripped)
    return Size(bytes=size) if size >= BYTES_MIN else None


SIZE: Kind[Size] = kind(
    _size,
    str,
    "rows, bytes, or a multiple of the memory: 75000000rows, 16GB, 2x",
    must="rows, bytes or a multiple of the memory, at least 1000 rows",
    hint='for example "75000000rows", "16GB", "2x"',
)


@dataclass(frozen=True, kw_only=True)
class CacheprobeOptions(PlacedOptions):
    """A cacheprobe load. It takes no duration of its own: with one, a run is the warm-up alone."""

    driver = "cacheprobe"
    turns = OTHER_LOAD

    size: Size = option(
        SIZE,
        default=Size(multiple=2.0),
        stage=Stage.DATA,
        summary="the size of cacheprobe's table; 2x is twice the memory that the server may have",
        read_back=answer_to("SELECT coalesce(obj_description(to_regclass('random'), 'pg_class'), 'no table')"),
        size=ModelSize(ROWS_MIN, least_bytes=BYTES_MIN, data="thousand rows"),
    )
    probes: int = option(whole(), default=100, summary="cacheprobe: index probes before and after the scan")
    duration_s: int | None = option(
        optional(seconds()), name="duration", default=None, unit="s", summary="length of the measured window"
    )
    warmup_s: int = option(
        seconds(least=0),
        name="warmup",
        default=10,
        unit="s",
        summary="length of the warm-up, a run of its own before the window",
    )

    @property
    def reads_only(self) -> bool:
        return True

    @property
    def rows(self) -> int:
        """How many the table gets; a multiple is of the memory that the server may have."""
        if self.size.rows:
            return self.size.rows
        memory_bytes = self.memory_bytes or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        wanted = self.size.bytes or int(self.size.multiple * memory_bytes)
        return max(ROWS_MIN, wanted // PAGE_BYTES * ROWS_PER_PAGE)

    def estimated_bytes(self) -> int:
        return int(self.rows / ROWS_PER_PAGE * PAGE_BYTES * (1 + INDEX_SHARE))


PROBE = "select random from random where random=(select random()::real);"
SCAN = "select count(data) from random;"
SCRIPTS: Mapping[str, str] = {"idx": PROBE, "seq": SCAN}

_LOWER = Better.LOWER
_NEITHER = Better.NEITHER
_DIFFERENCE = Scale.DIFFERENCE
TRIMMED = 0.9
"""A stall of the scheduler takes as long as a hundred probes: the percentiles show the slowest tenth instead."""
BLOCKS = ("heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit")

_TIMES = (
    Response("idx1_ms", "mean latency of index probes before the scan (idx1)", "ms", _LOWER),
    Response("seq_ms", "time of the sequential scan (seq)", "ms", _LOWER),
    Response("idx2_ms", "mean latency of index probes after the scan (idx2)", "ms", _LOWER),
    Response("idx1_trimmed_ms", "latency of index probes before the scan (idx1, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_trimmed_ms", "latency of index probes after the scan (idx2, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_slowdown", "latency of index probes after the scan ÷ before (idx2 ÷ idx1)", "ratio", _LOWER),
    Response("probes_ms", "mean latency of all index probes, before and after the scan", "ms", _LOWER),
    *(
        Response(f"idx{number}_{name}_ms", f"{title} of the index probes {when} the scan", "ms", _LOWER)
        for number, when in ((1, "before"), (2, "after"))
        for name, title in (("p50", "median"), ("p95", "95th percentile"), ("max", "greatest"), ("first", "first"))
    ),
)
_COUNTS = (
    *(Response(name, name, "blocks", _NEITHER, _DIFFERENCE) for name in BLOCKS),
    Response("table_bytes", "size of the table", "B", _NEITHER),
    Response("index_bytes", "size of its index", "B", _NEITHER),
    Response("huge_pages", "huge pages of the machine", "count", _NEITHER, _DIFFERENCE),
)
_SHARES = tuple(
    Response(f"{of}_{place}_{moment}_share", f"share of the {of} in {title}, {when}", "share", _NEITHER, _DIFFERENCE)
    for of in ("heap", "index")
    for place, title in (("page_cache", "the page cache"), ("buffers", "shared_buffers"))
    for moment, when in (("warm", "before the first probes"), ("scan", "right after the scan"))
)

RESPONSES: tuple[Response, ...] = (*_TIMES, *_COUNTS, *_SHARES)


@dataclass(frozen=True)
class Phase:
    """`name` is `idx1`, `seq`, `idx2` or `warmup`; so many transactions, or seconds."""

    name: str
    transactions: int | None = None
    seconds: int | None = None

    @property
    def script(self) -> str:
        return "seq" if self.name == "seq" else "idx"


@dataclass(frozen=True)
class Outcome:
    """The statement's mean latency, each transaction's own in the order of time or of size, and what went wrong.

    The first of `each_ms` is always the connection's first probe.
    """

    mean_ms: float | None
    each_ms: tuple[float, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


def played(phase: Phase, slices: Sequence[Slice]) -> Outcome:
    """The latencies of the first transaction's slice and of the slice of all others, to 0.1 %; the mean is exact."""
    aborted = [why for each in slices for why in each.aborted]
    if aborted:
        return Outcome(None, (), {"aborted": f"{phase.name}: {aborted[0]}"})
    latencies = sum((each.latencies for each in slices), LatencyHistogram())
    each_ms = tuple(
        min(edge_ns, each.latencies.most_ns) / 1e6
        for each in slices
        for edge_ns, count in each.latencies.buckets
        for _ in range(count)
    )
    return Outcome(latencies.sum_ns / latencies.count / 1e6 if latencies.count else None, each_ms)


def of_phase(name: str, mean_ms: float | None, each_ms: Sequence[float]) -> dict[str, float | None]:
    """`idx1_ms` and its percentiles. The first probe of a connection reads the catalogs, so it is reported separately.

    A single statement has its time alone.
    """
    if len(each_ms) < 2:
        return {f"{name}_ms": mean_ms}
    first, rest = each_ms[0], sorted(each_ms[1:])
    quick = rest[: max(1, round(TRIMMED * len(rest)))]
    return {
        f"{name}_ms": sum(rest) / len(rest),
        f"{name}_trimmed_ms": sum(quick) / len(quick),
        f"{name}_p50_ms": rest[len(rest) // 2],
        f"{name}_p95_ms": rest[min(len(rest) - 1, int(0.95 * len(rest)))],
        f"{name}_max_ms": rest[-1],
        f"{name}_first_ms": first,
    }


def derived(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it is missing, with what follows from the others."""
    one, two = (found.get(f"idx{number}_trimmed_ms") or found.get(f"idx{number}_ms") for number in (1, 2))
    more: dict[str, float | None] = {}
    if one and two is not None:
        more = {"idx2_slowdown": two / one, "probes_ms": (one + two) / 2}
    return shared.complete(RESPONSES, {**found, **more})


TABLE = "random"
INDEX = "random_random_idx"
EXTENSIONS = ("pg_prewarm", "pg_buffercache")
SEED = 1
"""The data are the same for every run: what differs between trials is which keys are probed."""
CHUNK_ROWS = 20_000
_FLOAT8_OID = 701
_COLLECTOR_S = 2.0
_COUNTERS = (
    "SELECT heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit FROM pg_statio_user_tables"
    f" WHERE relname = '{TABLE}'"
)


def chunks(rows: int, seed: int) -> Iterator[bytes]:
    """So many rows of (real, float[]) in the binary format of COPY, some thousands at a time."""
    import numpy as np

    numbers = ["key_bytes", "key", "array_bytes", "dimensions", "flags", "element", "size", "lower"]
    row = [("fields", ">i2"), *((name, ">f4" if name == "key" else ">i4") for name in numbers)]
    items = ("items", [("bytes", ">i4"), ("value", ">f8")], (COPIES,))
    generator = np.random.default_rng(seed)
    block = np.zeros(min(rows, CHUNK_ROWS), dtype=np.dtype([*row, items]))
    for name, value in (
        ("fields", 2), ("key_bytes", 4), ("array_bytes", 20 + COPIES * 12), ("dimensions", 1), ("element", _FLOAT8_OID),
        ("size", COPIES), ("lower", 1),
    ):  # fmt: skip
        block[name] = value
    block["items"]["bytes"] = 8
    for left in range(rows, 0, -CHUNK_ROWS):
        part = block[: min(left, CHUNK_ROWS)]
        keys = generator.random(len(part))
        part["key"] = keys
        part["items"]["value"] = keys[:, np.newaxis]
        yield part.tobytes()


_CACHESTAT = 451
"""The number of the system call, the same on every architecture (from Linux 6.5)."""


_PATHS = """
SELECT name, current_setting('data_directory') || '/' || pg_relation_filepath(to_regclass(name))
  FROM unnest(%s::text[]) name
"""
_IN_BUFFERS = """
SELECT name, count(bufferid) * current_setting('block_size')::float8 / nullif(pg_relation_size(to_regclass(name)), 0)
  FROM unnest(%s::text[]) name
  LEFT JOIN pg_buffercache ON relfilenode = pg_relation_filenode(to_regclass(name)) AND relforknumber = 0
   AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
 GROUP BY name
"""


class _Range(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class _CacheStat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")]


def residency(server: Server, relations: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """The shares (0 … 1) of each relation that are now in the page cache and in shared_buffers; None if not available.

    One scan of pg_buffercache for all relations: its time grows with shared_buffers.
    """
    in_page_cache: dict[str, float | None] = {}
    in_buffers: dict[str, float | None] = {}
    with suppress(QueryError):
        for name, path in server.query(_PATHS, [[*relations]]):
            in_page_cache[name] = None if path is None else _in_page_cache(Path(path))
        in_buffers |= server.query(_IN_BUFFERS, [[*relations]])
    return {name: (in_page_cache.get(name), in_buffers.get(name)) for name in relations}


def _in_page_cache(path: Path) -> float | None:
    """Over all segments of a relation: PATH, PATH.1, PATH.2 …"""
    cached = total = 0
    segments = itertools.chain([path], (path.with_name(f"{path.name}.{number}") for number in itertools.count(1)))
    for segment in itertools.takewhile(Path.exists, segments):
        try:
            found = cached_pages(segment)
            total += -(-segment.stat().st_size // mmap.PAGESIZE)
        except OSError:
            return None
        if found is None:
            return None
        cached += found
    return cached / total if total else None


def cached_pages(path: Path) -> int | None:
    """Pages of a file in the page cache; None where neither call is available."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        counts, span = _CacheStat(), _Range(0, size)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(_CACHESTAT, descriptor, ctypes.byref(span), ctypes.byref(counts), 0) == 0:
            return int(counts.cached)
        if size == 0:
            return 0
        # mincore(2) of a mapping that is never touched; from Linux 5.2 on only the file's owner or root gets an answer
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        where = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if where is None or where == ctypes.c_void_p(-1).value:
            return None
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        failed = libc.mincore(ctypes.c_void_p(where), ctypes.c_size_t(size), pages)
        libc.munmap(ctypes.c_void_p(where), ctypes.c_size_t(size))
        return None if failed else sum(byte & 1 for byte in pages)
    finally:
        os.close(descriptor)


class CacheprobeLoad(BaseLoad[CacheprobeOptions]):
    """Three phases of our player, and what the server and the kernel count over them."""

    responses = RESPONSES

    def check(self) -> None:
        program.check(self.options.cores)
        if self.options.duration_s is not None:
            raise UsageError(
                f'"load.duration" cannot be given for {self.name}, which ends when its work is done', "leave it out"
            )
        if self.options.warmup_s == 0:
            raise UsageError(f'{self.name} needs a "load.warmup" of at least 1s', "its authors took 100s")
        find()

    def data_key(self) -> Mapping[str, str]:
        """The number of rows, whichever way it was said, and the words that the data carry."""
        return {"rows": str(self.options.rows), "size": str(self.options.size)}

    def create(self, server: Server) -> None:
        server.execute(f"CREATE TABLE {TABLE} (random real, data float[])")

    def fill(self, server: Server) -> None:
        """COPY with FREEZE, index, VACUUM ANALYZE; the size is kept as the table's comment. Raises `LoadError`."""
        bulk.copy_all(server.endpoint, [bulk.Table(TABLE, (), partial(chunks, self.options.rows, SEED))])
        server.execute(f"CREATE INDEX ON {TABLE} (random)")
        server.execute(f"COMMENT ON TABLE {TABLE} IS '{self.options.size}'")
        server.execute(f"VACUUM (ANALYZE) {TABLE}")
        for extension in EXTENSIONS:
            if server.query("SELECT 1 FROM pg_available_extensions WHERE name = %s", [extension]):
                server.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        options = self.options
        output.mkdir(parents=True, exist_ok=True)
        began = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        found: Mapping[str, float | None] = {}
        problems: Mapping[str, str] = program.problem(options.cores, server)
        if problems:
            pass  # nowhere to run
        elif options.duration_s is not None:
            try:
                for relation in (TABLE, INDEX):
                    server.query("SELECT pg_prewarm(%s::regclass)", [relation])
            except QueryError as error:
                problems = {"not_prewarmed": error.message}
            else:
                problems = self._phase(server, Phase("warmup", seconds=options.duration_s), output).problems
        else:
            found, problems = self._protocol(server, output)
        return LoadResult(
            status=0 if not problems else 1,
            began=began,
            ended=(self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()),
            transactions=2 * options.probes + 1,
            responses=derived(found),
            problems=problems,
            read_back={"load.probes": str(options.probes)},
        )

    def _protocol(self, server: Server, output: Path) -> tuple[Mapping[str, float | None], Mapping[str, str]]:
        options = self.options
        found: dict[str, float | None] = {}
        problems: dict[str, str] = {}
        try:
            found |= _shares(server, "warm")
            before = self._blocks(server)
            for phase in (Phase("idx1", options.probes), Phase("seq", 1), Phase("idx2", options.probes)):
                yielded = self._phase(server, phase, output)
                found |= of_phase(phase.name, yielded.mean_ms, yielded.each_ms)
                problems |= yielded.problems
                if yielded.problems:
                    break
                if phase.name == "seq":
                    found |= _shares(server, "scan")
            after = self._blocks(server)
            found |= {name: end - start for name, start, end in zip(BLOCKS, before, after, strict=True)}
            found |= _sizes(server)
        except QueryError as error:
            problems.setdefault("server", error.message)
        return found, problems

    def _phase(self, server: Server, phase: Phase, output: Path) -> Outcome:
        """Run one to its end, whatever that is; its outputs stay."""
        found = self._play(server, phase, output)
        if not found.problems:
            await_sessions_end(server, self.tools.clock)
        return found

    def _play(self, server: Server, phase: Phase, output: Path) -> Outcome:
        load = PlayedLoad((PlayedScript(phase.script, SCRIPTS[phase.script]),))
        try:
            where = program.place(self.options.cores, server)
            with Player(load, server.endpoint, self.tools.runner, self.tools.clock, where) as playing:
                slices = [playing.play(transactions=1)]
                if phase.seconds:
                    slices.append(playing.play(duration_ms=phase.seconds * 1000))
                elif phase.transactions and phase.transactions > 1 and not slices[0].aborted:
                    slices.append(playing.play(transactions=phase.transactions - 1))
        except LoadError as error:
            return Outcome(None, (), {"aborted": f"{phase.name}: {error.message}"})
        (output / f"{phase.name}.json").write_text(json.dumps([asdict(each) for each in slices]), encoding="utf-8")
        return played(phase, slices)

    def _blocks(self, server: Server) -> tuple[int, ...]:
        if server.version.major < versions.FLUSH_ON_REQUEST:
            self.tools.clock.sleep(_COLLECTOR_S)
        rows = server.query(_COUNTERS)
        return tuple(int(value or 0) for value in rows[0]) if rows else (0, 0, 0, 0)


def _shares(server: Server, moment: str) -> dict[str, float | None]:
    shares = zip(("heap", "index"), residency(server, (TABLE, INDEX)).values(), strict=True)
    return {
        f"{name}_{place}_{moment}_share": share
        for name, found in shares
        for place, share in zip(("page_cache", "buffers"), found, strict=True)
    }


def _sizes(server: Server) -> dict[str, float | None]:
    """Of heap and index in bytes, and the machine's huge pages."""
    ((heap, index),) = server.query("SELECT pg_relation_size(%s), pg_relation_size(%s)", [TABLE, INDEX])
    found: dict[str, float | None] = {"table_bytes": float(heap), "index_bytes": float(index), "huge_pages": None}
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("HugePages_Total:"):
            found["huge_pages"] = float(line.split()[1])
    return found


DRIVER = Driver(
    CacheprobeOptions, CacheprobeLoad, "index probes around a sequential scan, which fills caches", work=QUERY
)
