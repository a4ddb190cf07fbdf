"""`bench.load.Load` by the real fio, on a file of our own in the cluster's directory: the very file system under test.

The server idles meanwhile. The file is laid out by the warm-up and goes with the trial's clone, also after a kill.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import LoadError
from pgassay.bench.load import LoadResult, Moment
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server
from pgassay.load import messages, values, watching
from pgassay.load.fio import command, fileio, responses, result
from pgassay.load.fio.options import Options, read_options
from pgassay.study.responses import Response

FILE = "pgassay_fio.tmp"
_CLUSTER_BYTES = 40 << 20
_LAYOUT_BYTES_PER_S = 5e6
"""No drive that anybody measures is slower; a layout that takes longer hangs."""
_SOURCE = "fio"


class FioLoad:
    """The fio (or sysbench) that is installed."""

    def __init__(self, runner: Runner, clock: Clock) -> None:
        self._runner = runner
        self._clock = clock

    @property
    def name(self) -> str:
        """`fio`."""
        return "fio"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return responses.RESPONSES

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        wanted = read_options(options)
        programs = (command.PROGRAM,) if wanted.tool == "fio" else (command.PROGRAM, fileio.PROGRAM)
        for program in programs:
            if shutil.which(program) is None:
                raise messages.no_program(program)
        if wanted.tool == "sysbench":
            fileio.check(wanted)
        if values.parse_seconds("load.warmup", options.get("warmup", "0s"), least=0) < 1:
            raise messages.fio_needs_warmup()

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """Nothing is loaded: all fio trials of a build start from one empty cluster."""
        return {}

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """An empty cluster and the file beside it."""
        return _CLUSTER_BYTES + read_options(options).file_bytes

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """No schema."""

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """No rows."""

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """No rows that could age."""

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output`. The first run in a clone lays the file out before its time."""
        wanted = read_options(options)
        output.mkdir(parents=True, exist_ok=True)
        file = Path(str(server.query("SHOW data_directory")[0][0])) / FILE
        problems = self._lay_out(file, wanted)
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        done = Completed((command.PROGRAM,), 1, "", "")
        if not problems:
            done, problems = self._work(server, file, wanted, output, seed)
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        found = result.Result(responses.complete({}), 0, 0)
        if done.status == 0 and not problems:
            try:
                found = fileio.parse(done.stdout) if wanted.tool == "sysbench" else result.parse(done.stdout)
            except LoadError as error:
                problems = {"no_summary": error.message}
            problems = problems or _none_done(found)
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=found.operations,
            responses=found.responses,
            series=_series(output, began),
            problems=problems or watching.short(wanted.tool, wanted.duration_s, ended[0] - began[0]),
        )

    def _lay_out(self, file: Path, wanted: Options) -> dict[str, str]:
        if file.exists() and file.stat().st_size >= wanted.file_bytes:
            return {}
        try:
            patience_s = 60.0 + wanted.file_bytes / _LAYOUT_BYTES_PER_S
            done = self._runner.run(command.layout(file, wanted), timeout_s=patience_s)
        except TimeoutError as error:
            return {"layout": str(error)}
        return _problems(done, "layout")

    def _work(
        self, server: Server, file: Path, wanted: Options, output: Path, seed: int
    ) -> tuple[Completed, dict[str, str]]:
        if wanted.tool == "sysbench":
            arguments = fileio.run(file, wanted, seed)
        else:
            arguments = command.run(file, wanted, seed, output / _SOURCE)
        watched = watching.watch(self._runner, self._clock, server, arguments, output, _SOURCE, wanted.duration_s)
        done, problems = watched
        return done, problems or _problems(done, "refused")


def _problems(done: Completed, code: str) -> dict[str, str]:
    if done.status == 0:
        return {}
    if done.status < 0:
        return {"killed": f"{Path(done.command[0]).name} was ended by signal {-done.status}"}
    text = f"{done.stdout}\n{done.stderr}"
    lines = [line.strip() for line in text.splitlines() if line.startswith(("fio:", "FATAL:"))]
    lines = lines or [line.strip() for line in text.splitlines() if line.strip()]
    if any("No space left" in line for line in lines):
        code = "no_space"
    return {code: lines[0] if lines else "no message"}


def _none_done(found: result.Result) -> dict[str, str]:
    if found.error:
        return {"io_error": f"an I/O failed with error {found.error}"}
    return {} if found.operations else {"no_transactions": "no I/O was done"}


def _series(output: Path, began: Moment) -> tuple[Sample, ...]:
    path = output / f"{_SOURCE}_iops.log"
    if not path.exists():
        return ()
    samples = []
    for second, reads, writes in result.per_second(path.read_text(encoding="utf-8")):
        moment = began[0] + second * 10**9, began[1] + second * 10**9
        samples += [
            Sample(*moment, _SOURCE, "read_iops", "1/s", reads),
            Sample(*moment, _SOURCE, "write_iops", "1/s", writes),
        ]
    return tuple(samples)
