"""`bench.load.Load` by the real sysbench: prepare, run, read what it says.

`run` never raises for what the load does to the server: what went wrong is a problem of the result, under a code.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server
from pgassay.load import messages, watching
from pgassay.load.sysbench import command, preparing, responses, running, summary
from pgassay.load.sysbench.options import Options, read_options
from pgassay.study.responses import Response


class SysbenchLoad:
    """The sysbench that is installed; `program` names another."""

    def __init__(self, runner: Runner, clock: Clock, program: str = command.PROGRAM) -> None:
        self._runner = runner
        self._clock = clock
        self._program = program

    @property
    def name(self) -> str:
        """`sysbench`."""
        return "sysbench"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return responses.RESPONSES

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        read_options(options)
        if shutil.which(self._program) is None:
            raise messages.no_sysbench(self._program)

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """What the loaded data depend on."""
        return preparing.data_key(read_options(options))

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """About how much room the data take."""
        return preparing.estimated_bytes(read_options(options))

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty tables with their indexes."""
        preparing.create(server, read_options(options))

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """Fill them by COPY; raises `LoadError`."""
        preparing.fill(server, read_options(options))

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """Nothing: `load.age` is not among its options."""

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output`. A warm-up is a run of its own, which the lab makes."""
        wanted = read_options(options)
        output.mkdir(parents=True, exist_ok=True)
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        problems = _before(server, wanted)
        done = Completed((self._program,), 1, "", "")
        if not problems:
            arguments = command.run_command(self._program, server.endpoint, wanted, seed)
            done, problems = watching.watch(
                self._runner, self._clock, server, arguments, output, command.PROGRAM, wanted.duration_s
            )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        totals = summary.parse_totals(done.stdout)
        found = responses.of_totals(totals, wanted.scenario) if totals else responses.complete({})
        return running.result(done, totals, found, problems, began, ended, wanted.duration_s, self.name)


def _before(server: Server, options: Options) -> dict[str, str]:
    """What would make sysbench die without a word."""
    try:
        missing = preparing.missing_tables(server, options)
    except BenchError as error:
        return {"aborted": error.message}
    return {"missing_tables": f"there is no {', '.join(missing[:3])}"} if missing else {}
