"""The consistency conditions 1 to 4 of TPC-C (specification 5.11, clauses 3.3.2.1 to 3.3.2.4), asked of the data.

They hold after the load and after every run, whatever was rolled back; a broken one says that the server, or the load,
lost or invented something.
"""

from collections.abc import Mapping

from pgassay.bench.errors import BenchError
from pgassay.bench.server import Server
from pgassay.load.tpcc.preparing import PLAIN, Names, renamed

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


def verified(server: Server, names: Names = PLAIN) -> dict[str, str]:
    """As `broken`, and `not_verified` where the server could not be asked."""
    try:
        return broken(server, names)
    except BenchError as error:
        return {"not_verified": error.message}


def broken(server: Server, names: Names = PLAIN) -> dict[str, str]:
    """`inconsistent` with the clauses that do not hold and the first warehouse of each; empty when all hold."""
    parts = ", ".join(f"(SELECT min(w) FROM ({sql}) AS x(w))" for sql in CONDITIONS.values())
    (row,) = server.query(renamed(f"WITH found AS MATERIALIZED ({_DISTRICTS}) SELECT {parts}", names))
    told = [
        f"{clause} in warehouse {found}" for clause, found in zip(CONDITIONS, row, strict=True) if found is not None
    ]
    return {"inconsistent": f"TPC-C's consistency condition does not hold: {', '.join(told)}"} if told else {}
