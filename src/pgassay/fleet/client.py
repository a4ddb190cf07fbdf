"""A worker of a fleet as the host of a load: its programs run there as tasks, one at a time, and come home whole.

Dask brings the order and the result, over TLS. A worker that has not been heard for a while is gone, whether it died or
its network did: then nobody knows what the load did meanwhile, and the trial is discarded (`ClientLostError`).

A worker has one thread. The task that keeps the program gives it up (`secede`) once the program is ready, so that each
order can be a task of its own. The program ends when it is asked to, or when nobody waits for it any more: the head has
gone, or has called its task off (see `worker.is_wanted`).

An order holds the program's words with names in the place of paths, the files that it reads, and nothing else. On the
worker they lie in a private folder that goes when the program has ended.
"""

import json
import os
import re
import resource
import signal
import socket
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import msgspec
from distributed import Client, Future, get_worker, secede, wait

from pgassay import __version__, children, scratch
from pgassay.errors import PgassayError
from pgassay.fleet import FleetError
from pgassay.fleet.dask_executor import other_version, workers
from pgassay.fleet.worker import BINDIR_VARIABLE, is_wanted
from pgassay.host import accounts
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.client import ClockExchange, NetworkPath
from pgassay.interfaces.errors import ClientLostError, LoadError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint, Listening, Network
from pgassay.interfaces.running import Completed, Elsewhere, Runner
from pgassay.lab.places import embedded_directory
from pgassay.load import player, references
from pgassay.load.player import DESCRIPTION, PROGRAM, ControlledProgram
from pgassay.postgres.find import Finder

OUTPUT = "output"
"""The name of the folder that the program writes to."""
_OUT, _ERR = "stdout", "stderr"
_LISTEN_S = 0.2


class Order(msgspec.Struct, frozen=True):
    """One program: `words` after its name, `files` by name. A path among the words is the mark of its name."""

    program: str
    words: tuple[str, ...]
    environment: dict[str, str]
    files: dict[str, bytes]
    cpus: tuple[int, ...] = ()
    postgres: int | None = None
    """The major version, for one of PostgreSQL's programs."""


class Played(msgspec.Struct, frozen=True):
    """What came of it; paths in the texts are marks as in the order."""

    status: int
    stdout: str
    stderr: str
    files: dict[str, bytes]
    elsewhere: Elsewhere


def mark(name: str) -> str:
    """What stands for the path of this name: no word of a command line can hold it."""
    return f"\0{name}\0"


def replaced(text: str, paths: Mapping[str, str]) -> str:
    """`text` with each value in the place of its key, the longest keys first."""
    for one in sorted(paths, key=len, reverse=True):
        text = text.replace(one, paths[one])
    return text


def play(given: bytes) -> bytes:
    """Run it on this worker; raises `RuntimeError` where it cannot run here."""
    worker = get_worker()
    key = worker.get_current_task()
    order = msgspec.msgpack.decode(zlib.decompress(given), type=Order)
    with scratch.folder("client") as place:
        paths = laid_out(order, place)
        try:
            done, elsewhere = _run(order, place, paths, lambda: is_wanted(worker, key))
        except PgassayError as error:
            raise RuntimeError(error.message) from None
        marks = {path: name for name, path in paths.items()}
        written = sorted(each for each in (place / OUTPUT).iterdir() if each.is_file())
        return msgspec.msgpack.encode(
            Played(
                done.status,
                replaced(done.stdout, marks),
                replaced(done.stderr, marks),
                {each.name: each.read_bytes() for each in written},
                elsewhere,
            )
        )


