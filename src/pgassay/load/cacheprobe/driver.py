"""A load by cacheprobe: 100 index probes, a sequential scan of the whole table, 100 index probes again.

The lab's warm-up of this load is the published one: pg_prewarm of the table, then of the index, then probes for a while
(pg_prewarm alone is not enough). Blocks read and hit are differences over the window, which is what the published reset
of the table's counters came to, and leaves other readers of these counters their own.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import LoadError, QueryError
from pgassay.bench.load import BaseLoad, LoadResult
from pgassay.bench.server import Server
from pgassay.load import messages, program
from pgassay.load import responses as shared
from pgassay.load.cacheprobe import phases, table
from pgassay.load.cacheprobe.options import (
    PLAYER,
    PUBLISHED,
    CacheprobeOptions,
)
from pgassay.load.cacheprobe.phases import SCRIPTS, Outcome, Phase, command, outcome
from pgassay.load.cacheprobe.residency import residency
from pgassay.load.controlled import find
from pgassay.load.player import PlayedLoad, PlayedScript, Player

_LONGEST_S = 86400.0
_FLUSHED_SINCE = 15
"""From this version on a session's statistics are there when it has ended; before, a collector takes its time."""
_COLLECTOR_S = 2.0
_SESSION_END_S, _POLL_S = 60.0, 0.01
_PGBENCH = "pgassay-pgbench"
"""The name of pgbench's sessions: its own one has whoever else plays on the server."""
_SESSIONS = f"SELECT 1 FROM pg_stat_activity WHERE application_name IN ('pgassay-player', '{_PGBENCH}')"
_COUNTERS = (
    "SELECT heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit FROM pg_statio_user_tables"
    f" WHERE relname = '{table.TABLE}'"
)


