"""A load by the real fio, on a file of our own in the cluster's directory: the very file system under test.

The server idles meanwhile, and fio works in its place: under its memory limit, with its NUMA nodes. The file is laid
out by the warm-up and goes with the trial's clone, also after a kill.
"""

from pathlib import Path

from pgassay import children
from pgassay.bench.counters import Sample
from pgassay.bench.errors import LoadError
from pgassay.bench.load import BaseLoad, LoadResult, Moment
from pgassay.bench.messages import no_program
from pgassay.bench.running import Completed
from pgassay.bench.server import Server
from pgassay.load import messages, program
from pgassay.load.fio import fileio, result
from pgassay.load.fio.options import PROGRAM, FioOptions, layout_command, run_command

FILE = "pgassay_fio.tmp"
_LAYOUT_BYTES_PER_S = 5e6
"""Every drive worth measuring is faster; a layout that takes longer has hung."""
_SOURCE = "fio"
_LAYOUT = "layout"


class FioLoad(BaseLoad[FioOptions]):
    """The fio (or sysbench) that is installed."""

    responses = result.RESPONSES

    def check(self) -> None:
        """Refuse a pattern that sysbench cannot make, a missing sysbench, absent CPUs and a run without a warm-up."""
        program.check(self.options.cores)
        if self.options.tool == "sysbench":
            if children.which(fileio.PROGRAM) is None:
                raise no_program(fileio.PROGRAM, messages.SYSBENCH_HINT)
            fileio.check(self.options)
        if self.options.warmup_s < 1:
            raise messages.fio_needs_warmup()

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output`. The first run in a clone lays the file out before its time."""
        options = self.options
        output.mkdir(parents=True, exist_ok=True)
        file = Path(str(server.query("SHOW data_directory")[0][0])) / FILE
        problems = program.problem(options.cores, server) or self._lay_out(server, file, output)
        began = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        done = Completed((PROGRAM,), 1, "", "")
        if not problems:
            done, problems = self._work(server, file, output, seed)
        ended = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        found = result.Result(result.complete({}), 0, 0)
        if done.status == 0 and not problems:
            try:
                found = fileio.parse(done.stdout) if self.options.tool == "sysbench" else result.parse(done.stdout)
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
            problems=problems or program.short(self.options.tool, options.timed_s, ended[0] - began[0]),
            written_bytes=found.written_bytes,
        )

    def _lay_out(self, server: Server, file: Path, output: Path) -> dict[str, str]:
        """Write the file, in the server's memory group: the page cache of what others wrote is not in its limit."""
        if self.options.creates_file:
            for earlier in (file, file.parent / fileio.NAME):
                earlier.unlink(missing_ok=True)
            return {}
        if file.exists() and file.stat().st_size >= self.options.file_bytes:
            return {}
        patience_s = int(self.options.file_bytes / _LAYOUT_BYTES_PER_S)
        done, problems = program.watch(
            self.tools.runner,
            self.tools.clock,
            server,
            layout_command(file, self.options),
            output,
            _LAYOUT,
            patience_s,
            placement=program.stand_in(self.options.cores, server),
        )
        return {"layout": next(iter(problems.values()))} if problems else _problems(done, _LAYOUT)

    def _work(self, server: Server, file: Path, output: Path, seed: int) -> tuple[Completed, dict[str, str]]:
        if self.options.tool == "sysbench":
            arguments = fileio.run_command(file, self.options, seed)
        else:
            arguments = run_command(file, self.options, seed, output / _SOURCE)
        runner, clock = self.tools.runner, self.tools.clock
        placement = program.stand_in(self.options.cores, server)
        done, problems = program.watch(
            runner, clock, server, arguments, output, _SOURCE, self.options.timed_s, placement=placement
        )
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
