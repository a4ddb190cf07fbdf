"""The load of a replay: one stretch of the log by our own player, in one run of its program.

The stretch is never cut into slices: what waits where a slice ends would be played before the next one begins, so a
server that is too slow would be given the time that it lacks. That is also why servers do not take turns under it.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench import messages as bench_messages
from pgassay.bench.load import BaseLoad, LoadResult
from pgassay.bench.server import Server
from pgassay.bench.slices import SlicePlayer
from pgassay.load import messages, program, sketches
from pgassay.load.controlled import PROGRAM, find
from pgassay.load.pgbench import data
from pgassay.load.player import LogFacts, ReplayedLog, facts_of, slice_of
from pgassay.load.replay import results
from pgassay.load.replay.options import ReplayOptions

SOURCE = "replay"
DESCRIPTION = "replay_description.json"
PATIENCE_S = 50
"""So long after its end a server may go on with what is due; less than a run may take longer than asked."""
_READ_BYTES_PER_S = 10e6
"""At least, of a log: the program reads it before it begins."""
TRAVELS_BYTES = 64 << 20
"""Logs go to another host as one message for each trial, so they may not be larger together."""


class ReplayLoad(BaseLoad[ReplayOptions]):
    """A log that is played on the data of the study."""

    responses = results.RESPONSES

    def check(self) -> None:
        """Refuse logs that are missing, damaged or too short, and CPUs, programs and data files that are not there."""
        options = self.options
        program.check(options.cores, options.host)
        if options.init is not None:
            data.require_own(self.tools.bindir, options.init)
        if not options.logs:
            raise messages.no_log_named()
        for path in options.logs:
            if not path.is_file():
                raise messages.missing_log(path)
        if self.tools.player_host is not None:
            self.tools.player_host.require_player()
            size_bytes = sum(path.stat().st_size for path in options.logs)
            if size_bytes > TRAVELS_BYTES:
                raise messages.log_too_large(options.host, size_bytes, TRAVELS_BYTES)
        self._require_enough(facts_of(self._log, self.tools.runner))

    def _require_enough(self, facts: LogFacts) -> None:
        options, left = self.options, facts.left_out
        if left.unread > facts.log_calls:
            raise messages.mostly_unread(left.unread, left.first_unread)
        lost = left.commands + left.without_parameters + left.half_calls
        if lost > facts.log_calls:
            raise messages.mostly_left_out(facts.log_calls, left.commands, left.without_parameters, left.half_calls)
        wanted_s = options.warmup_s + (options.duration_s or 0)
        if facts.length_ms < wanted_s * 1e3:
            raise messages.short_log(facts.length_ms / 1e3, wanted_s, options.warmup_s)
        if not facts.calls:
            raise messages.quiet_log(options.warmup_s, wanted_s)

    @property
    def _log(self) -> ReplayedLog:
        """The stretch behind the warm-up; a warm-up itself has none, so it begins with the log."""
        options = self.options
        return ReplayedLog(
            paths=options.logs,
            prefixes=options.line_prefixes,
            database=options.database or "",
            time_factor=options.speed,
            from_ms=options.warmup_s * 1000,
            length_ms=(options.duration_s or 0) * 1000,
            sessions=options.sessions,
        )

    def data_key(self) -> Mapping[str, str]:
        """The hash of the user's data; none for a cluster that is a copy."""
        init = self.options.init
        return {} if init is None else {"init": self.tools.hashes.sha256(init)}

    def create(self, server: Server) -> None:
        """Create the empty schema of the dump; plain SQL runs whole; raises `LoadError`."""
        if self.options.init is None:
            raise messages.no_data_to_replay()
        data.create_own(self.tools.bindir, self.tools.runner, server.endpoint, self.options.init)

    def fill(self, server: Server) -> None:
        """Load the rows, build keys, VACUUM ANALYZE; raises `LoadError`."""
        if self.options.init is None:
            raise messages.no_data_to_replay()
        data.fill_own(self.tools.bindir, self.tools.runner, server.endpoint, self.options.init)
        server.execute("VACUUM (ANALYZE)")

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Play the stretch; the description, what was left out and all answers go to `output`. A log takes no seed."""
        options, clock = self.options, self.tools.clock
        output.mkdir(parents=True, exist_ok=True)
        description = output / DESCRIPTION
        description.write_text(
            json.dumps(self._log.specification(server.client_endpoint), ensure_ascii=False), encoding="utf-8"
        )
        length_s = options.duration_s or 0
        play = {"play": {"duration_ms": length_s * 1000, "patience_ms": PATIENCE_S * 1000}}
        began = clock.monotonic_ns(), clock.wall_ns()
        problems = program.problem(options.cores, server)
        status, stdout, stderr, there = 1, "", "", None
        if not problems:
            player = str(find()) if self.tools.player_host is None else PROGRAM
            reading_s = sum(path.stat().st_size for path in options.logs if path.exists()) / _READ_BYTES_PER_S
            done, problems = program.watch(
                self.tools.load_runner,
                clock,
                server,
                [player, "--once", json.dumps(play), str(description), *map(str, options.logs)],
                output,
                SOURCE,
                length_s + int(reading_s),
                placement=program.place(options.cores, server, options.host),
                files=[description, *options.logs],
            )
            status, stdout, stderr, there = done.status, done.stdout, done.stderr, done.elsewhere
            began, _ = program.span(done, began, began)
        ended = clock.monotonic_ns(), clock.wall_ns()
        told = stdout.splitlines()
        if len(told) < 2:  # the facts of the log come first, then its one slice
            said = stderr.strip().removeprefix(f"{PROGRAM}: ") or "no message"
            problems = problems or {"killed" if status < 0 else "refused": said}
            return LoadResult(status or 1, began, ended, 0, results.complete({}), problems=problems)
        facts, played = LogFacts.of(json.loads(told[0])["ready"]), slice_of(json.loads(told[1]), timed=True)
        if there is not None:
            played = played.later(began[0] - there.began_monotonic_ns)
        offset_ns = began[1] - began[0]
        closed_ns = max(played.drained_ns, played.opened_ns + length_s * 10**9)
        (output / results.FILE).write_bytes(results.encode(facts, played))
        (output / sketches.FILE).write_bytes(
            sketches.encode_slices([played.latencies.buckets], length_s, [each.buckets for each in played.scripts])
        )
        problems = problems or results.problems_of(facts, played, options.failures)
        return LoadResult(
            status=status or (2 if played.aborted else 0),
            began=(played.opened_ns, played.opened_ns + offset_ns),
            ended=(closed_ns, closed_ns + offset_ns),
            transactions=played.transactions,
            responses=results.of_slice(played, (closed_ns - played.opened_ns) / 1e9),
            series=results.series(played, SOURCE, offset_ns, closed_ns),
            problems=problems,
            elsewhere=there,
        )

    @property
    def ungated(self) -> str | None:
        """A log is one stretch."""
        return messages.not_in_slices(self.name, messages.ONE_STRETCH)

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> SlicePlayer:
        """Refuse by name; raises `UsageError`."""
        raise bench_messages.cannot_gate(messages.not_in_slices(self.name, messages.ONE_STRETCH))
