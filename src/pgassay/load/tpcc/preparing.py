"""Preparing TPC-C's tables: created empty, so that table options can be set, then filled by COPY on all cores.

Each connection copies one table of one warehouse; the largest come first, so that no core is left waiting at the end.
"""

from functools import partial

from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.tpcc.options import FOLDER, Options

TABLES = ("stock", "order_line", "customer", "history", "orders", "new_order", "district", "warehouse", "item")
BYTES_PER_WAREHOUSE = 110_000_000
"""Heap and indexes as filled (about 95 MB at 8 kB pages), with some air."""
BYTES_OF_ITEMS = 12_000_000


def estimated_bytes(options: Options) -> int:
    """About how much room the data take."""
    return BYTES_OF_ITEMS + options.warehouses * BYTES_PER_WAREHOUSE


def create(server: Server) -> None:
    """Drop and create tables, indexes and functions."""
    for name in ("schema.sql", "transactions.sql"):
        server.execute((FOLDER / name).read_text(encoding="utf-8"))


def fill(server: Server, options: Options) -> None:
    """Load the rows, build the indexes, VACUUM ANALYZE; raises `LoadError`."""
    from pgassay.load.tpcc import rows

    aside = bulk.set_aside_indexes(server, TABLES)
    tables = [
        bulk.Table(table, (), partial(make, number), truncated=False)
        for table, make in rows.BY_WAREHOUSE.items()
        for number in range(1, options.warehouses + 1)
    ]
    bulk.copy_all(server.endpoint, [bulk.Table("item", (), rows.item), *tables])
    bulk.run_all(server.endpoint, [[*each.statements, f"VACUUM (ANALYZE) {each.table}"] for each in aside])
