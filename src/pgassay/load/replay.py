"""A server's log as a load: its sessions, statements, values, order and pauses once more (docs/loads.md).

Each call is sent when it was due in the source, whatever the server answers meanwhile (open loop), so a server that
stalls is late with all that waits behind it, and is charged for it. Latencies count from when a call was due. Calls
that failed have none: they are counted, apart from those that failed in the source, too.

The warm-up is the first part of the log and the window goes on behind it, so that nothing is played twice: rows that an
INSERT has made would be there already.

A stretch is played in one run of our own player and never cut into slices: what waits where a slice ends would be
played before the next one begins, so a server that is too slow would be given the time that it lacks. That is also why
servers do not take turns under it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from pgassay.errors import UsageError
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.factor import Turns
from pgassay.interfaces.kinds import PATH, Kind, is_number, whole
from pgassay.interfaces.load import BaseLoad, Driver, LoadResult
from pgassay.interfaces.options import option
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import Slice
from pgassay.load import program
from pgassay.load import responses as shared
from pgassay.load.options import OwnDataOptions, RemoteOptions, join_list, kind, positive, split_list
from pgassay.load.pgbench import data
from pgassay.load.player import PROGRAM, LogFacts, ReplayedLog, facts_of, find, slice_of
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import format_number
from pgassay.study.work import CALL

DEFAULT_PREFIX = "%m [%p]"
"""PostgreSQL's own log_line_prefix, without the space at its end: levels have none."""
SESSIONS = 90
"""As many as fit in addition to ours into PostgreSQL's own max_connections."""


def _share(text: str) -> float | None:
    number = text.removesuffix("%")
    return float(number) / 100 if number != text and is_number(number) and float(number) <= 100 else None


LOGS: Kind[tuple[Path, ...]] = Kind(
    lambda name, text: tuple(PATH.parse(name, part) for part in split_list(text)),
    lambda paths: join_list(map(str, paths)),
    "files: a.log,b.log",
    each_path=lambda paths, change: tuple(map(change, paths)),
    holds_rows=True,
)
PREFIXES: Kind[tuple[str, ...]] = Kind(
    lambda name, text: tuple(line.strip() for line in text.splitlines() if line.strip()),
    "\n".join,
    "settings of log_line_prefix, a line each",
)
SPEED: Kind[float] = kind(
    lambda text: positive(text.removesuffix("x")),
    lambda factor: f"{format_number(factor)}x",
    "a multiple of the log's own: 2x",
    must="a multiple of the log's own speed",
    hint='for example "2x"',
)
SHARE: Kind[float] = kind(
    _share,
    lambda share: f"{format_number(share * 100)}%",
    "a share: 5%",
    must="a share up to 100%",
    hint='for example "5%"',
)
DATABASE: Kind[str] = Kind(lambda name, text: text.strip(), str, "a name")


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(RemoteOptions, OwnDataOptions):
    """A log that is played again, on the data that `init` holds or that the cluster was copied with."""

    driver = "replay"
    turns = Turns(
        "a log has one schedule: what a slow server owes at the end of a slice would not be carried into the next one",
        one_value=True,
    )

    logs: tuple[Path, ...] = option(
        LOGS, name="log", default=(), summary="the log that is played: stderr, csvlog or jsonlog, also compressed"
    )
    prefixes: tuple[str, ...] = option(
        PREFIXES,
        name="log_prefix",
        default=(DEFAULT_PREFIX,),
        summary="the log_line_prefix that a log in stderr's format was written with",
    )
    database: str | None = option(
        DATABASE, name="log_database", default=None, summary="the database whose sessions are played; all if left out"
    )
    speed: float = option(SPEED, default=1.0, scales=True, summary="how many times as fast as in the log")
    sessions: int = option(
        whole(), default=SESSIONS, summary="the most sessions of the log at once; those beyond are left out"
    )
    failures: float = option(
        SHARE, default=0.01, summary="the most calls that may fail, as a share, if they did not fail in the log"
    )

    @property
    def line_prefixes(self) -> tuple[str, ...]:
        """As the log may have them: a setting mostly ends with a space, which a level has lost."""
        return tuple(found for each in self.prefixes for found in (f"{each} ", each))

    @property
    def connections(self) -> int:
        return self.sessions

    @property
    def round_trips(self) -> float | None:
        """Of a call, which is what a transaction is here."""
        return 1.0

    def estimated_bytes(self) -> int:
        """By the size of the user's file; data that were copied are known to the lab."""
        own_bytes = self.own_bytes
        return super().estimated_bytes() if own_bytes is None else own_bytes


