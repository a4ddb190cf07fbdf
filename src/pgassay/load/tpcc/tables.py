"""TPC-C's tables, for every program that plays on them: made, filled, and checked for consistency.

pgbench and sysbench-tpcc differ in how a run is made and read, and in what they call the tables (`Names`); the
rows, their size and the consistency conditions are the same. Tables are created empty, so that table options can be
set, then filled by COPY on all cores: each connection copies one table of one warehouse; the largest come first, so
that no core is left waiting at the end.

The consistency conditions 1 to 4 (specification 5.11, clauses 3.3.2.1 to 3.3.2.4) hold after the load and after every
run, whatever was rolled back; a broken one says that the server, or the load, lost or invented something.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import TypeVar

from pgassay.bench.errors import BenchError
from pgassay.bench.load import BaseLoad
from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.options import WarehouseOptions
from pgassay.load.tpcc.options import FOLDER

TABLES = ("stock", "order_line", "customer", "history", "orders", "new_order", "district", "warehouse", "item")
Names = Mapping[str, str]
"""Table of the specification to what it is called in the database."""
PLAIN: Names = {name: name for name in TABLES}
_DISTRICTS = (
    "SELECT d_w_id, d_id, d_next_o_id, o.last, n.first AS n_first, n.last AS n_last, n.waiting, o.lines,"
    " l.lines AS there FROM district"
    " LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last, sum(o_ol_cnt) AS lines FROM orders GROUP BY 1, 2) o"
    " ON (o_w_id, o_d_id) = (d_w_id, d_id)"
    " LEFT JOIN (SELECT no_w_id, no_d_id, min(no_o_id) AS first, max(no_o_id) AS last, count(*) AS waiting"
    " FROM new_order GROUP BY 1, 2) n ON (no_w_id, no_d_id) = (d_w_id, d_id)"
    " LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY 1, 2) l"
    " ON (ol_w_id, ol_d_id) = (d_w_id, d_id)"
)
CONDITIONS: Mapping[str, str] = {
    "3.3.2.1": (
        "SELECT w_id FROM warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY 1) d"
        " ON d_w_id = w_id WHERE w_ytd <> total"
    ),
    "3.3.2.2": ("SELECT d_w_id FROM found WHERE d_next_o_id - 1 IS DISTINCT FROM last OR d_next_o_id - 1 <> n_last"),
    "3.3.2.3": "SELECT d_w_id FROM found WHERE n_last - n_first + 1 <> waiting",
    "3.3.2.4": "SELECT d_w_id FROM found WHERE lines IS DISTINCT FROM there",
}
"""Clause to a query for the warehouses that break it; `found` is one row for each district."""

Own = TypeVar("Own", bound=WarehouseOptions)


class TpccTables(BaseLoad[Own]):
    """A load on the nine tables, filled for `load.warehouses`; `names` is what the program calls them."""

    names: Names = PLAIN

    def data_key(self) -> Mapping[str, str]:
        """The data depend on the number of warehouses alone."""
        return {"warehouses": str(self.options.warehouses)}

    def create(self, server: Server) -> None:
        """Create the empty tables with their indexes."""
        create(server, self.names)

    def fill(self, server: Server) -> None:
        """Fill them by COPY; raises `LoadError`."""
        fill(server, self.options.warehouses, self.names)

    def verify(self, server: Server) -> Mapping[str, str]:
        """The consistency conditions 1 to 4: `inconsistent` names those that do not hold, `not_verified` says why
        the server could not be asked."""
        try:
            return broken(server, self.names)
        except BenchError as error:
            return {"not_verified": error.message}

    def broken(self, server: Server) -> Mapping[str, str]:
        """Likewise, of a server that has recovered."""
        return broken(server, self.names)


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
    """Our SQL with the names of tables replaced; columns and indexes, which only begin like them, keep theirs."""
    return re.sub(rf"\b({'|'.join(TABLES)})\b", lambda found: names[found[0]], sql)


def broken(server: Server, names: Names = PLAIN) -> dict[str, str]:
    """`inconsistent` with the clauses that do not hold and the first warehouse of each; empty when all hold."""
    parts = ", ".join(f"(SELECT min(w) FROM ({sql}) AS x(w))" for sql in CONDITIONS.values())
    (row,) = server.query(renamed(f"WITH found AS MATERIALIZED ({_DISTRICTS}) SELECT {parts}", names))
    clauses = [
        f"{clause} in warehouse {found}" for clause, found in zip(CONDITIONS, row, strict=True) if found is not None
    ]
    return {"inconsistent": f"TPC-C's consistency condition does not hold: {', '.join(clauses)}"} if clauses else {}
