"""A load by the real sysbench: prepare, run, read what it says.

`run` never raises for what the load does to the server: what went wrong is a problem of the result, under a code.
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.load import BaseLoad, LoadResult
from pgassay.bench.running import Completed
from pgassay.bench.server import Server
from pgassay.load import program
from pgassay.load.sysbench import data, output
from pgassay.load.sysbench.options import PROGRAM, SysbenchOptions, run_command


class SysbenchLoad(BaseLoad[SysbenchOptions]):
    """The sysbench that is installed."""

    responses = output.RESPONSES

    def data_key(self) -> Mapping[str, str]:
        """Tables, rows, index, and the distribution, which `k` follows."""
        return data.data_key(self.options)

    def estimated_bytes(self) -> int:
        """By the number of rows."""
        return data.estimated_bytes(self.options)

    def create(self, server: Server) -> None:
        """Create the empty tables with their indexes."""
        data.create(server, self.options)

    def fill(self, server: Server) -> None:
        """Fill them by COPY; raises `LoadError`."""
        data.fill(server, self.options)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `folder`."""
        options, clock = self.options, self.tools.clock
        folder.mkdir(parents=True, exist_ok=True)
        began = clock.monotonic_ns(), clock.wall_ns()
        problems = _problems_before(server, options)
        done = Completed((PROGRAM,), 1, "", "")
        if not problems:
            arguments = run_command(PROGRAM, server.endpoint, options, seed)
            done, problems = program.watch(
                self.tools.runner, clock, server, arguments, folder, PROGRAM, options.timed_s
            )
        ended = clock.monotonic_ns(), clock.wall_ns()
        totals = output.parse_totals(done.stdout)
        found = output.of_totals(totals, options.scenario) if totals else output.complete({})
        return output.result(done, totals, found, problems, began, ended, options.timed_s, self.name)


def _problems_before(server: Server, options: SysbenchOptions) -> dict[str, str]:
    """What would make sysbench die without a word."""
    try:
        missing = data.missing_tables(server, options)
    except BenchError as error:
        return {"aborted": error.message}
    return {"missing_tables": f"there is no {', '.join(missing[:3])}"} if missing else {}
