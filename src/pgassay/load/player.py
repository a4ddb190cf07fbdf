"""The player of slices: pgbench's scripts on a live server, by our own program on libpq's protocol (crates/player).

pgbench cannot be stopped between two transactions and takes its clock from the transaction before; the player drains
before it stands still, and reads its clock around each statement. What it does not know of pgbench's script language
it refuses by name (`\\setshell`, `permute`), before anything is connected.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pgassay import scratch
from pgassay.bench.client import PlayerHost
from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Endpoint
from pgassay.bench.running import Clock, Dialogue, Runner
from pgassay.bench.slices import CallFailure, LatencyHistogram, ReplayedSecond, Slice, StatementTimes
from pgassay.load import messages
from pgassay.load.controlled import DESCRIPTION, PROGRAM, ControlledProgram, find


@dataclass(frozen=True)
class PlayedScript:
    """A script by name: pgbench's language, drawn by its weight among the others."""

    name: str
    text: str
    weight: int = 1


@dataclass(frozen=True)
class PlayedLoad:
    """What is played: `protocol` as pgbench's -M, `rate_tps` open loop, `variables` that each client begins with."""

    scripts: tuple[PlayedScript, ...]
    clients: int = 1
    threads: int = 1
    protocol: str = "simple"
    seed: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    rate_tps: float | None = None
    max_tries: int = 1
    latency_limit_ms: float | None = None
    pair_on: tuple[int, ...] = ()
    """The CPUs on which threads are paired with their clients' backends; none: they run where the scheduler likes."""

    def specification(self, endpoint: Endpoint) -> dict[str, Any]:
        """As the program reads it."""
        return {
            **_way(endpoint),
            "protocol": self.protocol,
            "clients": self.clients,
            "threads": self.threads,
            "scripts": [{"name": each.name, "text": each.text, "weight": each.weight} for each in self.scripts],
            "variables": sorted(self.variables.items()),
            "seed": self.seed,
            "rate_tps": self.rate_tps,
            "max_tries": self.max_tries,
            "latency_limit_ms": self.latency_limit_ms,
            "pair_on": self.pair_on,
        }


@dataclass(frozen=True)
class ReplayedLog:
    """A server's log that is played again, `time_factor` times as fast; `prefixes` are its settings of log_line_prefix.

    Each statement without its constants is a script of the slices, and a call of it one of their transactions.
    """

    paths: tuple[Path, ...]
    prefixes: tuple[str, ...] = ()
    database: str = ""
    """Its sessions alone, where the log names databases; all where it is empty."""
    time_factor: float = 1.0
    from_ms: int = 0
    """From here on, by the replay's time; transactions that are open there belong to the time before."""
    length_ms: int | None = None
    """So long; None: to the log's end."""
    sessions: int | None = None
    """The most sessions at once; those beyond are left out."""
    pair_on: tuple[int, ...] = ()
    """Never paired: sessions come and go as in the log."""

    def specification(self, endpoint: Endpoint) -> dict[str, Any]:
        """As the program reads it."""
        return {
            **_way(endpoint),
            "replay": {
                "logs": [str(path.absolute()) for path in self.paths],
                "prefixes": self.prefixes,
                "database": self.database,
                "time_factor": self.time_factor,
                "from_ms": self.from_ms,
                "length_ms": self.length_ms,
                "sessions": self.sessions,
            },
        }


def _way(endpoint: Endpoint) -> dict[str, Any]:
    """How the program reaches the server; over TCP libpq's variables say more, so that no password is among these."""
    named = {"port": endpoint.port, "database": endpoint.database, "user": endpoint.user}
    return named if endpoint.network else {"socket_directory": str(endpoint.socket_directory), **named}


@dataclass(frozen=True)
class LeftOut:
    """What of a log is not played, and which of its records could not be read (docs/player.md)."""

    commands: int = 0
    """Calls that no log can give or that change more than rows, and those of sessions without a name."""
    without_parameters: int = 0
    half_sessions: int = 0
    """Sessions that begin in the midst of a transaction, whose calls up to its end are `half_calls`."""
    half_calls: int = 0
    sessions_beyond: int = 0
    calls_beyond: int = 0
    unread: int = 0
    foreign: int = 0
    torn: int = 0
    first_unread: str = ""


@dataclass(frozen=True)
class LogFacts:
    """What a log has to be played: statements without their constants, in the order of the slices' scripts.

    `sessions` and `calls` are those of the stretch that is asked for, `log_calls` all that can be played, `length_ms`
    is that of the whole log at the time factor.
    """

    sessions: int
    calls: int
    log_calls: int
    left_out: LeftOut
    length_ms: float
    statements: tuple[str, ...]

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> "LogFacts":
        """As the program writes them."""
        return cls(
            **{**written, "left_out": LeftOut(**written["left_out"]), "statements": tuple(written["statements"])}
        )


