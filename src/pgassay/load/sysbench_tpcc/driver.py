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
from pgassay.load.sysbench import command, running, summary
from pgassay.load.sysbench.responses import of_totals
from pgassay.load.sysbench_tpcc.options import SCRIPT, Options, folder_of, read_options
from pgassay.load.tpcc import preparing
from pgassay.load.tpcc.tables import TpccTables
from pgassay.study.responses import Better, Response, Scale

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


class SysbenchTpccLoad(TpccTables):
    """The installed sysbench with the scripts that the user has; `program` names another. TPC-C-like, not audited."""

    names = NAMES

    def __init__(self, runner: Runner, clock: Clock, program: str = command.PROGRAM) -> None:
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

    def warehouses(self, options: Mapping[str, str]) -> int:
        """`load.warehouses`, with all other options checked; raises `UsageError`."""
        return read_options(options).warehouses

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
            command.PROGRAM,
            wanted.duration_s,
            environment={"LUA_PATH": f"{folder}/?.lua;;"},
        )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        totals = summary.parse_totals(done.stdout)
        found = of_totals(totals, "") if totals else {}
        responses = {response.name: found.get(response.name) for response in RESPONSES}
        return running.result(done, totals, responses, problems, began, ended, wanted.duration_s, self.name)


def run_command(program: str, folder: Path, endpoint: Endpoint, options: Options, seed: int) -> list[str]:
    """The measured run."""
    return [
        program,
        str(folder / SCRIPT),
        *command.shared(endpoint, options, seed),
        "--trx_level=RC",
        "--tables=1",
        f"--scale={options.warehouses}",
        "run",
    ]
