"""Bytes of row versions: rows inserted and updated, times the mean width of a row of their table.

The width is the planner's (ANALYZE's mean width of each column and its share of NULLs; 32 bytes for a column of
variable length that was never analysed, as in `get_typavgwidth`), with the line pointer and the header of a row on a
page. An estimate, so it is read at the window's edges only; see the PostgreSQL manual, "Database Page Layout".
"""

from pgassay.probe.tables import FIRST_USER_OID
from pgassay.probe.views import View, counter

SOURCE = "tuples"
ROW_OVERHEAD_BYTES = 28
"""A line pointer of 4 bytes and a header of 23, aligned to 24."""

_WRITTEN = "pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)"
_WIDTH = (
    "SELECT sum(coalesce(s.stawidth * (1 - s.stanullfrac), CASE WHEN a.attlen > 0 THEN a.attlen ELSE 32 END))"
    " FROM pg_attribute a LEFT JOIN pg_statistic s"
    " ON s.starelid = a.attrelid AND s.staattnum = a.attnum AND NOT s.stainherit"
    " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
)


def view(version: int) -> View:
    """One row, the same in every version."""
    width = f"{ROW_OVERHEAD_BYTES} + coalesce(({_WIDTH}), 0)"
    columns = (counter("written_bytes", "bytes", f"coalesce(sum(({_WRITTEN}) * ({width})), 0)"),)
    return View(SOURCE, columns, f"FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm')")