class CacheprobeLoad(BaseLoad[CacheprobeOptions]):
    """Three phases of our player or of pgbench, and what the server and the kernel count over them."""

    responses = phases.RESPONSES

    @property
    def _pgbench(self) -> Path:
        return self.tools.bindir / "pgbench"

    def check(self) -> None:
        """Refuse a length, a run without a warm-up, absent CPUs and a missing program."""
        program.check(self.options.cores)
        if self.options.duration_s is not None:
            raise messages.no_length(self.name)
        if self.options.warmup_s == 0:
            raise messages.needs_warm_up(self.name)
        if self.options.method == PLAYER:
            find()
        elif not self._pgbench.exists():
            raise messages.missing_program(self._pgbench, "which runs the probes")

    def data_key(self) -> Mapping[str, str]:
        """The number of rows, whichever way it was said, and the words that the data carry."""
        return {"rows": str(self.options.rows), "size": str(self.options.size)}

    def create(self, server: Server) -> None:
        """Create the empty table, without its index."""
        table.create(server)

    def fill(self, server: Server) -> None:
        """Load the rows, build the index, VACUUM ANALYZE; raises `LoadError`."""
        table.fill(server, self.options)

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """The three phases, or with a duration the warm-up alone."""
        options = self.options
        output.mkdir(parents=True, exist_ok=True)
        for name, text in SCRIPTS.items():
            (output / f"{name}.sql").write_text(text + "\n", encoding="utf-8")
        began = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        found: Mapping[str, float | None] = {}
        problems: Mapping[str, str] = program.problem(options.cores, server)
        if problems:
            pass  # nowhere to run
        elif options.duration_s is not None:
            found, problems = self._warm_up(server, options.duration_s, output)
        else:
            found, problems = self._protocol(server, output)
        return LoadResult(
            status=0 if not problems else 1,
            began=began,
            ended=(self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()),
            transactions=2 * options.probes + 1,
            responses=phases.derived(found),
            series=tuple[Sample, ...](),
            problems=problems,
            read_back={"load.probes": str(options.probes), "load.method": options.method},
        )

    def _warm_up(
        self, server: Server, seconds: int, output: Path
    ) -> tuple[Mapping[str, float | None], Mapping[str, str]]:
        try:
            for relation in (table.TABLE, table.INDEX):
                server.query("SELECT pg_prewarm(%s::regclass)", [relation])
        except QueryError as error:
            return {}, {"not_prewarmed": error.message}
        return {}, self._phase(server, Phase("warmup", seconds=seconds), output).problems

    def _protocol(self, server: Server, output: Path) -> tuple[Mapping[str, float | None], Mapping[str, str]]:
        options = self.options
        found: dict[str, float | None] = {}
        problems: dict[str, str] = {}
        probes: list[float] = []
        try:
            found |= _shares(server, "warm")
            before = self._blocks(server)
            for phase in (
                Phase("idx1", options.probes),
                Phase("seq", 1),
                Phase("idx2", options.probes),
            ):
                yielded = self._phase(server, phase, output)
                told = () if options.method == PUBLISHED else yielded.each_ms
                found |= phases.of_phase(phase.name, yielded.mean_ms, told)
                probes += yielded.each_ms if phase.script == "idx" else ()
                problems |= yielded.problems
                if yielded.problems:
                    break
                if phase.name == "seq":
                    found |= _shares(server, "scan")
            after = self._blocks(server)
            found |= {name: end - start for name, start, end in zip(phases.BLOCKS, before, after, strict=True)}
            found |= {**_sizes(server), shared.IMPOSSIBLE.name: phases.impossible(probes)}
        except QueryError as error:
            problems.setdefault("server", error.message)
        return found, problems

    def _phase(self, server: Server, phase: Phase, output: Path) -> Outcome:
        """Run one to its end, whatever that is; its outputs stay."""
        found = (self._play if self.options.method == PLAYER else self._pgbench_phase)(server, phase, output)
        if not found.problems:
            self._wait_for_counts(server)
        return found

    def _play(self, server: Server, phase: Phase, output: Path) -> Outcome:
        load = PlayedLoad((PlayedScript(phase.script, SCRIPTS[phase.script]),))
        try:
            with Player(
                load, server.endpoint, self.tools.runner, self.tools.clock, program.place(self.options.cores, server)
            ) as playing:
                slices = [playing.play(transactions=1)]
                if phase.seconds:
                    slices.append(playing.play(duration_ms=phase.seconds * 1000))
                elif phase.transactions and phase.transactions > 1 and not slices[0].aborted:
                    slices.append(playing.play(transactions=phase.transactions - 1))
        except LoadError as error:
            return Outcome(None, (), {"aborted": f"{phase.name}: {error.message}"})
        (output / f"{phase.name}.json").write_text(json.dumps([asdict(each) for each in slices]), encoding="utf-8")
        return phases.played(phase, slices)

    def _wait_for_counts(self, server: Server) -> None:
        """A session's counts are there once it has ended, which a server does a moment after its client."""
        deadline_ns = self.tools.clock.monotonic_ns() + int(_SESSION_END_S * 1e9)
        while server.query(_SESSIONS) and self.tools.clock.monotonic_ns() < deadline_ns:
            self.tools.clock.sleep(_POLL_S)

    def _pgbench_phase(self, server: Server, phase: Phase, output: Path) -> Outcome:
        arguments = command(self._pgbench, server.endpoint, phase, output)
        running = self.tools.runner.start(
            arguments,
            stdout=output / f"{phase.name}.out",
            stderr=output / f"{phase.name}.err",
            environment={**server.endpoint.environment(), "PGAPPNAME": _PGBENCH},
            placement=program.place(self.options.cores, server),
            files=(output / f"{phase.script}.sql",),
            output=output,
        )
        try:
            done = running.wait(_LONGEST_S)
        except BaseException:
            running.terminate()
            raise
        logs = sorted(output.glob(f"{phase.name}_log.*"))
        return outcome(phase, done, "".join(each.read_text(encoding="ascii") for each in logs))

    def _blocks(self, server: Server) -> tuple[int, ...]:
        if server.version.major < _FLUSHED_SINCE:
            self.tools.clock.sleep(_COLLECTOR_S)
        rows = server.query(_COUNTERS)
        return tuple(int(value or 0) for value in rows[0]) if rows else (0, 0, 0, 0)


def _shares(server: Server, moment: str) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, relation in (("heap", table.TABLE), ("index", table.INDEX)):
        where = residency(server, relation)
        found[f"{name}_page_cache_{moment}_share"] = where.page_cache
        found[f"{name}_buffers_{moment}_share"] = where.buffers
    return found


def _sizes(server: Server) -> dict[str, float | None]:
    """Of heap and index in bytes, and the machine's huge pages (the published table's first column)."""
    ((heap, index),) = server.query("SELECT pg_relation_size(%s), pg_relation_size(%s)", [table.TABLE, table.INDEX])
    found: dict[str, float | None] = {"table_bytes": float(heap), "index_bytes": float(index), "huge_pages": None}
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("HugePages_Total:"):
            found["huge_pages"] = float(line.split()[1])
    return found
