"""What a worker does as the host of a load: it runs one program, and sends home what that wrote and what it took.

An order holds the program's words with names in the place of paths, the files that it reads, and nothing else. They lie
in a private folder that goes when the program has ended. The program ends when nobody waits for it any more: the head
has gone, or has called it off (see `task.is_wanted`).
"""

import os
import resource
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from distributed import get_worker

from pgassay import children, scratch
from pgassay.bench.client import NetworkPath
from pgassay.bench.hosting import Placement
from pgassay.bench.places import Endpoint, Network
from pgassay.bench.running import Completed, Elsewhere
from pgassay.errors import PgassayError
from pgassay.fleet.errors import FleetError
from pgassay.fleet.task import BINDIR_VARIABLE, is_wanted
from pgassay.host import accounts
from pgassay.host.clock import SystemClock
from pgassay.host.runner import LocalRunner
from pgassay.lab.places import embedded_directory
from pgassay.load import player, references
from pgassay.postgres.find import Finder

OUTPUT = "output"
"""The name of the folder that the program writes to."""
_OUT, _ERR = "stdout", "stderr"
_LOOK_S = 0.2


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
    """The program's, with paths in the place of marks."""
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
                done = running.wait(_LOOK_S)
                break
            except TimeoutError:
                if not wanted():
                    raise RuntimeError("nobody waits for it any more") from None
    finally:
        running.terminate()
    ended_ns, used_us = time.time_ns(), _used_us() - used_before
    all_us, busy_us = (after - before for after, before in zip(_busy(), busy_before, strict=True))
    way = NetworkPath((), ()) if done.status else _way(order, paths)
    offset_us = way.responses()["client_clock_offset_us"] or 0.0
    share = busy_us / all_us if all_us else None
    return done, Elsewhere(used_us, share, began_ns, ended_ns, offset_us * 1e3, monotonic_ns)


def _way(order: Order, paths: Mapping[str, str]) -> NetworkPath:
    try:
        return references.measure(_endpoint(order, paths))
    except PgassayError:
        return NetworkPath((), ())


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


def _busy(stat: Path = Path("/proc/stat")) -> tuple[float, float]:
    """This host's CPU time so far, all of it and what was used (proc(5); idle, iowait and steal are not)."""
    words = stat.read_text(encoding="ascii").splitlines()[0].split()[1:9]
    times = [float(word) for word in words]
    return sum(times), sum(times) - times[3] - times[4] - (times[7] if len(times) > 7 else 0.0)
