"""`bench.load.Load` by the real sysbench: prepare, run, read what it says.

`run` never raises for what the load does to the server: what went wrong is a problem of the result, under a code.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import BenchError
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server
from pgassay.load import messages, watching
from pgassay.load.sysbench import command, preparing, responses, summary
from pgassay.load.sysbench.options import Options, read_options
from pgassay.study.responses import Response

PROGRAM = "sysbench"
_SOURCE = "sysbench"


class SysbenchLoad:
    """The sysbench that is installed; `program` names another."""

    def __init__(self, runner: Runner, clock: Clock, program: str = PROGRAM) -> None:
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
                self._runner, self._clock, server, arguments, output, _SOURCE, wanted.duration_s
            )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        totals = summary.parse_totals(done.stdout)
        problems = problems or _problems(done, totals, server)
        problems = problems or watching.short(_SOURCE, wanted.duration_s, ended[0] - began[0])
        return LoadResult(
            status=done.status,
            started_monotonic_ns=began[0],
            finished_monotonic_ns=ended[0],
            started_wall_ns=began[1],
            finished_wall_ns=ended[1],
            transactions=totals.transactions if totals else 0,
            responses=responses.of_totals(totals, wanted.scenario) if totals else responses.complete({}),
            series=_series(done.stdout, began, ended[0]),
            problems=problems,
            read_back={"load.threads": str(totals.threads)} if totals and totals.threads else {},
        )


def _before(server: Server, options: Options) -> dict[str, str]:
    """What would make sysbench die without a word."""
    try:
        missing = preparing.missing_tables(server, options)
    except BenchError as error:
        return {"aborted": error.message}
    return {"missing_tables": f"there is no {', '.join(missing[:3])}"} if missing else {}


def _problems(done: Completed, totals: summary.Totals | None, server: Server) -> dict[str, str]:
    """What exit status and words tell."""
    text = f"{done.stdout}\n{done.stderr}"
    fatal = summary.first_fatal(text)
    if done.status < 0:
        died = f"sysbench was ended by signal {-done.status}"
        return {"killed": f"{died}: {fatal}" if fatal else died}
    if fatal:
        return {"aborted": fatal}
    if done.status:
        lines = [line for line in text.strip().splitlines() if line.strip()]
        return {"refused": lines[-1] if lines else "no message"}
    if totals is None:
        return {"no_summary": "sysbench's output has no totals"}
    return {} if totals.transactions else {"no_transactions": "no transaction was processed"}


def _series(text: str, began: tuple[int, int], finished_ns: int) -> tuple[Sample, ...]:
    """Samples at the end of each second, counted from the start of the program."""
    samples = []
    for second in summary.parse_seconds(text):
        moment = began[0] + second.elapsed_s * 10**9, began[1] + second.elapsed_s * 10**9
        if moment[0] > finished_ns:
            break
        samples += [
            Sample(*moment, _SOURCE, "tps", "1/s", second.tps),
            Sample(*moment, _SOURCE, "qps", "1/s", second.qps),
            Sample(*moment, _SOURCE, "writes", "1/s", second.writes),
            Sample(*moment, _SOURCE, f"latency_p{second.percentile}_ms", "ms", second.latency_ms),
            Sample(*moment, _SOURCE, "failed", "1/s", second.errors),
        ]
    return tuple(samples)
