"""The player of slices, and the metronome: pgbench's scripts on a live server, by our own program (crates/player).

pgbench cannot be stopped between two transactions and takes its clock from the transaction before; the player drains
before it stands still, and reads its clock around each statement. What it does not know of pgbench's script language
it refuses by name (`\\setshell`, `permute`), before anything is connected.

The program is started with a description and asked by lines of JSON over a socket of its own. It dies with the thread
that started it, so start it from the main thread.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from pgassay import children, scratch
from pgassay.errors import UsageError
from pgassay.interfaces.client import PlayerHost
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.running import Clock, Dialogue, Runner, Running
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import Beat, LatencyHistogram, Slice

PROGRAM = "pgassay-player"
VARIABLE = "PGASSAY_PLAYER"
DESCRIPTION = "description.json"
_READY_S = 60.0
_LAST_WORDS_S = 10.0
"""How long a program that has closed its socket may take to say why and end."""
_POLL_S, _SESSION_END_S = 0.01, 60.0
_SESSIONS = f"SELECT 1 FROM pg_stat_activity WHERE application_name = '{PROGRAM}'"
_PLACE = Path("/tmp")
"""Not $TMPDIR: the path of a socket has 107 bytes."""
_SOCKET, _OUT, _ERR = "control", "player.out", "player.err"


def find(environment: Mapping[str, str] = os.environ) -> Path:
    """The program: $PGASSAY_PLAYER, or the one that came with us; raises `LoadError`."""
    path = children.own_program(PROGRAM, VARIABLE, environment)
    if path is None:
        raise LoadError(
            "the program pgassay-player, which plays loads in slices, is not installed",
            "build it with: make setup; or name it in $PGASSAY_PLAYER",
        )
    return path


class ControlledProgram:
    """The program under way, in the role that `option` names (`--control`, `--metronome`)."""

    def __init__(
        self,
        option: str,
        description: Mapping[str, Any],
        runner: Runner,
        clock: Clock,
        placement: Placement = ANYWHERE,
        environment: Mapping[str, str] | None = None,
        files: Sequence[Path] = (),
        privileged: str = "",
    ) -> None:
        """Start it and wait until it is ready; raises `LoadError` with its own words if it ends instead.

        `files` are those that its description and its environment name; `privileged` as for `Runner.start`.
        """
        self._held = ExitStack()
        self._running: Running | None = None
        self._stream: socket.socket | None = None
        try:
            folder = self._folder = self._held.enter_context(scratch.folder("player", _PLACE))
            (folder / DESCRIPTION).write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
            self._running = runner.start(
                [str(find()), option, str(folder / _SOCKET), str(folder / DESCRIPTION)],
                stdout=folder / _OUT,
                stderr=folder / _ERR,
                environment=environment,
                privileged=privileged,
                placement=placement,
                files=(folder / DESCRIPTION, *files),
                output=folder,
            )
            self._stream = self._connect(self._running.place(folder / _SOCKET), clock)
            self._answers = self._stream.makefile("r", encoding="utf-8")
            self.ready = self._answer()
            """What it says once it is ready."""
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._running.pid if self._running is not None else 0

    def ask(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """One order and its answer; raises `LoadError` if the program is gone."""
        if self._stream is None:
            raise LoadError("the player of slices ended: it was closed")
        try:
            self._stream.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise self._gone() from None
        return self._answer()

    def interrupt(self) -> None:
        """End the program while another thread waits for its answer, which then finds it gone."""
        if self._running is not None:
            self._running.terminate()

    def close(self) -> None:
        """End the program; calling it twice is harmless."""
        if self._stream is not None:
            if hasattr(self, "_answers"):
                self._answers.close()
            self._stream.close()
            self._stream = None
        if self._running is not None:
            self._running.terminate()
            self._running.wait()
            self._running = None
        self._held.close()

    def _connect(self, control: Path, clock: Clock) -> socket.socket:
        deadline_ns = clock.monotonic_ns() + int(_READY_S * 1e9)
        while True:
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.connect(str(control))
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
        path = self._folder / _ERR
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        said = text.strip().removeprefix(f"{PROGRAM}: ") or "it said nothing"
        return LoadError(f"the player of slices ended: {said}")

    def _answer(self) -> Mapping[str, Any]:
        try:
            line = self._answers.readline()
        except OSError:  # it ended with our order unread, of which the kernel tells in place of an end
            line = ""
        if not line.endswith("\n"):
            raise self._gone()
        answer: Mapping[str, Any] = json.loads(line)
        return answer


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
        return {**_address(endpoint), **asdict(self), "variables": sorted(self.variables.items())}


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
        names = ("prefixes", "database", "time_factor", "from_ms", "length_ms", "sessions")
        logs = [str(path.absolute()) for path in self.paths]
        return {**_address(endpoint), "replay": {"logs": logs, **{name: getattr(self, name) for name in names}}}


def _address(endpoint: Endpoint) -> dict[str, Any]:
    """How the program reaches the server; over TCP libpq's variables say more, so that no password is among these."""
    named = {"port": endpoint.port, "database": endpoint.database, "user": endpoint.user}
    return named if endpoint.network else {"socket_directory": str(endpoint.socket_directory), **named}


