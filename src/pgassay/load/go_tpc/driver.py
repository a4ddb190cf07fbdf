"""`bench.load.Load` by the real go-tpc: our tables and rows, its transactions, read from its JSON.

Its own `prepare` knows no table options and takes seven times as long, and its `check` hangs on PostgreSQL for minutes;
so tables are filled by COPY as for the tpcc load, and the consistency conditions are asked as there.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadResult, Moment
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server
from pgassay.load import messages, watching
from pgassay.load.go_tpc import command, output, responses
from pgassay.load.go_tpc.options import read_options
from pgassay.load.tpcc.tables import TpccTables
from pgassay.study.responses import Response

PROGRAM = "go-tpc"


class GoTpcLoad(TpccTables):
    """The go-tpc that is installed; `program` names another. TPC-C-like, not audited."""

    def __init__(self, runner: Runner, clock: Clock, program: str = PROGRAM) -> None:
        self._runner = runner
        self._clock = clock
        self._program = program

    @property
    def name(self) -> str:
        """`go-tpc`."""
        return "go-tpc"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return responses.RESPONSES

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        read_options(options)
        if shutil.which(self._program) is None:
            raise messages.no_go_tpc(self._program)

    def warehouses(self, options: Mapping[str, str]) -> int:
        """`load.warehouses`, with all other options checked; raises `UsageError`."""
        return read_options(options).warehouses

    def run(self, server: Server, options: Mapping[str, str], output_folder: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output_folder`. go-tpc takes no seed."""
        wanted = read_options(options)
        output_folder.mkdir(parents=True, exist_ok=True)
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        arguments = command.run_command(self._program, server.endpoint, wanted)
        done, problems = watching.watch(
            self._runner, self._clock, server, arguments, output_folder, PROGRAM, wanted.duration_s
        )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        said = output.parse(done.stdout)
        problems = problems or _problems(done, said)
        problems = problems or watching.short(PROGRAM, wanted.duration_s, ended[0] - began[0])
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=output.committed(said.summary),
            responses=responses.of_run(said, wanted.threads),
            series=_series(said, began, ended[0]),
            problems=problems,
        )


def _problems(done: Completed, said: output.Said) -> dict[str, str]:
    """What exit status and words tell; go-tpc may fail with status 0."""
    failure = output.first_failure(f"{done.stdout}\n{done.stderr}")
    if done.status < 0:
        return {"killed": f"go-tpc was ended by signal {-done.status}"}
    if done.status or not said.summary:
        lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
        return {"aborted": failure or (lines[-1].strip() if lines else "no message")}
    return {} if output.committed(said.summary) else {"no_transactions": failure or "no transaction was processed"}


def _series(said: output.Said, began: Moment, finished_ns: int) -> tuple[Sample, ...]:
    """Samples at the end of each interval, counted from the start of the program."""
    samples = []
    for number, operations in enumerate(said.seconds, start=1):
        passed_ns = number * command.INTERVAL_S * 10**9
        if began[0] + passed_ns > finished_ns:
            break
        rate = sum(each.per_minute for each in operations if not each.failed) / 60
        samples.append(Sample(began[0] + passed_ns, began[1] + passed_ns, PROGRAM, "tps", "1/s", rate))
    return tuple(samples)
