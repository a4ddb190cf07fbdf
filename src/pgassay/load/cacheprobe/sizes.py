"""How large the table is: rows, bytes, or a multiple of the memory that the server may have. Pure.

A row is a real, and an array of 20 double precision: 37 to a page of 8 kB, so 75 million make 15.5 GB as published.
"""

import re
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.study.units import format_bytes, format_number, parse_memory

COPIES = 20
"""Of the key, in each row's array."""
ROWS_PER_PAGE = 37
PAGE_BYTES = 8192
INDEX_SHARE = 0.11
"""An index entry of 16 bytes and its line pointer, nine tenths full, against a row of 221."""
ROWS_MIN = 1000
_NAME = "load.size"


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


def parse_size(text: str) -> Size:
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
        raise messages.not_a_table_size(_NAME, text) from None
    if size < PAGE_BYTES * ROWS_MIN // ROWS_PER_PAGE:
        raise messages.not_a_table_size(_NAME, text)
    return Size(bytes=size)
