"""Preparing TPC-C's tables: created empty, so that table options can be set, then filled by COPY on all cores.

Each connection copies one table of one warehouse; the largest come first, so that no core is left waiting at the end.
Other programs' transactions run on the same tables, under the names that they have for them (`Names`).
"""

import re
from collections.abc import Mapping
from functools import partial

from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.tpcc.options import FOLDER

TABLES = ("stock", "order_line", "customer", "history", "orders", "new_order", "district", "warehouse", "item")
Names = Mapping[str, str]
"""Table of the specification to what it is called in the database."""
PLAIN: Names = {name: name for name in TABLES}
BYTES_PER_WAREHOUSE = 110_000_000
"""Heap and indexes as filled (about 95 MB at 8 kB pages), with some air."""
BYTES_OF_ITEMS = 12_000_000


def estimated_bytes(warehouses: int) -> int:
    """About how much room the data take."""
    return BYTES_OF_ITEMS + warehouses * BYTES_PER_WAREHOUSE


def create(server: Server, names: Names = PLAIN) -> None:
    """Drop and create tables and indexes."""
    server.execute(renamed((FOLDER / "schema.sql").read_text(encoding="utf-8"), names))


def create_functions(server: Server) -> None:
    """Create the transactions, on tables of the plain names."""
    server.execute((FOLDER / "transactions.sql").read_text(encoding="utf-8"))


def fill(server: Server, warehouses: int, names: Names = PLAIN) -> None:
    """Load the rows, build the indexes, VACUUM ANALYZE; raises `LoadError`."""
    from pgassay.load.tpcc import rows

    aside = bulk.set_aside_indexes(server, [names[table] for table in TABLES])
    tables = [
        bulk.Table(names[table], (), partial(make, number), truncated=False)
        for table, make in rows.BY_WAREHOUSE.items()
        for number in range(1, warehouses + 1)
    ]
    bulk.copy_all(server.endpoint, [bulk.Table(names["item"], (), rows.item), *tables])
    bulk.run_all(server.endpoint, [[*each.statements, f"VACUUM (ANALYZE) {each.table}"] for each in aside])


def renamed(sql: str, names: Names) -> str:
    """SQL of ours with the tables' names put in; columns and indexes keep theirs, which only begin alike."""
    return re.sub(rf"\b({'|'.join(TABLES)})\b", lambda found: names[found[0]], sql)