def measure(given: bytes) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The way from here to the server of an order: trips, and exchanges of clocks; raises `RuntimeError`."""
    order = msgspec.msgpack.decode(given, type=Order)
    with scratch.folder("client") as place:
        paths = laid_out(order, place)
        try:
            found = references.measure(_endpoint(order, paths))
        except PgassayError as error:
            raise RuntimeError(error.message) from None
    return list(found.trips_ns), [(each.sent_wall_ns, each.trip_ns, each.server_wall_ns) for each in found.clocks]


def laid_out(order: Order, place: Path) -> dict[str, str]:
    """Marks to paths, once the files are there."""
    (place / OUTPUT).mkdir()
    for name, content in order.files.items():
        path = place / Path(name).name
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(content)
    return {mark(name): str(place / name) for name in (OUTPUT, *order.files)}


def environment(order: Order, paths: Mapping[str, str]) -> dict[str, str]:
    return {name: replaced(value, paths) for name, value in order.environment.items()}


def _endpoint(order: Order, paths: Mapping[str, str]) -> Endpoint:
    filled = environment(order, paths)
    way = Network(filled["PGHOST"], Path(filled["PGPASSFILE"]), Path(filled["PGSSLROOTCERT"]))
    return Endpoint(Path("/"), int(filled["PGPORT"]), filled["PGDATABASE"], filled["PGUSER"], way)


def _run(
    order: Order, place: Path, paths: Mapping[str, str], wanted: Callable[[], bool]
) -> tuple[Completed, Elsewhere]:
    runner = LocalRunner(accounts.choose(os.environ))
    words = [str(_program(order, runner)), *(replaced(word, paths) for word in order.words)]
    busy_before, used_before, began_ns, monotonic_ns = _busy(), _used_us(), time.time_ns(), time.monotonic_ns()
    running = runner.start(
        words,
        stdout=place / _OUT,
        stderr=place / _ERR,
        environment=environment(order, paths),
        placement=Placement(cpus=order.cpus),
        files=[place / name for name in order.files],
        output=place / OUTPUT,
    )
    try:
        while True:
            try:
                done = running.wait(_LISTEN_S)
                break
            except TimeoutError:
                if not wanted():
                    raise RuntimeError("nobody waits for it any more") from None
    finally:
        running.terminate()
    ended_ns, used_us = time.time_ns(), _used_us() - used_before
    all_us, busy_us = (after - before for after, before in zip(_busy(), busy_before, strict=True))
    path = NetworkPath((), ())
    if not done.status:
        with suppress(PgassayError):
            path = references.measure(_endpoint(order, paths))
    offset_us = path.responses()["client_clock_offset_us"] or 0.0
    share = busy_us / all_us if all_us else None
    return done, Elsewhere(used_us, share, began_ns, ended_ns, offset_us * 1e3, monotonic_ns)


def _program(order: Order, runner: LocalRunner) -> Path:
    """The installed one: our own, of the first PostgreSQL of that version or the one that is named, or in PATH."""
    if order.program == player.PROGRAM:
        return player.find()
    if order.postgres is None:
        found = children.which(order.program)
        if found is None:
            raise FleetError(f"{order.program} is not installed")
        return Path(found)
    account = accounts.choose(os.environ)
    finder = Finder(runner, SystemClock(), account, os.environ, copies=embedded_directory(os.environ))
    named = os.environ.get(BINDIR_VARIABLE)
    if named:
        return Path(named) / order.program
    return finder.find(version=str(order.postgres)).bindir / order.program


def _used_us() -> float:
    """CPU time of the programs that this worker has run and waited for: there is one at a time."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e6


def _busy() -> tuple[float, float]:
    """This host's CPU time so far, all of it and what was used (proc(5); idle, iowait and steal are not)."""
    words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    times = [float(word) for word in words]
    return sum(times), sum(times) - times[3] - times[4] - (times[7] if len(times) > 7 else 0.0)


_END_S = 60.0


@dataclass(frozen=True)
class _RunningProgram:
    program: ControlledProgram
    asked_to_end: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)


_KEPT: dict[str, _RunningProgram] = {}
"""The programs of this worker that others ask, by what the head calls them."""


def version() -> str:
    """What the player of this worker calls itself; raises `RuntimeError` where there is none."""
    try:
        return version_of(LocalRunner(accounts.choose(os.environ)))
    except PgassayError as error:
        raise RuntimeError(error.message) from None


def version_of(runner: Runner) -> str:
    return runner.run([str(player.find()), "--version"]).stdout.strip()


