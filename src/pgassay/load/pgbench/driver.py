"""`bench.load.Load` by the real pgbench: prepare, run, read what it says.

`run` never raises for what the load does to the server: an abort, failed transactions, a dead server or a summary that
never came are problems of the result, under a code each.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pgassay.bench.errors import LoadError
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server
from pgassay.load import messages, placing, watching
from pgassay.load.file_hashes import FileHashes
from pgassay.load.options import read_levels
from pgassay.load.pgbench import ageing, command, echo, log, outcome, preparing, progress, responses, summary
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.scripts import check_scripts
from pgassay.study.responses import Response


class PgbenchLoad:
    """pgbench of one installation."""

    def __init__(self, bindir: Path, runner: Runner, clock: Clock, hashes: FileHashes | None = None) -> None:
        self._bindir = bindir
        self._runner = runner
        self._clock = clock
        self._hashes = hashes or FileHashes()

    @property
    def name(self) -> str:
        """`pgbench`."""
        return "pgbench"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return responses.RESPONSES

    @cached_property
    def version(self) -> int:
        """The major version of the program (it may differ from the server's)."""
        program = self._bindir / "pgbench"
        if not program.exists():
            raise messages.missing_program(program, "which runs the load")
        text = self._runner.run([str(program), "--version"]).stdout
        match = re.search(r"\(PostgreSQL\) (\d+)", text)
        if match is None:
            raise messages.unknown_version(program, text)
        return int(match[1])

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        wanted = read_levels(PgbenchOptions, options)
        check_scripts(wanted.scripts)
        placing.check(wanted.cores)
        if wanted.max_tries > 1 and self.version < command.MAX_TRIES_SINCE:
            raise messages.needs_version("load.max_tries", command.MAX_TRIES_SINCE, str(self.version))
        if wanted.init is None:
            return
        if not wanted.init.is_file():
            raise messages.missing_init(wanted.init)
        if wanted.age:
            raise messages.no_age_for_own_data()
        for name, value in (("row_bytes", wanted.row_bytes), ("row_storage", wanted.row_storage)):
            if value is not None:
                raise messages.no_rows_for_own_data(f"load.{name}")
        program = preparing.client_program(self._bindir, wanted.init)
        if not program.exists():
            raise messages.missing_program(program, 'which reads "load.init"')

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The options and the hash of the user's file that the data depend on."""
        return preparing.data_key(read_levels(PgbenchOptions, options), self._hashes)

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """About how much room the data take."""
        return preparing.estimated_bytes(read_levels(PgbenchOptions, options))

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty schema; a plain SQL `init` runs whole; raises `LoadError`."""
        preparing.create(self._bindir, self._runner, server, read_levels(PgbenchOptions, options))

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """Load the rows, build keys, VACUUM ANALYZE; raises `LoadError`."""
        preparing.fill(self._bindir, self._runner, server, read_levels(PgbenchOptions, options))

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """Wear pgbench's accounts as `age` asks; `none` does nothing."""
        wanted = read_levels(PgbenchOptions, options)
        if wanted.age:
            ageing.age(server, wanted.scale, wanted.age)

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run it; raw outputs go to `output`. A warm-up is a run of its own, which the lab makes."""
        wanted = read_levels(PgbenchOptions, options)
        output.mkdir(parents=True, exist_ok=True)
        outcome.keep_scripts(wanted, output)
        return self._measure(server, wanted, output, "pgbench", seed)

    def _measure(self, server: Server, options: PgbenchOptions, output: Path, source: str, seed: int) -> LoadResult:
        prefix = output / f"{source}_log"
        arguments = command.run_command(
            self._bindir / "pgbench", server.endpoint, options, version=self.version, seed=seed, log_prefix=prefix
        )
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        nowhere = placing.problem(options.cores, server)
        if nowhere:
            done, problems = Completed(tuple(arguments), 1, "", ""), nowhere
        else:
            place = placing.place(options.cores, server)
            done, problems = watching.watch(
                self._runner, self._clock, server, arguments, output, source, options.timed_s, placement=place
            )
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        problems = problems | outcome.problems_of_status(done)
        found: dict[str, float | None] = {}
        told: dict[str, str] = {}
        processed = 0
        logged = log.read_log(prefix, options, began[1])
        problems |= logged.problems
        try:
            said = summary.parse_summary(done.stdout)
        except LoadError as error:
            problems.setdefault("no_summary", error.message)
        else:
            found, told, processed = responses.of_summary(said), echo.read_back(said, options), said.processed
            problems |= outcome.problems_of_summary(said)
            if done.status == 0 and logged.log is not None:
                problems |= outcome.problems_of_log(said, logged.count)
        problems = problems or watching.short("pgbench", options.timed_s, ended[0] - began[0])
        log.put_away(prefix, output / f"{source}_latency.json", logged, keep=options.keep_log)
        series = log.series(logged, progress.parse_progress(done.stderr), source, began)
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=processed or logged.count,
            responses=responses.complete({**found, **logged.latencies}),
            series=series,
            problems=problems,
            read_back=told,
        )