SOURCE = "replay"
FILE = "replay.json"
FORMAT = 1
_DESCRIPTION = "replay_description.json"
PATIENCE_S = 50
"""So long after its end a server may go on with what is due; less than a run may take longer than asked."""
_READ_BYTES_PER_S = 10e6
"""At least, of a log: the program reads it before it begins."""
TRAVELS_BYTES = 64 << 20
"""Logs go to another host as one message for each trial, so they may not be larger together."""
_NAMED = 3
_ABORTED = "25P02"
"""SQLSTATE of a call in a transaction that an earlier one has aborted: it has no cause of its own."""
_TEXT_MAX = 80

RESPONSES: tuple[Response, ...] = (
    Response("tps", "calls per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("latency_stddev_ms", "standard deviation of latency", "ms", Better.LOWER),
    *shared.LATENCIES,
    Response("lateness_ms", "mean lateness behind the log's schedule", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("lateness_p99_ms", "99th percentile of lateness", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("lateness_max_ms", "greatest lateness", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("failed_share", "share of calls that failed, and did not in the log", "share", Better.LOWER,
             Scale.DIFFERENCE),
)  # fmt: skip


@dataclass(frozen=True)
class PlayedStatement:
    """A statement without its constants as a replay counted it: calls that were answered, from sending to answer."""

    text: str
    calls: int
    exec_ms: float
    rows: int


def statements_of(written: bytes) -> tuple[PlayedStatement, ...]:
    """Those of a file that `encode` wrote."""
    return tuple(
        PlayedStatement(each["text"], each["calls"], each["exec_ms"], each["rows"])
        for each in json.loads(written)["statements"]
    )


def of_slice(played: Slice, seconds: float) -> dict[str, float | None]:
    """The responses of the stretch, which took so many seconds until its last answer."""
    found = shared.of_slices([played], seconds)
    late = played.lateness
    if late.count:
        p99_ns = late.quantile_ns(0.99)
        found["lateness_ms"] = late.sum_ns / late.count / 1e6
        found["lateness_p99_ms"] = None if p99_ns is None else p99_ns / 1e6
        found["lateness_max_ms"] = late.most_ns / 1e6
    return shared.complete(RESPONSES, found)


def problems_of(facts: LogFacts, played: Slice, failures: float) -> dict[str, str]:
    """What went wrong, code to detail; failures of a share up to `failures` are a response, and no problem."""
    problems = {}
    if played.aborted:
        more = f" (and {len(played.aborted) - 1} more sessions)" if len(played.aborted) > 1 else ""
        problems["aborted"] = played.aborted[0] + more
    elif played.unsent:
        last_ms = played.lateness.most_ns / 1e6
        problems["fell_behind"] = (
            f"{played.unsent} of {facts.calls} calls were not answered in time: the server cannot keep up with the log"
            f" at this speed (calls were sent up to {last_ms / 1e3:.1f} s late)"
        )
    failed = sum(played.failed.values())
    due = played.transactions + failed
    if failed > failures * due:
        behind = played.failed.get(_ABORTED, 0)
        more = f" with {behind} more in transactions that these aborted" if behind else ""
        problems["failed_transactions"] = (
            f"{failed - behind} of {due} calls failed ({failed / due:.1%}{more}) that did not in the log:"
            f" {named(facts, played)}"
        )
    if not played.transactions and not problems:
        problems["no_transactions"] = "no call was answered"
    return problems


def named(facts: LogFacts, played: Slice) -> str:
    """The failures that come most often: SQLSTATE, how often, the server's words, and the statement."""
    worst = sorted((each for each in played.failures if each.code != _ABORTED), key=lambda each: -each.count)
    parts = [
        f"{each.count} with {each.code} ({each.message}) in {facts.statements[each.statement][:_TEXT_MAX]}"
        for each in worst[:_NAMED]
    ]
    return "; ".join(parts) + (f"; and {len(worst) - _NAMED} other ways" if len(worst) > _NAMED else "")


def series(played: Slice, source: str, offset_ns: int, closed_ns: int) -> tuple[Sample, ...]:
    """Samples at the end of each whole second: calls answered, their mean latency, and how late calls were sent."""
    samples: list[Sample] = []
    for number, second in enumerate(played.seconds, start=1):
        at_ns = played.opened_ns + number * 10**9
        if at_ns > closed_ns:
            break
        latency_ms = second.latency_sum_ns / second.answered / 1e6 if second.answered else None
        late_ms = second.lateness_sum_ns / second.sent / 1e6 if second.sent else None
        moment = at_ns, at_ns + offset_ns
        samples += [
            Sample(*moment, source, "tps", "1/s", float(second.answered)),
            Sample(*moment, source, "latency_ms", "ms", latency_ms),
            Sample(*moment, source, "lateness_ms", "ms", late_ms),
        ]
    return tuple(samples)


def described(written: bytes, result: LoadResult) -> str:
    """A replay in a few lines: what was played and how late, and what failed here alone."""
    found = json.loads(written)
    failures = [{**failure, "text": each["text"]} for each in found["statements"] for failure in each["failures"]]
    failed = sum(each["count"] for each in failures)
    behind = sum(each["count"] for each in failures if each["code"] == _ABORTED)
    more = f", and {behind} more in transactions that these aborted" if behind else ""
    late_ms = result.responses["lateness_p99_ms"] or 0.0
    lasted_s = (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9
    lines = [
        f"replay: {result.transactions + failed + found['failed_alike']} calls of {found['sessions']} sessions in"
        f" {lasted_s:.0f} s; 99 % were sent at most {late_ms:.1f} ms late; {failed - behind} failed that did not in the"
        f" log{more}"
    ]
    worst = sorted((each for each in failures if each["code"] != _ABORTED), key=lambda each: -each["count"])
    lines += ["  {count} with {code} ({message}) in {text}".format(**each) for each in worst[:_NAMED]]
    return "\n".join(lines) + "\n"


def encode(facts: LogFacts, played: Slice) -> bytes:
    """The file with a trial's results: what of the log was played, and each statement with its times and failures."""
    statements = [
        {
            "text": text,
            "calls": latencies.count,
            "latency_ms": latencies.sum_ns / latencies.count / 1e6 if latencies.count else None,
            "exec_ms": times.sum_ns / 1e6,
            "rows": times.rows,
            "failures": [
                {"code": each.code, "message": each.message, "count": each.count}
                for each in played.failures
                if each.statement == number
            ],
        }
        for number, (text, latencies, times) in enumerate(
            zip(facts.statements, played.scripts, played.statements, strict=True)
        )
    ]
    found = {
        "format": FORMAT,
        "sessions": facts.sessions,
        "calls": facts.calls,
        "left_out": asdict(facts.left_out),
        "failed_alike": played.failed_alike,
        "unsent": played.unsent,
        "statements": statements,
    }
    return json.dumps(found, indent=1).encode()


class ReplayLoad(BaseLoad[ReplayOptions]):
    responses = RESPONSES

    def check(self) -> None:
        options = self.options
        program.check(options.cores, options.host)
        if options.init is not None:
            data.require_own(self.tools.bindir, options.init)
        if not options.logs:
            raise UsageError("the load replay needs a log", 'name its files: "load.log" = ["postgresql.log"]')
        for path in options.logs:
            if not path.is_file():
                raise UsageError(
                    f'log "{path}" does not exist', "give PostgreSQL's log in stderr's format, csvlog or jsonlog"
                )
        if self.tools.player_host is not None:
            self.tools.player_host.require_player()
            size_bytes = sum(path.stat().st_size for path in options.logs)
            if size_bytes > TRAVELS_BYTES:
                most = f'no more than {TRAVELS_BYTES >> 20} MiB are sent to the host "{options.host}"'
                raise UsageError(
                    f"the log has {size_bytes >> 20} MiB, and {most}",
                    "give a shorter log, or play it here: load.host = loopback",
                )
        self._require_enough(facts_of(self._log, self.tools.runner))

    def _require_enough(self, facts: LogFacts) -> None:
        options, left = self.options, facts.left_out
        if left.unread > facts.log_calls:
            raise UsageError(
                f"{left.unread} records of the log cannot be read, more than it has calls; the first is: "
                f"{left.first_unread}",
                "load.log_prefix must be the log_line_prefix that it was written with, a line for each",
            )
        lost = left.without_parameters + left.commands + left.half_calls
        if lost > facts.log_calls:
            parts = (
                (left.without_parameters, "without their parameters"),
                (left.commands, "of commands that are not played"),
                (left.half_calls, "of transactions that begin before the log"),
            )
            missing = ", ".join(f"{count} {what}" for count, what in parts if count)
            raise UsageError(
                f"only {facts.log_calls} of the log's {facts.log_calls + lost} calls can be played: {missing}",
                "parameters are logged with log_parameter_max_length = -1",
            )
        wanted_s, length_s = options.warmup_s + (options.duration_s or 0), facts.length_ms / 1e3
        if length_s < wanted_s:
            hint = f"shorten them to {int(length_s)} s together" if length_s >= 1 else "give a longer log"
            raise UsageError(
                f"the log is {length_s:.1f} s long at this speed, and load.warmup and load.duration ask for"
                f" {wanted_s} s",
                f"{hint}, or lower load.speed" if options.warmup_s < length_s else hint,
            )
        if not facts.calls:
            raise UsageError(
                f"the log has no call between {options.warmup_s} s and {wanted_s} s",
                "choose another warm-up or duration",
            )

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
        init = self.options.init
        return {} if init is None else {"init": self.tools.hashes.sha256(init)}

    def create(self, server: Server) -> None:
        init = self._init()
        data.create_own(self.tools.bindir, self.tools.runner, server.endpoint, init)

    def fill(self, server: Server) -> None:
        init = self._init()
        data.fill_own(self.tools.bindir, self.tools.runner, server.endpoint, init)
        server.execute("VACUUM (ANALYZE)")

    def _init(self) -> Path:
        if self.options.init is None:
            raise LoadError(
                "the load replay has no data to play its log on",
                "load.init names a dump or SQL",
            )
        return self.options.init

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Play the stretch; the description, what was left out and all answers go to `output`. A log takes no seed."""
        options = self.options
        output.mkdir(parents=True, exist_ok=True)
        description = output / _DESCRIPTION
        description.write_text(
            json.dumps(self._log.specification(server.client_endpoint), ensure_ascii=False), encoding="utf-8"
        )
        length_s = options.duration_s or 0
        play = {"play": {"duration_ms": length_s * 1000, "patience_ms": PATIENCE_S * 1000}}
        player = str(find()) if self.tools.player_host is None else PROGRAM
        reading_s = sum(path.stat().st_size for path in options.logs if path.exists()) / _READ_BYTES_PER_S
        run = program.run(
            self.tools,
            server,
            options,
            [player, "--once", json.dumps(play), str(description), *map(str, options.logs)],
            output,
            SOURCE,
            length_s + int(reading_s),
            files=[description, *options.logs],
        )
        status, problems, began, there = run.done.status, run.problems, run.began, run.done.elsewhere
        lines = run.done.stdout.splitlines()
        if len(lines) < 2:  # the facts of the log come first, then its one slice
            said = run.done.stderr.strip().removeprefix(f"{PROGRAM}: ") or "no message"
            problems = problems or {"killed" if status < 0 else "refused": said}
            return LoadResult(status or 1, began, run.ended, 0, shared.complete(RESPONSES, {}), problems=problems)
        facts, played = (
            msgspec.convert(json.loads(lines[0])["ready"], LogFacts),
            slice_of(json.loads(lines[1]), timed=True),
        )
        if there is not None:
            played = played.later(began[0] - there.began_monotonic_ns)
        offset_ns = began[1] - began[0]
        closed_ns = max(played.drained_ns, played.opened_ns + length_s * 10**9)
        (output / FILE).write_bytes(encode(facts, played))
        (output / shared.SKETCHES_FILE).write_bytes(
            shared.encode_slices([played.latencies.buckets], length_s, [each.buckets for each in played.scripts])
        )
        return LoadResult(
            status=status or (2 if played.aborted else 0),
            began=(played.opened_ns, played.opened_ns + offset_ns),
            ended=(closed_ns, closed_ns + offset_ns),
            transactions=played.transactions,
            responses=of_slice(played, (closed_ns - played.opened_ns) / 1e9),
            series=series(played, SOURCE, offset_ns, closed_ns),
            problems=problems or problems_of(facts, played, options.failures),
            elsewhere=there,
        )

    @property
    def ungated(self) -> str:
        return (
            f'the load "{self.name}" cannot be played in slices: what waits at the end of a slice would not be carried'
            " into the next, and a log has one schedule"
        )


DRIVER = Driver(ReplayOptions, ReplayLoad, "a server's log, played again in its own time, on your data", work=CALL)
