"""The player of slices: pgbench's scripts on a live server, by our own program on libpq's protocol (crates/player).

pgbench cannot be stopped between two transactions and takes its clock from the transaction before; the player drains
before it stands still, and reads its clock around each statement. What it does not know of pgbench's script language
it refuses by name (`\\setshell`, pipelines, `permute`), before anything is connected.
"""

import json
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pgassay.bench.errors import LoadError
from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Endpoint
from pgassay.bench.running import Clock, Runner, Running
from pgassay.bench.slices import LatencyHistogram, Slice, StatementTimes
from pgassay.load import messages

PROGRAM = "pgassay-player"
VARIABLE = "PGASSAY_PLAYER"
_READY_S = 60.0
_LAST_WORDS_S = 10.0
"""How long a program that has closed its socket may take to say why and end."""
_POLL_S = 0.01
_SPECIFICATION, _SOCKET, _OUT, _ERR = "load.json", "control", "player.out", "player.err"


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
        }


def find(environment: Mapping[str, str] = os.environ) -> Path:
    """The program: $PGASSAY_PLAYER, or the one that came with us; raises `LoadError`."""
    named = environment.get(VARIABLE)
    path = Path(named) if named else Path(__file__).parents[1] / "_bin" / PROGRAM
    if not os.access(path, os.X_OK):
        raise messages.no_player()
    return path.absolute()


def check(load: PlayedLoad, runner: Runner) -> None:
    """Raise `UsageError`, in the program's own words, for a load that it cannot play; nothing is connected."""
    with tempfile.TemporaryDirectory(prefix="pgassay-player-") as folder:
        file = Path(folder) / _SPECIFICATION
        file.write_text(json.dumps(load.specification(Endpoint(Path("/"), 5432, "none", "none"))), encoding="utf-8")
        done = runner.run([str(find()), "--check", str(file)])
    if done.status:
        raise messages.cannot_play(done.stderr.strip().removeprefix(f"{PROGRAM}: "))


class Player:
    """See `bench.slices.SlicePlayer`. Use it in a `with`, from the main thread: the program dies with that thread."""

    def __init__(
        self,
        load: PlayedLoad,
        endpoint: Endpoint,
        runner: Runner,
        clock: Clock,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Start the program and wait until every client is connected; raises `LoadError` if one is refused."""
        self._folder = tempfile.TemporaryDirectory(prefix="pgassay-player-")
        self._running: Running | None = None
        self._stream: socket.socket | None = None
        try:
            self._start(load.specification(endpoint), runner, clock, placement)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Player":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice; see `SlicePlayer.play`."""
        limits = {"duration_ms": duration_ms, "transactions": transactions}
        self._tell({"play": {name: limit for name, limit in limits.items() if limit is not None}})
        return _slice(self._answer())

    def close(self) -> None:
        """Disconnect and end the program; calling it twice is harmless."""
        if self._stream is not None:
            self._answers.close()
            self._stream.close()
            self._stream = None
        if self._running is not None:
            self._running.terminate()
            self._running.wait()
            self._running = None
        self._folder.cleanup()

    def _start(self, specification: Mapping[str, Any], runner: Runner, clock: Clock, placement: Placement) -> None:
        folder = Path(self._folder.name)
        (folder / _SPECIFICATION).write_text(json.dumps(specification), encoding="utf-8")
        self._running = runner.start(
            [str(find()), "--control", str(folder / _SOCKET), str(folder / _SPECIFICATION)],
            stdout=folder / _OUT,
            stderr=folder / _ERR,
            placement=placement,
        )
        self._stream = self._connect(folder, clock)
        self._answers = self._stream.makefile("r", encoding="utf-8")
        self._answer()

    def _connect(self, folder: Path, clock: Clock) -> socket.socket:
        deadline_ns = clock.monotonic_ns() + int(_READY_S * 1e9)
        while True:
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.connect(str(folder / _SOCKET))
            except OSError:
                stream.close()
                if clock.monotonic_ns() > deadline_ns or self._ended():
                    raise self._gone() from None
                clock.sleep(_POLL_S)
            else:
                return stream

    def _ended(self, within_s: float = 0.0) -> bool:
        assert self._running is not None
        try:
            self._running.wait(within_s)
        except TimeoutError:
            return False
        return True

    def _gone(self) -> LoadError:
        """What the program said at its end; it closes the socket first, and says then why."""
        self._ended(_LAST_WORDS_S)
        return messages.player_ended(self._said())

    def _said(self) -> str:
        path = Path(self._folder.name) / _ERR
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        return text.strip().removeprefix(f"{PROGRAM}: ")

    def _tell(self, order: Mapping[str, Any]) -> None:
        assert self._stream is not None
        try:
            self._stream.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise self._gone() from None

    def _answer(self) -> Mapping[str, Any]:
        line = self._answers.readline()
        if not line:
            raise self._gone()
        answer: Mapping[str, Any] = json.loads(line)
        return answer


def _slice(answer: Mapping[str, Any]) -> Slice:
    latencies, statements = LatencyHistogram(), list[StatementTimes]()
    for script in answer["scripts"]:
        latencies += _histogram(script["latencies"])
        statements += [StatementTimes(**each) for each in script["statements"]]
    return Slice(
        opened_ns=answer["opened_ns"],
        closed_ns=answer["closed_ns"],
        drained_ns=answer["drained_ns"],
        latencies=latencies,
        statements=tuple(statements),
        failed=answer["failed"],
        retries=answer["retries"],
        late=answer["late"],
        aborted=tuple(answer["aborted"]),
        cpu_ns=answer["cpu_ns"],
    )


def _histogram(written: Mapping[str, Any]) -> LatencyHistogram:
    buckets = tuple((edge_ns, count) for edge_ns, count in written["buckets"])
    return LatencyHistogram(written["count"], written["sum_ns"], written["least_ns"], written["most_ns"], buckets)
