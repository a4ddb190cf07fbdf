"""Two identical servers, both live, that take turns in slices: what benchmarks/noise.py and planted.py have in common.

Each block starts both afresh and connects anew; a round is one slice of each, the second of two rounds turns the order
(ABBA). Before every round the metronome measures the machine. What is known of a slice is one line of JSON.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from benchmarks.addresses import fixed_addresses, is_fixed
from benchmarks.planted_loads import BURN, SCRIPTS, SETTINGS, planted_settings, planting
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.server import Installation, Server
from pgassay.interfaces.slices import Slice
from pgassay.load.player import LocalMetronome, PlayedLoad, PlayedScript, Player
from pgassay.postgres.find import Finder

ARMS = ("a", "b")
WARM_UP_MS = 1000
"""Of each player's connections, before the first round."""
SETTLE_MS = 100
"""Played and not counted, until each backend has read its settings anew."""
SHUFFLE_MS = 30
"""For which a slice's processes stay where they were put: one that sleeps is moved when it wakes."""
HUGE_PAGES = 2 * 320
"""For two servers' shared memory, of 2 MB."""


@dataclass(frozen=True)
class Way:
    """How server and load are placed, and whether connections last for a block or for a slice."""

    name: str
    paired: bool = False
    """Each thread of the player and its clients' backends on a CPU of their own."""
    fresh: bool = False
    shuffled: bool = False
    """Each slice begins with every thread and backend on a CPU drawn anew; then the scheduler goes on from there."""
    huge: bool = False
    """Shared buffers in huge pages: a new connection need not map them page by page."""
    fixed: bool = False
    """Every program at the same addresses each time (setarch -R): what caches and branches collide is then the same."""


WAYS = {
    each.name: each
    for each in (
        Way("usual"),
        Way("paired", paired=True),
        Way("fresh", fresh=True),
        Way("shuffled", shuffled=True),
        Way("huge", huge=True),
        Way("fixed", fixed=True),
    )
}


@dataclass(frozen=True)
class Turn:
    """One slice as it is kept; CPU times in microseconds a transaction, shares of all CPUs' time."""

    load: str
    way: str
    planted: str
    block: int
    round: int
    position: int
    arm: str
    began_s: float
    transactions: int
    active_s: float
    client_cpu_us: float
    server_cpu_us: float
    used_share: float
    idle_share: float
    steal_share: float
    metronome: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[int, ...] = ()
    competitor: float = 0.0
    """The share of a core that another program takes steadily."""
    slice_ms: int = 0
    """How long the slice was asked to be; 0 in records that had one length only."""
    exchanged: bool = False
    """The servers have changed places: the arm's other server has what is planted now."""

    @property
    def tps(self) -> float:
        """Transactions per second."""
        return self.transactions / self.active_s

    @property
    def others_share(self) -> float:
        """What other programs took of all CPUs' time."""
        return max(0.0, 1 - self.used_share - self.idle_share - self.steal_share)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file, which may be compressed."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def read(path: Path) -> list[Turn]:
    """The slices of a file of raw records."""
    return [Turn(**{**each, "parts": tuple(each["parts"])}) for each in lines_of(path) if "load" in each]


class Bench:
    """Two clones of one cluster and what starts them; `note` writes a record."""

    def __init__(self, directory: Path, installation: Installation, runner: LocalRunner, scale: int) -> None:
        self.directory, self.installation, self.runner, self.scale = directory, installation, runner, scale
        self.clock = SystemClock()
        self.cores = sorted(os.sched_getaffinity(0))

    def start(self, arm: str, way: Way, more: Mapping[str, str] | None = None) -> Server:
        """One of the two servers, with these settings more."""
        settings = {**SETTINGS, "huge_pages": "on" if way.huge else "off", **(more or {})}
        with fixed_addresses(way.fixed):
            server = self.installation.start(self.directory / arm, settings, self.directory / f"socket-{arm}")
        if way.fixed != is_fixed(server.postmaster_pid):
            raise SystemExit(f"the server of {arm} has not the addresses that {way.name} asks for")
        return server

    def played(self, load: str, way: Way, clients: int, *, seed: int) -> PlayedLoad:
        """A load as the player takes it."""
        threads = min(len(self.cores), clients)
        return PlayedLoad(
            (PlayedScript(load, SCRIPTS[load]),), clients, threads, "prepared", seed=seed,
            variables={"scale": str(self.scale)}, pair_on=tuple(self.cores) if way.paired else (),
        )  # fmt: skip

    def connect(self, server: Server, load: PlayedLoad, way: Way) -> Player:
        """A player, placed as the way says."""
        with fixed_addresses(way.fixed):
            return Player(load, server.endpoint, self.runner, self.clock)