@dataclass(frozen=True)
class LeftOut:
    """What of a log is not played, and which of its records could not be read (docs/loads.md)."""

    commands: int = 0
    """Calls that no log can give or that change more than rows, and those of sessions without a name."""
    without_parameters: int = 0
    half_calls: int = 0
    """Those up to the end of a transaction in whose midst a session begins."""
    calls_beyond: int = 0
    """Those of the sessions beyond the most at once."""
    unread: int = 0
    foreign: int = 0
    doubtful: int = 0
    """Records with a statement or its values that may not be whole."""
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


def check(load: PlayedLoad, runner: Runner) -> None:
    """Raise `UsageError`, in the program's own words, for a load that it cannot play; nothing is connected."""
    _checked(load, runner, "pgbench itself may know it; the player takes the rest of pgbench's script language")


def await_sessions_end(server: Server, clock: Clock) -> None:
    """A session hands in its counters when it ends, which is a moment after the player's own end."""
    deadline_ns = clock.monotonic_ns() + int(_SESSION_END_S * 1e9)
    while server.query(_SESSIONS) and clock.monotonic_ns() < deadline_ns:
        clock.sleep(_POLL_S)


def facts_of(log: ReplayedLog, runner: Runner) -> LogFacts:
    """What a log has to be played; nothing is connected. Raises `UsageError` for one that cannot be played."""
    hint = (
        "load.log_prefix must be the log_line_prefix that the log was written with, and log_min_duration_statement = 0"
        " logs what a replay needs"
    )
    return msgspec.json.decode(_checked(log, runner, hint), type=LogFacts)


def _checked(load: PlayedLoad | ReplayedLog, runner: Runner, hint: str) -> str:
    files = load.paths if isinstance(load, ReplayedLog) else ()
    with scratch.folder("player") as folder:
        file = folder / DESCRIPTION
        description = load.specification(Endpoint(Path("/"), 5432, "none", "none"))
        file.write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
        done = runner.run([str(find()), "--check", str(file)], files=(file, *files))
    if done.status:
        raise UsageError(done.stderr.strip().removeprefix(f"{PROGRAM}: "), hint)
    return done.stdout


class Player(AbstractContextManager["Player"]):
    """See `interfaces.slices.SlicePlayer`. Use it in a `with`, from the main thread: the program ends with it.

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
        environment = endpoint.environment() if network else None
        files = (*(load.paths if isinstance(load, ReplayedLog) else ()), *(network.files if network else ()))
        self._program: Dialogue = (
            ControlledProgram("--control", description, runner, clock, placement, environment, files)
            if host is None
            else host.converse(description, endpoint, placement)
        )

    def __exit__(self, *raised: object) -> None:
        self.close()

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        limits = {"duration_ms": duration_ms, "transactions": transactions}
        asked_ns = self._clock.monotonic_ns()
        answer = self._program.ask({"play": {name: limit for name, limit in limits.items() if limit is not None}})
        played = slice_of(answer, timed=duration_ms is not None)
        return played.between(asked_ns, self._clock.monotonic_ns()) if self._away else played

    @property
    def log(self) -> LogFacts:
        return msgspec.convert(self._program.ready["ready"], LogFacts)

    @property
    def pid(self) -> int:
        return self._program.pid

    def close(self) -> None:
        self._program.close()


def slice_of(answer: Mapping[str, Any], *, timed: bool) -> Slice:
    scripts = answer["scripts"]
    written = {
        **answer,
        "latencies": {},
        "scripts": [each["latencies"] for each in scripts],
        "statements": [each for script in scripts for each in script["statements"]],
        "parts": answer["parts"] if timed else (),
    }
    found = msgspec.convert(written, Slice)
    return replace(found, latencies=sum(found.scripts, LatencyHistogram()))


class LocalMetronome:
    """See `interfaces.slices.Metronome`. Use it from the main thread: the program ends with it."""

    def __init__(self, cores: Sequence[int], runner: Runner, clock: Clock, flush_directory: Path | None = None) -> None:
        """Measure these CPUs, and the device of a directory that we may write to; raises `LoadError`."""
        flushed = {} if flush_directory is None else {"flush_directory": str(flush_directory)}
        description = {"cores": list(cores), **flushed}
        self._program = ControlledProgram(
            "--metronome",
            description,
            runner,
            clock,
            privileged="flushes a file of ours where the clusters are",  # and reads nothing of anybody else
        )

    def beat(self) -> Beat:
        answer = self._program.ask({"beat": {}})
        return Beat(
            began_ns=answer["began_ns"],
            ended_ns=answer["ended_ns"],
            cores=tuple(each["core"] for each in answer["cores"]),
            arithmetic_ns=tuple(each["arithmetic_ns"] for each in answer["cores"]),
            memory_ns=tuple(each["memory_ns"] for each in answer["cores"]),
            flush_ns=answer["flush_ns"],
        )

    def close(self) -> None:
        self._program.close()