def keep(name: str, given: bytes) -> None:
    """Start the player of an order and keep it; raises `RuntimeError` with its words where it cannot play."""
    worker = get_worker()
    key = worker.get_current_task()
    order = msgspec.msgpack.decode(zlib.decompress(given), type=Order)
    with scratch.folder("client") as place:
        paths = laid_out(order, place)
        description = json.loads(order.files[DESCRIPTION])
        try:
            program = ControlledProgram(
                "--control",
                description,
                LocalRunner(accounts.choose(os.environ)),
                SystemClock(),
                Placement(cpus=order.cpus),
                environment(order, paths),
                [place / name for name in order.files if name != DESCRIPTION],
            )
        except PgassayError as error:
            raise RuntimeError(error.message) from None
        kept = _KEPT[name] = _RunningProgram(program)
        try:
            secede()
            while is_wanted(worker, key) and not kept.asked_to_end.wait(_LISTEN_S):
                pass
        finally:
            del _KEPT[name]
            program.interrupt()
            program.close()
            kept.ended.set()


def ready(name: str) -> Mapping[str, Any] | None:
    """What the player said once it was ready; None where it is not there."""
    kept = _KEPT.get(name)
    return None if kept is None else kept.program.ready


def ask(name: str, order: Mapping[str, Any]) -> Mapping[str, Any]:
    """The player's answer to an order; raises `RuntimeError` where it is gone, with its words."""
    kept = _KEPT.get(name)
    if kept is None:
        raise RuntimeError("the player of slices was ended")
    try:
        return kept.program.ask(order)
    except PgassayError as error:
        raise RuntimeError(error.message) from None


def end(name: str) -> None:
    """End the player, and wait until it has; harmless where it is not there."""
    kept = _KEPT.get(name)
    if kept is not None:
        kept.asked_to_end.set()
        kept.ended.wait(_END_S)


PORT = 54320
"""The server's port for a client of its own, so that a firewall needs one rule."""
WAIT_S = 60.0
BACK_S = 300.0
"""A worker that has been there may take so long to come back: its own search for the scheduler takes longer."""
SILENT_S = 30.0
"""Without a heartbeat for so long, a worker is gone; it sends one every second or so."""
_LOOK_S = 0.5
_SOON_S = 0.05
_TAKE_S = 60.0
"""So long a result may be on its way before its worker is looked for again."""