@contextmanager
def bench(within: Path | None, scale: int) -> Iterator[Bench]:
    """Fill a cluster with pgbench's tables and copy it; all of it is gone at the end."""
    account = choose()
    runner = LocalRunner(account)
    installation = Finder(runner, SystemClock(), account, os.environ).find()
    with tempfile.TemporaryDirectory(dir=within, prefix="turns-") as place:
        directory = Path(place)
        directory.chmod(0o755)
        shutil.chown(directory, account.uid, account.gid)
        made = Bench(directory, installation, runner, scale)
        installation.initialize(directory / "a", {})
        server = made.start("a", WAYS["usual"])
        try:
            program = str(installation.bindir / "pgbench")
            runner.run([program, "-i", "-q", "-s", str(scale)], environment=server.endpoint.environment())
            server.execute(BURN)
            server.execute("CREATE EXTENSION pg_prewarm")
            server.execute("CHECKPOINT")
        finally:
            server.stop()
        runner.run(["cp", "-a", "--reflink=auto", str(directory / "a"), str(directory / "b")])
        yield made


def add_arguments(
    parser: argparse.ArgumentParser, *, ways: str, blocks: int, rounds: int, slice_ms: int, out: str
) -> None:
    """The options of every benchmark that lets two servers take turns, with its own defaults."""
    parser.add_argument("--ways", default=ways, help=f"of {', '.join(WAYS)}")
    parser.add_argument("--blocks", type=int, default=blocks)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--slice-ms", type=int, default=slice_ms)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(out), help="the raw records")
    parser.add_argument("--directory", type=Path, help="where the clusters are; the system's temporary directory")
    parser.add_argument("--read", type=Path, help="raw records to print the tables of; nothing is measured")


@contextmanager
def set_up(given: argparse.Namespace, *, append: bool) -> Iterator[tuple[Bench, list[Way], TextIO]]:
    """The bench, the ways and the file that these options ask for; all but the file is gone at the end."""
    ways = [WAYS[name] for name in given.ways.split(",")]
    with huge_pages(any(way.huge for way in ways)), bench(given.directory, given.scale) as made:  # noqa: SIM117
        with given.out.open("a" if append else "w", encoding="utf-8") as note:
            yield made, ways, note


COMPETITOR = """
import random, sys, time
least, most = map(float, sys.argv[1:])
while True:
    share, until = random.uniform(least, most), time.monotonic() + random.expovariate(1 / 0.5)
    while time.monotonic() < until:
        burning = time.monotonic() + 0.05 * share
        while time.monotonic() < burning:
            pass
        time.sleep(0.05 * (1 - share))
"""
"""For half a second on average it takes a random share of a core, then another share."""


@contextmanager
def competing(share: float, *, steady: bool = False) -> Iterator[None]:
    """Another program of a session of its own that takes up to this share of a core, in bursts, or just as much all the
    time; none for 0."""
    if not share:
        yield
        return
    least = share if steady else 0.0
    words = [sys.executable, "-c", COMPETITOR, str(least), str(share)]
    program = subprocess.Popen(words, start_new_session=True)
    try:
        yield
    finally:
        program.kill()
        program.wait()


@contextmanager
def huge_pages(wanted: bool) -> Iterator[None]:
    """Room for both servers in the kernel's pool, given back at the end, also when this program is asked to end."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    pool = Path("/proc/sys/vm/nr_hugepages")
    before = pool.read_text(encoding="ascii")
    try:
        if wanted:
            pool.write_text(str(int(before) + HUGE_PAGES), encoding="ascii")
        yield
    finally:
        if wanted:
            pool.write_text(before, encoding="ascii")


def warm(server: Server) -> None:
    """Fill its shared buffers, so that early slices are like late ones."""
    for relation in ("pgbench_accounts", "pgbench_accounts_pkey"):
        server.query("SELECT pg_prewarm(%s::regclass)", [relation])


def backends(server: Server) -> list[int]:
    """The processes of the player's connections, in the order in which they were made."""
    rows = server.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgassay-player' ORDER BY backend_start, pid"
    )
    return [int(pid) for (pid,) in rows]


def begin(
    made: Bench, load: str, way: Way, planted: Sequence[int], played: PlayedLoad, held: ExitStack,
    source: random.Random, *, at_home: bool,
) -> tuple[dict[str, Server], dict[str, Player]]:  # fmt: skip
    """Both servers, warm, and their players unless each slice makes its own; each pair begins in random order. At home
    each arm has the clone of its name, else the other's."""
    place_of = dict(zip(ARMS, ARMS if at_home else reversed(ARMS), strict=True))
    of = dict(zip(ARMS, planted, strict=True))
    servers: dict[str, Server] = {}
    players: dict[str, Player] = {}
    for arm in source.sample(ARMS, 2):
        servers[arm] = made.start(place_of[arm], way, planted_settings(load, of[arm]))
        held.callback(servers[arm].stop)
        held.callback(servers[arm].execute, f"ALTER SYSTEM RESET {planting(load)}")
    for server in servers.values():
        warm(server)
    if not way.fresh:
        for arm in source.sample(ARMS, 2):  # who connects later may find better places
            players[arm] = held.enter_context(made.connect(servers[arm], played, way))
            players[arm].play(duration_ms=WARM_UP_MS)
    return servers, players


