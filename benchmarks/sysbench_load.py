"""How much quicker are sysbench's tables filled by COPY than by `sysbench prepare`? The same rows and the same indexes.

Both fill the same tables on the same private server, in turn, with as many connections as there are cores; the ratio is
of the medians. Rows, indexes and the sequence are compared after each round.

    python -m benchmarks.sysbench_load [--tables 4] [--rows 250000] [--rounds 5] [--directory DIR]
"""

import argparse
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.private_server import serving
from pgassay.bench.load import Tools
from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.drivers import require_program
from pgassay.load.sysbench.driver import SysbenchLoad
from pgassay.load.sysbench.options import SysbenchOptions


def prepare(server: Server, tables: int, rows: int) -> None:
    """sysbench's own way, and the VACUUM ANALYZE that both end with."""
    endpoint = server.endpoint
    base = [
        "sysbench", "oltp_read_write", "--db-driver=pgsql", f"--pgsql-host={endpoint.socket_directory}",
        f"--pgsql-port={endpoint.port}", f"--pgsql-user={endpoint.user}", f"--pgsql-db={endpoint.database}",
        f"--tables={tables}", f"--table_size={rows}", f"--threads={bulk.workers()}",
    ]  # fmt: skip
    subprocess.run([*base, "prepare"], check=True, stdout=subprocess.DEVNULL)
    server.execute("VACUUM (ANALYZE)")


def shape(server: Server, tables: int) -> list[tuple[object, ...]]:
    """Rows, sizes of heap and indexes in pages, and where the sequence stands."""
    found = []
    for number in range(1, tables + 1):
        name = f"sbtest{number}"
        found += server.query(
            f"SELECT count(*), min(id), max(id), pg_relation_size('{name}') / 8192, count(DISTINCT length(c || 'x')),"
            f" (SELECT count(*) FROM pg_indexes WHERE tablename = '{name}'),"
            f" (SELECT last_value FROM {name}_id_seq) FROM {name}"
        )
    return found


def one_round(load: SysbenchLoad, server: Server, times: dict[str, list[float]]) -> None:
    """Both ways once, timed; the tables that they make must be the same."""
    tables, rows = load.options.tables, load.options.rows
    shapes = []
    for name, taken in times.items():
        for number in range(1, tables + 1):
            server.execute(f"DROP TABLE IF EXISTS sbtest{number}")
        started = time.perf_counter()
        if name == "COPY":
            load.create(server)
            load.fill(server)
        else:
            prepare(server, tables, rows)
        taken.append(time.perf_counter() - started)
        shapes.append(shape(server, tables))
    print("   ".join(f"{name} {taken[-1]:.2f} s" for name, taken in times.items()))
    assert shapes[0] == shapes[1], f"not the same tables: {shapes}"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=None, help="where the cluster lies (default: temporary)")
    given = parser.parse_args()
    options = SysbenchOptions(tables=given.tables, rows=given.rows)
    times: dict[str, list[float]] = {"sysbench prepare": [], "COPY": []}
    with serving(given.directory, "sysbench-load") as bench:
        require_program(options.driver)
        load = SysbenchLoad(options, Tools(bench.installation.bindir, bench.runner, bench.clock))
        connections = f"{bulk.workers()} connections"
        print(f"PostgreSQL {bench.installation.version}, {given.tables} tables of {given.rows} rows, {connections}")
        for _ in range(given.rounds):
            one_round(load, bench.server, times)
    rows = given.tables * given.rows
    for name, taken in times.items():
        print(f"{name}: median {statistics.median(taken):.2f} s, {rows / statistics.median(taken):,.0f} rows/s")
    ratio = statistics.median(a / b for a, b in zip(*times.values(), strict=True))
    print(f"ratio, sysbench prepare ÷ COPY: {ratio:.1f}")


if __name__ == "__main__":
    main()
