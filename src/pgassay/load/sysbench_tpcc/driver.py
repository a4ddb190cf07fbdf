"""`bench.load.Load` by the real sysbench and Percona's sysbench-tpcc: our rows in its tables, its transactions.

Its `prepare` sleeps half a minute and knows no table options for PostgreSQL; so tables are made under its names
(`warehouse1`, `new_orders1` …) and filled by COPY. READ COMMITTED: its default gives up every seventh transaction.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.load import LoadResult
from pgassay.bench.places import Endpoint
from pgassay.bench.running import Clock, Runner
from pgassay.bench.server import Server
from pgassay.load import latencies, messages, watching
from pgassay.load.sysbench import running, summary
from pgassay.load.sysbench.command import PERCENTILE, SEED_MODULUS, length
from pgassay.load.sysbench.responses import of_totals
from pgassay.load.sysbench_tpcc.options import SCRIPT, Options, folder_of, read_options
from pgassay.load.tpcc import consistency, preparing
from pgassay.study.responses import Better, Response, Scale

PROGRAM = "sysbench"
NAMES: preparing.Names = {
    name: f"{ {'new_order': 'new_orders'}.get(name, name)}1" for name in preparing.TABLES
}  # fmt: skip
"""What the scripts call the tables of their first and only set."""
RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("qps", "statements per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    *latencies.RESPONSES,
    Response(
        "failed_share", "share of transactions that failed or were rolled back as asked", "share", Better.LOWER,
        Scale.DIFFERENCE,
    ),
)  # fmt: skip


class SysbenchTpccLoad:
    """The installed sysbench with the scripts that the user has; `program` names another. TPC-C-like, not audited."""

    def __init__(self, runner: Runner, clock: Clock, program: str = PROGRAM) -> None:
        self._runner = runner
        self._clock = clock
        self._program = program

    @property
    def name(self) -> str:
        """`sysbench-tpcc`."""
        return "sysbench-tpcc"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return RESPONSES

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        wanted = read_options(options)
        if shutil.which(self._program) is None:
            raise messages.no_sysbench(self._program)
        folder_of(wanted)

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The data depend on the number of warehouses alone."""
        return {"warehouses": str(read_options(options).warehouses)}

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """About how much room the data take."""
        return preparing.estimated_bytes(read_options(options).warehouses)

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty tables with their indexes."""
        read_options(options)
        preparing.create(server, NAMES)

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """Fill them by COPY; raises `LoadError`."""
        preparing.fill(server, read_options(options).warehouses, NAMES)

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """Nothing: `load.age` is not among its options."""

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output`. A warm-up is a run of its own, which the lab makes."""
        wanted = read_options(options)
        folder = folder_of(wanted)
        output.mkdir(parents=True, exist_ok=True)
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        done, problems = watching.watch(
            self._runner,
            self._clock,
            server,
            run_command(self._program, folder, server.endpoint, wanted, seed),
            output,
            PROGRAM,
            wanted.duration_s,
            environment={"LUA_PATH": f"{folder}/?.lua;;"},
        )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        totals = summary.parse_totals(done.stdout)
        problems = problems or running.problems(done, totals)
        problems = problems or watching.short(PROGRAM, wanted.duration_s, ended[0] - began[0])
        found = of_totals(totals, "") if totals else {}
        return LoadResult(
            status=done.status,
            started_monotonic_ns=began[0],
            finished_monotonic_ns=ended[0],
            started_wall_ns=began[1],
            finished_wall_ns=ended[1],
            transactions=totals.transactions if totals else 0,
            responses={response.name: found.get(response.name) for response in RESPONSES},
            series=running.series(done.stdout, began, ended[0], self.name),
            problems=problems,
            read_back={"load.threads": str(totals.threads)} if totals and totals.threads else {},
        )

    def verify(self, server: Server, options: Mapping[str, str]) -> Mapping[str, str]:
        """The consistency conditions 1 to 4; `inconsistent` names those that do not hold."""
        return consistency.verified(server, NAMES)


def run_command(program: str, folder: Path, endpoint: Endpoint, options: Options, seed: int) -> list[str]:
    """The measured run; a seed of 0 would mean the time of day."""
    return [
        program,
        str(folder / SCRIPT),
        "--db-driver=pgsql",
        f"--pgsql-host={endpoint.socket_directory}",
        f"--pgsql-port={endpoint.port}",
        f"--pgsql-user={endpoint.user}",
        f"--pgsql-db={endpoint.database}",
        f"--db-ps-mode={options.ps_mode}",
        "--trx_level=RC",
        "--tables=1",
        f"--scale={options.warehouses}",
        f"--threads={options.threads}",
        f"--rand-seed={seed % SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
        *length(options.duration_s, options.transactions, options.threads),
        "run",
    ]
