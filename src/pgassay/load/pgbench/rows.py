"""pgbench's accounts with wider rows: the filler column of another length, kept in the page or moved to TOAST.

`row_bytes` counts as TPC-B does: 100 is pgbench's own row, of which 84 are filler. `plain` keeps all of it in the page
and lets a row that no page can hold fail; `toasted` moves it out of line, uncompressed, once a row exceeds a quarter of
a page: PostgreSQL's own threshold, so the page size decides (manual, "TOAST"; Coelho 2014, second part, did the same).
"""

from pgassay.bench.server import Server
from pgassay.load.pgbench.options import BESIDE_FILLER, STORAGES, PgbenchOptions

OWN_BYTES = 100
"""pgbench's own row."""
_OVERHEAD_BYTES = 60
"""Of a row: its header and line pointer (28), its key in the index (about 20), and some air."""
_ROWS_PER_SCALE = 100_000
_SMALLEST_PAGE = 1024


def widen(server: Server, options: PgbenchOptions) -> None:
    """Give the empty table its width and storage; nothing where neither was asked for."""
    if options.row_bytes is None and options.row_storage is None:
        return
    length = (options.row_bytes or OWN_BYTES) - BESIDE_FILLER
    storage = STORAGES[options.row_storage or "plain"]
    server.execute(
        f"ALTER TABLE pgbench_accounts ALTER COLUMN filler TYPE char({length}),"
        f" ALTER COLUMN filler SET STORAGE {storage}"
    )


def estimated_bytes(options: PgbenchOptions) -> int:
    """Room of the accounts and their key. A page holds whole rows only, so wide ones may waste up to half of it."""
    row = (options.row_bytes or OWN_BYTES) + _OVERHEAD_BYTES
    waste = min(1.0, row / _SMALLEST_PAGE) if options.row_storage != "toasted" else 0.1
    return int(options.scale * _ROWS_PER_SCALE * row * (1 + waste))
