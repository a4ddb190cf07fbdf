"""The player of slices: pgbench's scripts on a live server, by our own program on libpq's protocol (crates/player).

pgbench cannot be stopped between two transactions and takes its clock from the transaction before; the player drains
before it stands still, and reads its clock around each statement. What it does not know of pgbench's script language
it refuses by name (`\\setshell`, pipelines, `permute`), before anything is connected.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Endpoint
from pgassay.bench.running import Clock, Runner
from pgassay.bench.slices import LatencyHistogram, Slice, StatementTimes
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
            "socket_directory": str(endpoint.socket_directory),
            "port": endpoint.port,
            "database": endpoint.database,
            "user": endpoint.user,
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
    pair_on: tuple[int, ...] = ()
    """Never paired: sessions come and go as in the log."""

    def specification(self, endpoint: Endpoint) -> dict[str, Any]:
        """As the program reads it."""
        return {
            "socket_directory": str(endpoint.socket_directory),
            "port": endpoint.port,
            "database": endpoint.database,
            "user": endpoint.user,
            "replay": {
                "logs": [str(path.absolute()) for path in self.paths],
                "prefixes": self.prefixes,
                "database": self.database,
                "time_factor": self.time_factor,
            },
        }


@dataclass(frozen=True)
class LogFacts:
    """What a log has to be played: statements without their constants, in the order of the slices' scripts.

    `left_out` counts calls that no log can give, or that change more than rows; `length_ms` is at the time factor.
    """

    sessions: int
    calls: int
    left_out: int
    length_ms: float
    statements: tuple[str, ...]


def check(load: PlayedLoad, runner: Runner) -> None:
    """Raise `UsageError`, in the program's own words, for a load that it cannot play; nothing is connected."""
    with tempfile.TemporaryDirectory(prefix="pgassay-player-") as folder:
        file = Path(folder) / DESCRIPTION
        file.write_text(json.dumps(load.specification(Endpoint(Path("/"), 5432, "none", "none"))), encoding="utf-8")
        done = runner.run([str(find()), "--check", str(file)])
    if done.status:
        raise messages.cannot_play(done.stderr.strip().removeprefix(f"{PROGRAM}: "))


class Player:
    """See `bench.slices.SlicePlayer`. Use it in a `with`, from the main thread: the program dies with that thread."""

    def __init__(
        self,
        load: PlayedLoad | ReplayedLog,
        endpoint: Endpoint,
        runner: Runner,
        clock: Clock,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Start the program and wait until every client is connected; raises `LoadError` if one is refused."""
        self.paired = bool(load.pair_on)
        place = endpoint.socket_directory
        self._program = ControlledProgram("--control", load.specification(endpoint), runner, clock, placement, place)

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
        return _slice(self._program.ask(order), timed=duration_ms is not None)

    @property
    def log(self) -> LogFacts:
        """Of a log that is replayed."""
        ready = self._program.ready["ready"]
        return LogFacts(
            ready["sessions"], ready["calls"], ready["left_out"], ready["length_ms"], tuple(ready["statements"])
        )

    @property
    def pid(self) -> int:
        """The process id of the program; 0 once it is closed."""
        return self._program.pid

    def close(self) -> None:
        """Disconnect and end the program; calling it twice is harmless."""
        self._program.close()


def _slice(answer: Mapping[str, Any], *, timed: bool) -> Slice:
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
        aborted=tuple(answer["aborted"]),
        cpu_ns=answer["cpu_ns"],
    )


def _histogram(written: Mapping[str, Any]) -> LatencyHistogram:
    buckets = tuple((edge_ns, count) for edge_ns, count in written["buckets"])
    return LatencyHistogram(written["count"], written["sum_ns"], written["least_ns"], written["most_ns"], buckets)