@dataclass
class WorkerClient:
    """A worker by its name, as the host of a load: starts programs there, and plays in slices.

    See `interfaces.client.ClientHost`, `interfaces.running.Starter` and `interfaces.client.PlayerHost`.
    """

    name: str
    client: Client
    local: Runner
    """Asks a program of PostgreSQL here for its version: the worker's own shall be of the same."""
    port: int = PORT
    wait_s: float = WAIT_S
    _checked: str | None = None
    _players: set[str] = field(default_factory=set)
    """The addresses whose player was found to be of our version."""
    _heard: tuple[object, float] = (None, 0.0)

    @property
    def listening(self) -> Listening:
        """By the address that this machine has towards the worker's; raises `FleetError` where there is no worker."""
        peer = host_of(self._address())
        return Listening(towards(peer), peer, self.port)

    @property
    def runner(self) -> "WorkerClient":
        return self

    @property
    def player_host(self) -> "WorkerClient":
        return self

    def _workers(self) -> Mapping[str, Mapping[str, object]]:
        try:
            found = workers(self.client)
        except (OSError, TimeoutError):
            return {}
        return found if self.client.status == "running" else {}

    def _address(self) -> str:
        """Its address, as the scheduler knows it; waits for the worker, and raises `FleetError`."""
        wait_s = self.wait_s if self._checked is None else BACK_S
        until = time.monotonic() + wait_s
        while True:
            connected = self._workers()
            for address, each in connected.items():
                if str(each["name"]) == self.name:
                    return address
            if time.monotonic() > until:
                known = ", ".join(str(each["name"]) for each in connected.values())
                there = f"connected are {known}" if known else "no worker is connected"
                raise FleetError(
                    f'the worker "{self.name}" did not come within {self.wait_s:.0f} s',
                    f"{there}; start it: pgassay fleet worker … --name {self.name}",
                )
            time.sleep(_LOOK_S)

    def heard(self, address: str) -> bool:
        """Is it still the same worker, and was it heard lately? The scheduler's clock is only compared with itself."""
        found = self._workers().get(address)
        if found is None:
            return False
        if found.get("last_seen") != self._heard[0]:
            self._heard = (found.get("last_seen"), time.monotonic())
        return time.monotonic() - self._heard[1] < SILENT_S

    def require(self) -> None:
        """Wait for the worker, of our version; raises `FleetError`."""
        address = self._address()
        if self._checked != address:
            theirs = self.client.run(_version, workers=[address])[address]
            if theirs != __version__:
                raise other_version(self.name, str(theirs), __version__)
            self._checked = address

    def measure(self, endpoint: Endpoint) -> NetworkPath:
        """See `interfaces.client.ClientHost`; raises `ClientLostError`, `LoadError`."""
        keys = endpoint.network.files if endpoint.network else ()
        order, _ = order_of(("measure",), endpoint.environment(), keys, None, ANYWHERE)
        address = self._address()
        future = self.client.submit(measure, msgspec.msgpack.encode(order), pure=False, workers=[address])
        trips_ns, clocks = _result(future, self, address)
        return NetworkPath(trips_ns, [ClockExchange(*each) for each in clocks])

    def start(
        self,
        command: Sequence[str],
        *,
        stdout: Path,
        stderr: Path,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        privileged: str = "",
        death_signal: int = signal.SIGTERM,
        placement: Placement = ANYWHERE,
        files: Sequence[Path] = (),
        output: Path | None = None,
    ) -> "WorkerRunning":
        """As a task; what it writes into `output` comes home when it has ended."""
        order, paths = order_of(
            command, environment or {}, files, output or stdout.parent, placement, self._major(command[0])
        )
        address = self._address()
        given = zlib.compress(msgspec.msgpack.encode(order), 1)
        future = self.client.submit(play, given, pure=False, workers=[address], retries=0)
        return WorkerRunning(tuple(command), future, self, address, paths, stdout, stderr)

    def _major(self, program: str) -> int | None:
        """None for a program that is no part of PostgreSQL, which is looked for in PATH."""
        if not Path(program).is_absolute() or Path(program).name != "pgbench":
            return None
        found = re.search(r"\(PostgreSQL\) (\d+)", self.local.run([program, "--version"]).stdout)
        return int(found[1]) if found else None

    def require_player(self) -> None:
        """Raise `LoadError` where the worker has no player, `FleetError` for one of another version than ours."""
        address = self._address()
        if address in self._players:
            return
        future = self.client.submit(version, pure=False, workers=[address], retries=0)
        theirs, ours = _result(future, self, address), version_of(self.local)
        if theirs != ours:
            raise FleetError(
                f'the host "{self.name}" has {theirs or "a player that says no version"}, and this machine has {ours}',
                "install the same pgassay on both; $PGASSAY_PLAYER names another program",
            )
        self._players.add(address)

    def converse(self, description: Mapping[str, Any], endpoint: Endpoint, placement: Placement) -> "WorkerDialogue":
        """Start the player there, and wait until it is connected; raises `LoadError`, `ClientLostError`."""
        keys = endpoint.network.files if endpoint.network else ()
        order, _ = order_of((PROGRAM,), endpoint.environment(), keys, None, placement)
        files = {**order.files, DESCRIPTION: json.dumps(description).encode()}
        given = zlib.compress(msgspec.msgpack.encode(msgspec.structs.replace(order, files=files)), 1)
        name, address = uuid4().hex, self._address()
        kept = self.client.submit(keep, name, given, pure=False, workers=[address], retries=0)
        dialogue = WorkerDialogue(self, address, name, kept)
        try:
            dialogue.begin()
        except BaseException:
            self.client.cancel(kept, force=True)
            raise
        return dialogue


@dataclass
class WorkerRunning:
    """A program under way on a worker; see `interfaces.running.Running`."""

    command: tuple[str, ...]
    future: Future
    worker: WorkerClient
    address: str
    paths: Mapping[str, str]
    stdout: Path
    stderr: Path
    _ended: Completed | None = None

    @property
    def pid(self) -> int:
        return 0

    def wait(self, timeout_s: float | None = None) -> Completed:
        """Until it has come home; raises `TimeoutError`, `ClientLostError`; `LoadError` where it cannot run there."""
        if self._ended is None:
            shipped = _result(self.future, self.worker, self.address, timeout_s)
            played = msgspec.msgpack.decode(shipped, type=Played)
            for name, content in played.files.items():
                (self.stdout.parent / Path(name).name).write_bytes(content)
            texts = replaced(played.stdout, self.paths), replaced(played.stderr, self.paths)
            for path, text in zip((self.stdout, self.stderr), texts, strict=True):
                with path.open("a", encoding="utf-8") as file:
                    file.write(text)
            self._ended = Completed(self.command, played.status, *texts, played.elsewhere)
        return self._ended

    def place(self, path: Path) -> Path:
        """On another machine until it has ended."""
        return path

    def send(self, number: int) -> None:
        """No signal travels."""

    def terminate(self) -> None:
        """Call it off: the worker ends it. Raises `ClientLostError` where that is not heard, so that nobody knows."""
        if self._ended is not None:
            return
        self.worker.client.cancel(self.future, force=True)
        if not self.worker.heard(self.address):
            raise _client_lost(self.worker.name)
        self._ended = Completed(self.command, -signal.SIGTERM, "", "")


