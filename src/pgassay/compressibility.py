"""What a compressing drive would make of an existing cluster's files, which are only read.

No emulated drive and no server are needed. Each 4 KiB block is compressed alone, as such drives do (the crate codec);
docs/drives.md says what is estimated and from what. `estimate` is the whole of it.

A part's stored bytes are its bytes times (stored ÷ read) in its sample. The error is that of a ratio over chunks
(Cochran, Sampling Techniques, 6.3), with the share not read as the finite population correction; 0 when all was read.

At another FILLFACTOR a sample of a table's living rows is laid out again in memory. Rows are placed as a load or VACUUM
FULL places them, at 100 and at the fillfactors asked, so both sides have the same rows, no bloat and free space of
zeros. An aged table is larger, and its free space holds remains of old rows.
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pgassay._core import relay_tables, scan_blocks
from pgassay.errors import PgassayError, UsageError
from pgassay.postgres import cluster_files
from pgassay.postgres.cluster_files import DataFile, Name, RelationFile
from pgassay.study.units import parse_memory, parse_whole

BLOCK_BYTES = 4096
"""What a drive compresses at a time."""


@dataclass(frozen=True)
class Request:
    """A cluster (directory or connection string) and how to look at it; `sample_bytes` is None for everything.

    `granularities` are bytes that a compressed block is rounded up to; `jobs` is None for one thread a core.
    """

    cluster: str
    codecs: tuple[str, ...]
    granularities: tuple[int, ...]
    fillfactors: tuple[int, ...]
    sample_bytes: int | None
    jobs: int | None


def parse_request(
    cluster: str, *, codecs: str, granularities: str, fillfactors: str, sample: str | None, jobs: int | None
) -> Request:
    """The request that words between commas make; `sample` None for everything. Raises `UsageError`."""
    from pgassay._core import stored_bytes

    listed = _listed(codecs)
    for codec in listed:
        try:
            stored_bytes(b"", codec)
        except ValueError as error:
            raise UsageError(f"--codec: {error}") from None
    granularities_bytes = tuple(map(parse_memory, _listed(granularities)))
    for bytes_ in granularities_bytes:
        if not 1 <= bytes_ <= BLOCK_BYTES or bytes_ & (bytes_ - 1):
            raise UsageError("--granularity wants powers of two from 1B to 4kB", "512B is a sector, 1B is packed")
    sample_bytes = None if sample is None else parse_memory(sample)
    if sample_bytes is not None and sample_bytes <= 0:
        raise UsageError(f'--sample wants a size above 0, not "{sample}"', "--whole reads everything")
    levels = []
    for word in _listed(fillfactors):
        levels.append(parse_whole(word) or 0)
        if not 10 <= levels[-1] <= 100:
            raise UsageError(f'--fillfactor wants whole per cents from 10 to 100, not "{word}"')
    return Request(cluster, listed, granularities_bytes, tuple(levels), sample_bytes, jobs)


def _listed(text: str) -> tuple[str, ...]:
    """Words between commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


