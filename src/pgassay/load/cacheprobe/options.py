"""The options of a cacheprobe load, each declared once; pure but for asking how much memory the machine has.

The table's size is rows, bytes, or a multiple of the memory that the server may have. A row is a real, and an array of
20 double precision: 37 to a page of 8 kB, so 75 million make 15.5 GB as published.
"""

import os
import re
from dataclasses import dataclass

from pgassay.bench.factor import Stage
from pgassay.bench.kinds import Kind, choice, optional, seconds, whole
from pgassay.bench.options import answer_to, option
from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.load.options import PlacedOptions
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, format_number, parse_memory

PLAYER, PUBLISHED, EACH = "player", "published", "each"
"""Our own player's clock; pgbench's means; pgbench's log, as runs before the player had it."""
COPIES = 20
"""Of the key, in each row's array."""
ROWS_PER_PAGE = 37
PAGE_BYTES = 8192
INDEX_SHARE = 0.11
"""An index entry of 16 bytes and its line pointer, nine tenths full, against a row of 221."""
ROWS_MIN = 1000


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

    def in_rows(self, memory_bytes: int) -> int:
        """How many rows the table gets, with this much memory for the server."""
        if self.rows:
            return self.rows
        wanted = self.bytes or int(self.multiple * memory_bytes)
        return max(ROWS_MIN, wanted // PAGE_BYTES * ROWS_PER_PAGE)


def parse_size(name: str, text: str) -> Size:
    """`75000000rows`, `1GB`, `2x`; raises `UsageError`."""
    stripped = text.strip().replace("_", "")
    rows = re.fullmatch(r"(\d{1,12})\s*rows", stripped)
    if rows and int(rows[1]) >= ROWS_MIN:
        return Size(rows=int(rows[1]))
    multiple = re.fullmatch(r"(\d+\.?\d*|\.\d+)x", stripped)
    if multiple and float(multiple[1]) > 0:
        return Size(multiple=float(multiple[1]))
    try:
        size = parse_memory(stripped)
    except UsageError:
        raise messages.not_a_table_size(name, text) from None
    if size < PAGE_BYTES * ROWS_MIN // ROWS_PER_PAGE:
        raise messages.not_a_table_size(name, text)
    return Size(bytes=size)


def _machine_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, kw_only=True)
class CacheprobeOptions(PlacedOptions):
    """A cacheprobe load. It takes no duration of its own: with one, a run is the warm-up alone."""

    driver = "cacheprobe"

    size: Size = option(
        Kind(parse_size, str, "rows, bytes, or a multiple of the memory: 75000000rows, 16GB, 2x"),
        default=Size(multiple=2.0),
        stage=Stage.DATA,
        summary="the size of cacheprobe's table; 2x is twice the memory that the server may have",
        read_back=answer_to("SELECT coalesce(obj_description(to_regclass('random'), 'pg_class'), 'no table')"),
        size=ModelSize(ROWS_MIN, least_bytes=PAGE_BYTES * ROWS_MIN // ROWS_PER_PAGE, data="thousand rows"),
    )
    probes: int = option(whole(), default=100, summary="cacheprobe: index probes before and after the scan")
    method: str = option(
        choice(PLAYER, PUBLISHED, EACH),
        default=PLAYER,
        summary="cacheprobe: the probes' clock: our player's, pgbench's means as published, or each line of its log",
    )
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
        """Probes and a scan: nothing is written."""
        return True

    @property
    def rows(self) -> int:
        """The number of rows that the table gets."""
        return self.size.in_rows(self.memory_bytes or _machine_memory_bytes())

    def estimated_bytes(self) -> int:
        """The bytes of heap and index at 8 kB pages."""
        return int(self.rows / ROWS_PER_PAGE * PAGE_BYTES * (1 + INDEX_SHARE))
