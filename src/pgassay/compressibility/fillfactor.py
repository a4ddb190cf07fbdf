"""What tables would cost at another FILLFACTOR: a sample of their living rows, laid out again in memory.

Rows are placed as a load or VACUUM FULL places them, at 100 and at the fillfactors asked, so both sides have the same
rows, no bloat and free space of zeros. An aged table is larger, and its free space holds remains of old rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgassay._core import relay_tables
from pgassay.compressibility.cluster import Part
from pgassay.compressibility.request import Request
from pgassay.postgres import sampling
from pgassay.postgres.cluster_files import DataFile

LEAST_PAGES = 64
"""A smaller table's rows fill too few pages to tell."""

MOST_TABLES = 200
_SAMPLE_SHARE = 4
_SOURCE_PAGES, _ROWS, _PAGES, _FILLED_ROWS, _BLOCKS, _SUMS = 0, 1, 2, 3, 4, 6


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
    tables = [_main_fork(part) for part in parts if part.kind == "table"]
    page_bytes = _page_bytes(tables)
    enough = [table for table in tables if page_bytes and table.bytes >= LEAST_PAGES * page_bytes]
    chosen = enough[:MOST_TABLES]
    if not chosen:
        return (), len(tables)
    sample = None if request.sample_bytes is None else max(1, request.sample_bytes // _SAMPLE_SHARE)
    chunks = sampling.choose(chosen, sample)
    levels = tuple(dict.fromkeys((100, *request.fillfactors)))
    rows = relay_tables(
        chunks.paths,
        chunks.parts,
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
    weighed = max(row[_BLOCKS] * 4096, page_bytes)
    return Relaid(fillfactor, float(logical), tuple(float(stored / weighed * logical) for stored in row[_SUMS:]))


def _main_fork(part: Part) -> Part:
    """Without the maps of free space and visibility."""
    return Part(part.kind, part.label, part.name, tuple(file for file in part.files if "_" not in file.path.name))


def _page_bytes(tables: list[Part]) -> int:
    """The cluster's page size, as the first page that was ever written says it (bufpage.h); 0 if none was."""
    for table in tables:
        for file in table.files:
            if size := _of_first_page(file):
                return size
    return 0


def _of_first_page(file: DataFile) -> int:
    try:
        with file.path.open("rb") as pages:
            head = pages.read(20)
    except FileNotFoundError:
        return 0
    return int.from_bytes(head[18:20], "little") & 0xFF00 if len(head) == 20 else 0