def exchange(servers: dict[str, Server], players: dict[str, Player], load: str, planted: Sequence[int]) -> None:
    """Each server gets what the other had, with its connections as they are, and the arms' names go with it: so the
    luck of a server's start falls on both arms alike."""
    one, other = ARMS
    servers[one], servers[other] = servers[other], servers[one]
    if players:  # else each slice makes its own
        players[one], players[other] = players[other], players[one]
    for arm, amount in zip(ARMS, planted, strict=True):
        servers[arm].execute(f"ALTER SYSTEM SET {planting(load)} = {amount}")
        servers[arm].execute("SELECT pg_reload_conf()")
    for player in players.values():
        player.play(duration_ms=SETTLE_MS)


def play(
    made: Bench, load: str, way: Way, planted: Sequence[int], note: TextIO, *,
    competitor: float = 0.0, exchanged: bool = False, **how: int,
) -> None:  # fmt: skip
    """One block: `rounds` of slices of `slice_ms`; `planted` is what each arm has. Sides change with the block, and
    with `exchanged` after half the rounds, too."""
    block, rounds, slice_ms = how["block"], how["rounds"], how["slice_ms"]
    source = random.Random(block)
    with ExitStack() as held:
        played = made.played(load, way, how["clients"], seed=block)
        servers, players = begin(made, load, way, planted, played, held, source, at_home=block % 2 == 1)
        metronome = held.enter_context(closing(LocalMetronome(made.cores, made.runner, made.clock, made.directory)))
        held.enter_context(competing(competitor, steady=True))
        order = source.sample(ARMS, 2)
        for number in range(1, rounds + 1):
            later = exchanged and number > rounds // 2
            if exchanged and number == rounds // 2 + 1:
                exchange(servers, players, load, planted)
            beat = metronome.beat().covariates()
            for position, arm in enumerate(order, start=1):
                known = partial(Turn, load, way.name, "/".join(map(str, planted)), block, number, position, arm)
                player = players[arm] if arm in players else made.connect(servers[arm], played, way)
                if way.shuffled:
                    shuffle(player, backends(servers[arm]), made.cores, source)
                more = partial(known, metronome=beat, competitor=competitor, slice_ms=slice_ms, exchanged=later)
                turn = _measured(more, player, servers[arm], slice_ms)
                note.write(json.dumps(asdict(turn)) + "\n")
                if way.fresh:
                    player.close()
            order = order[::-1] if number % 2 else source.sample(ARMS, 2)
    note.flush()


def shuffle(player: Player, pids: Sequence[int], cores: Sequence[int], source: random.Random) -> None:
    """Each thread of the player and each of its backends begins on a CPU of its own luck, and may go where it likes."""
    threads = [int(each.name) for each in Path(f"/proc/{player.pid}/task").iterdir()]
    for task in (*threads, *pids):
        os.sched_setaffinity(task, {source.choice(cores)})
    player.play(duration_ms=SHUFFLE_MS)
    for task in (*threads, *pids):
        os.sched_setaffinity(task, cores)


def _measured(known: Callable[..., Turn], player: Player, server: Server, slice_ms: int) -> Turn:
    pids = backends(server)
    used, machine = cpu_ns(pids), _machine()
    played: Slice = player.play(duration_ms=slice_ms)
    used, now = cpu_ns(pids) - used, _machine()
    count, total = max(1, played.transactions), max(1, sum(now) - sum(machine))
    length_ns = played.drained_ns - played.opened_ns
    return known(
        began_s=round(played.opened_ns / 1e9, 3),
        transactions=played.transactions,
        active_s=length_ns / 1e9,
        client_cpu_us=round(played.cpu_ns / count / 1e3, 3),
        server_cpu_us=round(used / count / 1e3, 3),
        used_share=round((used + played.cpu_ns) / length_ns / (os.cpu_count() or 1), 4),
        idle_share=round((now[0] - machine[0]) / total, 4),
        steal_share=round((now[1] - machine[1]) / total, 4),
        parts=played.parts,
    )


def cpu_ns(pids: Iterable[int]) -> int:
    """What processes have used, by the scheduler's own count (proc(5), schedstat)."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) for pid in pids)


def _machine() -> tuple[int, int, int]:
    """Ticks of all CPUs: idle, stolen by the host, and all the rest (proc(5), stat)."""
    ticks = [int(each) for each in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], ticks[7], sum(ticks[:3]) + ticks[5] + ticks[6]