@dataclass(frozen=True)
class Part:
    """Files of one owner. `kind` is table, index, TOAST, sequence, WAL, …; `name` is None where it is not known."""

    kind: str
    label: str
    name: Name | None
    files: tuple[DataFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all its files, in bytes."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Cluster:
    """`source` says where the names come from."""

    directory: Path
    major: str
    source: str
    parts: tuple[Part, ...]


def look(request: Request) -> Cluster:
    """Find the files and their owners; raises `PgassayError`."""
    if "=" in request.cluster or "://" in request.cluster:
        asked = cluster_files.names_from_server(request.cluster)
        found, names, source = cluster_files.list_files(asked.directory), asked.names, f"database {asked.database}"
        files = []
        for file in found.files:  # those of this database, and WAL, which no database owns
            owner = file.owner
            own = owner.database == asked.oid if isinstance(owner, RelationFile) else owner.startswith("WAL")
            files += [file] if own else []
    else:
        directory = Path(request.cluster)
        if not directory.exists():
            raise UsageError(
                f'"{directory}" is neither a directory nor a connection string',
                'give a data directory, or "host=… dbname=…" as for psql',
            )
        found = cluster_files.list_files(directory)
        names, source, files = (
            cluster_files.names_from_files(found),
            "all databases, names from the files",
            list(found.files),
        )
    owned: dict[RelationFile | str, list[DataFile]] = defaultdict(list)
    for file in files:
        owned[file.owner].append(file)
    parts = [_part(owner, names, files) for owner, files in owned.items() if any(file.bytes for file in files)]
    if not parts:
        raise PgassayError(f'the cluster in "{found.directory}" has no data to look at')
    parts.sort(key=lambda part: -part.bytes)
    return Cluster(found.directory, found.major, source, tuple(parts))


def _part(owner: RelationFile | str, names: dict[RelationFile, Name], files: list[DataFile]) -> Part:
    if isinstance(owner, str):
        return Part(owner, owner, None, tuple(files))
    if (name := names.get(owner)) is None:
        return Part("unnamed", f"file {owner.database}/{owner.filenode}", None, tuple(files))
    kind = "catalogue" if name.is_system else name.kind
    return Part(kind, name.label, name, tuple(files))


LEAST_PAGES = 64
"""A smaller table's rows fill too few pages to tell."""

MOST_TABLES = 200
_SAMPLE_SHARE = 4
_SOURCE_PAGES, _ROWS, _PAGES, _FILLED_ROWS, _FILLED_BLOCKS, _STORED = 0, 1, 2, 3, 4, 6


@dataclass(frozen=True)
class Relaid:
    """A table after a load at `fillfactor`, in bytes; `stored` for each codec and (innermost) granularity."""

    fillfactor: int
    logical_bytes: float
    stored: tuple[float, ...]


@dataclass(frozen=True)
class RelaidTable:
    """A table at several fillfactors; the first of `levels` is 100."""

    part: Part
    levels: tuple[Relaid, ...]


def relay(request: Request, parts: list[Part]) -> tuple[tuple[RelaidTable, ...], int]:
    """The largest tables, laid out again, and how many more there are."""
    if not request.fillfactors:
        return (), 0
    tables = [  # without the maps of free space and visibility
        replace(part, files=tuple(file for file in part.files if "_" not in file.path.name))
        for part in parts
        if part.kind == "table"
    ]
    page_bytes = _page_bytes(tables)
    enough = [table for table in tables if page_bytes and table.bytes >= LEAST_PAGES * page_bytes]
    chosen = enough[:MOST_TABLES]
    if not chosen:
        return (), len(tables)
    sample = None if request.sample_bytes is None else max(1, request.sample_bytes // _SAMPLE_SHARE)
    chunks = cluster_files.sample_chunks(chosen, sample)
    levels = tuple(dict.fromkeys((100, *request.fillfactors)))
    rows = relay_tables(
        chunks.paths,
        chunks.groups,
        chunks.files,
        chunks.offsets,
        chunks.lengths,
        page_bytes=page_bytes,
        fillfactors=levels,
        codecs=request.codecs,
        granularities=request.granularities,
        threads=request.jobs,
    )
    found = []
    for number, table in enumerate(chosen):
        own = rows[number * len(levels) : (number + 1) * len(levels)].astype(np.float64)
        if own[:, _PAGES].min() > 0:
            relaid = [_level(table, level, row, page_bytes) for level, row in zip(levels, own, strict=True)]
            found.append(RelaidTable(table, tuple(relaid)))
    return tuple(found), len(tables) - len(found)


def _level(table: Part, fillfactor: int, row: NDArray[np.float64], page_bytes: int) -> Relaid:
    rows_a_page_now = row[_ROWS] / row[_SOURCE_PAGES]
    logical = table.bytes * rows_a_page_now * row[_PAGES] / row[_FILLED_ROWS]
    # Pages smaller than a block wait for their neighbours: what was weighed are whole blocks.
    weighed = max(row[_FILLED_BLOCKS] * 4096, page_bytes)
    return Relaid(fillfactor, float(logical), tuple(float(stored / weighed * logical) for stored in row[_STORED:]))


def _page_bytes(tables: list[Part]) -> int:
    """The cluster's page size, as the first page that was ever written says it (bufpage.h); 0 if none was."""
    for file in (file for table in tables for file in table.files):
        with suppress(FileNotFoundError), file.path.open("rb") as pages:
            head = pages.read(20)
            size = int.from_bytes(head[18:20], "little") & 0xFF00 if len(head) == 20 else 0
            if size:
                return size
    return 0


_BATCH_CHUNKS = 4096
"""Between batches Ctrl-C is heard."""

_BLOCKS, _ZEROS, _SUMS = 0, 1, 2


@dataclass(frozen=True)
class PartEstimate:
    """`stored` and `standard_errors` are bytes of the whole part, one for each codec and (innermost) granularity."""

    part: Part
    read_bytes: int
    zero_share: float
    stored: tuple[float, ...]
    standard_errors: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """What was found: each part of the cluster, and tables at other fillfactors.

    `tables_left_out` are too small to tell, or not among the largest.
    """

    request: Request
    cluster: Cluster
    parts: tuple[PartEstimate, ...]
    tables: tuple[RelaidTable, ...]
    tables_left_out: int


def estimate(request: Request) -> Estimate:
    """Look at the cluster and weigh it; raises `PgassayError`, `OSError`."""
    cluster = look(request)
    parts = list(cluster.parts)
    chunks = cluster_files.sample_chunks(parts, request.sample_bytes)
    scanned = []
    for start in range(0, len(chunks.files), _BATCH_CHUNKS):
        batch = slice(start, start + _BATCH_CHUNKS)
        scanned.append(
            scan_blocks(
                chunks.paths,
                chunks.files[batch],
                chunks.offsets[batch],
                chunks.lengths[batch],
                codecs=request.codecs,
                granularities=request.granularities,
                threads=request.jobs,
            )
        )
    rows = np.concatenate(scanned)
    order = np.searchsorted(chunks.groups, np.arange(len(parts) + 1))
    weighed = [_estimate_part(part, rows[order[i] : order[i + 1]]) for i, part in enumerate(parts)]
    tables, left_out = relay(request, parts)
    return Estimate(request, cluster, tuple(weighed), tables, left_out)


def _estimate_part(part: Part, rows: NDArray[np.uint64]) -> PartEstimate:
    """One part from its chunks' rows."""
    values = rows.astype(np.float64)
    read = values[:, _BLOCKS] * BLOCK_BYTES
    total = read.sum()
    if not total:
        # A running server has removed it since it was listed.
        nothing = (0.0,) * (values.shape[1] - _SUMS)
        return PartEstimate(part, 0, 0.0, nothing, nothing)
    # Files whose length is no multiple of 4 KiB take whole blocks.
    whole = max(float(part.bytes), total)
    ratios = values[:, _SUMS:].sum(axis=0) / total
    errors = np.zeros_like(ratios)
    if total < whole and len(values) > 1:
        residuals = values[:, _SUMS:] - read[:, None] * ratios
        spread = np.sqrt((residuals**2).sum(axis=0) / (len(values) - 1) / len(values))
        errors = spread / read.mean() * np.sqrt(1 - total / whole)
    return PartEstimate(
        part,
        int(total),
        float(values[:, _ZEROS].sum() / values[:, _BLOCKS].sum()),
        tuple(map(float, ratios * whole)),
        tuple(map(float, errors * whole)),
    )
