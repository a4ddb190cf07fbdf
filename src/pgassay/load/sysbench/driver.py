"""A load by the real sysbench: its tables as `sysbench prepare` makes them, run, read what it says.

The packaged sysbench refuses --create_table_options, so tables are made empty here, get their options from the table
factors, and are then filled by COPY. One connection fills one table, so that its rows lie in order of `id` as
sysbench's do. `run` never raises for what the load does to the server: what went wrong is a problem of the result,
under a code.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.load import BaseLoad, LoadResult
from pgassay.bench.running import Completed
from pgassay.bench.server import Server
from pgassay.load import bulk, program
from pgassay.load.sysbench import output
from pgassay.load.sysbench.options import PROGRAM, SysbenchOptions, run_command

TABLE = (
    "CREATE TABLE {name} (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
    " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
)
INDEX = "CREATE INDEX k_{number} ON {name} (k)"


class SysbenchLoad(BaseLoad[SysbenchOptions]):
    """The sysbench that is installed."""

    responses = output.RESPONSES

    def check(self) -> None:
        """Refuse CPUs that are not there."""
        program.check(self.options.cores, self.options.host)

    def data_key(self) -> Mapping[str, str]:
        """Tables, rows, index, and the distribution, which `k` follows."""
        return {
            "tables": str(self.options.tables),
            "rows": str(self.options.rows),
            "secondary_index": str(self.options.secondary_index),
            "distribution": self.options.distribution,
        }

    def create(self, server: Server) -> None:
        """Drop and create the tables with their indexes, empty."""
        for number, name in enumerate(self.options.table_names, start=1):
            server.execute(f"DROP TABLE IF EXISTS {name}")
            server.execute(TABLE.format(name=name))
            if self.options.secondary_index:
                server.execute(INDEX.format(number=number, name=name))

    def fill(self, server: Server) -> None:
        """Fill all tables in parallel, build the indexes, set the sequences, VACUUM ANALYZE; raises `LoadError`."""
        from pgassay.load.sysbench import rows

        options = self.options
        aside = bulk.set_aside_indexes(server, options.table_names)
        tables = [
            bulk.Table(name, rows.COLUMNS, partial(rows.chunks, options.rows, number, options.distribution))
            for number, name in enumerate(options.table_names, start=1)
        ]
        bulk.copy_all(server.endpoint, tables)
        works = [
            [
                *each.statements,
                f"SELECT setval('{each.table}_id_seq', {options.rows})",
                f"VACUUM (ANALYZE) {each.table}",
            ]
            for each in aside
        ]
        bulk.run_all(server.endpoint, works)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `folder`."""
        options, clock = self.options, self.tools.clock
        folder.mkdir(parents=True, exist_ok=True)
        began = clock.monotonic_ns(), clock.wall_ns()
        problems = program.problem(options.cores, server) or _problems_before(server, options)
        done = Completed((PROGRAM,), 1, "", "")
        if not problems:
            arguments = run_command(PROGRAM, server.client_endpoint, options, seed)
            done, problems = program.watch(
                self.tools.load_runner,
                clock,
                server,
                arguments,
                folder,
                PROGRAM,
                options.timed_s,
                placement=program.place(options.cores, server, options.host),
            )
        ended = clock.monotonic_ns(), clock.wall_ns()
        began, ended = program.span(done, began, ended)
        totals = output.parse_totals(done.stdout)
        found = output.of_totals(totals, options.scenario) if totals else output.complete({})
        return output.result(done, totals, found, problems, began, ended, options.timed_s, self.name)


def _problems_before(server: Server, options: SysbenchOptions) -> dict[str, str]:
    """What would make sysbench die of SIGSEGV without a message: tables that do not exist."""
    names = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL"
    try:
        missing = [str(name) for (name,) in server.query(names, [list(options.table_names)])]
    except BenchError as error:
        return {"aborted": error.message}
    return {"missing_tables": f"there is no {', '.join(missing[:3])}"} if missing else {}