@dataclass
class WorkerDialogue:
    """A player under way on a worker; see `interfaces.running.Dialogue`."""

    worker: WorkerClient
    address: str
    name: str
    kept: Future
    ready: Mapping[str, Any] = field(default_factory=dict)
    _open: bool = True

    @property
    def pid(self) -> int:
        return 0

    def begin(self) -> None:
        """Wait until it is ready; raises `LoadError` with its words where it is not going to be."""
        while True:
            said = self._done(ready)
            if said is not None:
                self.ready = said
                return
            if self.kept.done():
                _result(self.kept, self.worker, self.address)
                raise _client_lost(self.worker.name)  # it was called off, and not by us
            time.sleep(_SOON_S)

    def ask(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `interfaces.running.Dialogue`; raises `ClientLostError`, too."""
        if not self._open:
            raise LoadError(f'the host "{self.worker.name}" could not run the load: the player of slices was closed')
        found: Mapping[str, Any] = self._done(ask, dict(order))
        return found

    def close(self) -> None:
        """Disconnect and end it; a worker that is gone has done so by itself."""
        if not self._open:
            return
        self._open = False
        with suppress(LoadError):
            self._done(end)
        self.worker.client.cancel(self.kept, force=True)

    def _done(self, what: Callable[..., Any], *words: Any) -> Any:
        future = self.worker.client.submit(what, self.name, *words, pure=False, workers=[self.address], retries=0)
        return _result(future, self.worker, self.address)


def order_of(
    command: Sequence[str],
    environment: Mapping[str, str],
    files: Sequence[Path],
    output: Path | None,
    placement: Placement,
    postgres: int | None = None,
) -> tuple[Order, dict[str, str]]:
    """The order of a program, and what its marks stand for here."""
    names = {str(path): f"file-{number}-{path.name}" for number, path in enumerate(files)}
    marks = {path: mark(name) for path, name in (*names.items(), *(() if output is None else [(str(output), OUTPUT)]))}
    order = Order(
        program=Path(command[0]).name,
        words=tuple(replaced(word, marks) for word in command[1:]),
        environment={name: replaced(value, marks) for name, value in environment.items()},
        files={name: Path(path).read_bytes() for path, name in names.items()},
        cpus=placement.cpus,
        postgres=postgres,
    )
    return order, {each: path for path, each in marks.items()}


def host_of(address: str) -> str:
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def towards(peer: str) -> str:
    """This machine's address for a packet to `peer`; none is sent."""
    family = socket.AF_INET6 if ":" in peer else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as found:
        found.connect((peer, PORT))
        return str(found.getsockname()[0])


def _version() -> str:
    return __version__


def _result(future: Future, worker: WorkerClient, address: str, timeout_s: float | None = None) -> Any:
    """What a task gave; raises `TimeoutError`, `ClientLostError`, and `LoadError` for what it raised."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        if future.status == "finished":
            with suppress(TimeoutError):  # a worker that is lost now takes its result along
                return future.result(timeout=_TAKE_S)
        elif future.done():
            break
        if not worker.heard(address):
            worker.client.cancel(future, force=True)
            raise _client_lost(worker.name)
        left_s = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
        if left_s <= 0:
            raise TimeoutError
        try:
            with worker.client.as_current():
                wait([future], timeout=left_s)
        except TimeoutError:
            continue
    if future.status == "error" and isinstance(error := future.exception(), RuntimeError):
        raise LoadError(f'the host "{worker.name}" could not run the load: {error}')
    raise _client_lost(worker.name)


def _client_lost(name: str) -> ClientLostError:
    return ClientLostError(f'the host "{name}" of the load is gone, or its network is')