def check(load: PlayedLoad, runner: Runner) -> None:
    """Raise `UsageError`, in the program's own words, for a load that it cannot play; nothing is connected."""
    _checked(load, runner, messages.PLAYS_THE_REST)


def facts_of(log: ReplayedLog, runner: Runner) -> LogFacts:
    """What a log has to be played; nothing is connected. Raises `UsageError` for one that cannot be played."""
    return LogFacts.of(json.loads(_checked(log, runner, messages.LOGS_ARE_READ)))


def _checked(load: PlayedLoad | ReplayedLog, runner: Runner, hint: str) -> str:
    files = load.paths if isinstance(load, ReplayedLog) else ()
    with scratch.folder("player") as folder:
        file = folder / DESCRIPTION
        description = load.specification(Endpoint(Path("/"), 5432, "none", "none"))
        file.write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
        done = runner.run([str(find()), "--check", str(file)], files=(file, *files))
    if done.status:
        raise messages.cannot_play(done.stderr.strip().removeprefix(f"{PROGRAM}: "), hint)
    return done.stdout


class Player:
    """See `bench.slices.SlicePlayer`. Use it in a `with`, from the main thread: the program dies with that thread.

    On another host (`host`) slices are timed by that host's clock; their moments are then near to what ours showed.
    """

    def __init__(
        self,
        load: PlayedLoad | ReplayedLog,
        endpoint: Endpoint,
        runner: Runner,
        clock: Clock,
        placement: Placement = ANYWHERE,
        host: PlayerHost | None = None,
    ) -> None:
        """Start the program and wait until every client is connected; raises `LoadError` if one is refused."""
        self.paired = bool(load.pair_on)
        self._clock, self._away = clock, host is not None
        description, network = load.specification(endpoint), endpoint.network
        way = endpoint.environment() if network else None
        files = (*(load.paths if isinstance(load, ReplayedLog) else ()), *(network.files if network else ()))
        self._program: Dialogue = (
            ControlledProgram("--control", description, runner, clock, placement, way, files)
            if host is None
            else host.converse(description, endpoint, placement)
        )

    def __enter__(self) -> "Player":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice; see `SlicePlayer.play`."""
        limits = {"duration_ms": duration_ms, "transactions": transactions}
        order = {"play": {name: limit for name, limit in limits.items() if limit is not None}}
        asked_ns = self._clock.monotonic_ns()
        played = slice_of(self._program.ask(order), timed=duration_ms is not None)
        return played.between(asked_ns, self._clock.monotonic_ns()) if self._away else played

    @property
    def log(self) -> LogFacts:
        """Of a log that is replayed."""
        return LogFacts.of(self._program.ready["ready"])

    @property
    def pid(self) -> int:
        """The process id of the program; 0 once it is closed."""
        return self._program.pid

    def close(self) -> None:
        """Disconnect and end the program; calling it twice is harmless."""
        self._program.close()


def slice_of(answer: Mapping[str, Any], *, timed: bool) -> Slice:
    """A slice as the program writes it."""
    scripts = tuple(_histogram(script["latencies"]) for script in answer["scripts"])
    statements = [StatementTimes(**each) for script in answer["scripts"] for each in script["statements"]]
    return Slice(
        opened_ns=answer["opened_ns"],
        closed_ns=answer["closed_ns"],
        drained_ns=answer["drained_ns"],
        latencies=sum(scripts, LatencyHistogram()),
        scripts=scripts,
        statements=tuple(statements),
        failed=answer["failed"],
        retries=answer["retries"],
        late=answer["late"],
        parts=tuple(answer["parts"]) if timed else (),
        lateness=_histogram(answer["lateness"]),
        failed_alike=answer["failed_alike"],
        failures=tuple(CallFailure(**each) for each in answer["failures"]),
        unsent=answer["unsent"],
        seconds=tuple(ReplayedSecond(**each) for each in answer["seconds"]),
        aborted=tuple(answer["aborted"]),
        cpu_ns=answer["cpu_ns"],
    )


def _histogram(written: Mapping[str, Any]) -> LatencyHistogram:
    buckets = tuple((edge_ns, count) for edge_ns, count in written["buckets"])
    return LatencyHistogram(written["count"], written["sum_ns"], written["least_ns"], written["most_ns"], buckets)
