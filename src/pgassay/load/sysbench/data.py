"""sysbench's tables, as `sysbench prepare` makes them, filled by COPY instead of INSERT.

The packaged sysbench refuses --create_table_options, so tables are made empty here, get their options from the table
factors, and are then filled. One connection fills one table, so that its rows lie in order of `id` as sysbench's do.
"""

from functools import partial

from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.sysbench.options import SysbenchOptions

BYTES_PER_ROW = 300
"""Heap (about 220 as filled), both indexes, and what a load adds."""

TABLE = (
    "CREATE TABLE {name} (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
    " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
)
INDEX = "CREATE INDEX k_{number} ON {name} (k)"


def data_key(options: SysbenchOptions) -> dict[str, str]:
    """What the loaded data depend on: `k` follows the distribution."""
    return {
        "tables": str(options.tables),
        "rows": str(options.rows),
        "secondary_index": str(options.secondary_index),
        "distribution": options.distribution,
    }


def estimated_bytes(options: SysbenchOptions) -> int:
    """About how much room the data take."""
    return options.tables * options.rows * BYTES_PER_ROW


def create(server: Server, options: SysbenchOptions) -> None:
    """Drop and create the tables with their indexes, empty."""
    for number, name in enumerate(options.table_names, start=1):
        server.execute(f"DROP TABLE IF EXISTS {name}")
        server.execute(TABLE.format(name=name))
        if options.secondary_index:
            server.execute(INDEX.format(number=number, name=name))


def fill(server: Server, options: SysbenchOptions) -> None:
    """Fill all tables in parallel, build the indexes, set the sequences, VACUUM ANALYZE; raises `LoadError`."""
    from pgassay.load.sysbench import rows

    aside = bulk.set_aside_indexes(server, options.table_names)
    tables = [
        bulk.Table(name, rows.COLUMNS, partial(rows.chunks, options.rows, number, options.distribution))
        for number, name in enumerate(options.table_names, start=1)
    ]
    bulk.copy_all(server.endpoint, tables)
    works = [
        [*each.statements, f"SELECT setval('{each.table}_id_seq', {options.rows})", f"VACUUM (ANALYZE) {each.table}"]
        for each in aside
    ]
    bulk.run_all(server.endpoint, works)


def missing_tables(server: Server, options: SysbenchOptions) -> list[str]:
    """The tables that a run would look for in vain: sysbench dies of SIGSEGV without them."""
    rows = server.query(
        "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL", [list(options.table_names)]
    )
    return [str(name) for (name,) in rows]
