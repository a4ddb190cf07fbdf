"""A load without a program: its speed is a function that the test gives, its noise comes from the trial's seed.

The same options, settings and seed give the same numbers, so that a resumed run can be set against an uninterrupted
one. Time passes on the clock that it is given.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.load import LoadOptions, LoadResult, cannot_gate
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Server
from pgassay.load.pgbench.options import PgbenchOptions, check_scripts
from pgassay.study.responses import Better, Response, Scale
from pgassay.testing.fakes import Answers, FakeServer
from tests.fakes.player import FakePlayer

Keep = Callable[[Path, str], None]
"""Writes a raw output: its path and its text."""

Speed = Callable[[PgbenchOptions, Mapping[str, str]], float]
"""From the load's options and the server's settings to true transactions per second."""

RESPONSES = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("failed_share", "share of transactions that failed", "share", Better.LOWER, Scale.DIFFERENCE),
)
_BYTES_PER_SCALE = 16_000_000
_ECHOED = ("clients", "jobs", "protocol", "script", "duration", "transactions")


def keep_file(path: Path, text: str) -> None:
    """On the real disk; a simulation hands in its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _table(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(found["name"] if found["name"] in server.state["tables"] else None,)]


def _branches(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(int(server.state["load"]["scale"]),)]


ANSWERS: Answers = {
    r"SELECT to_regclass\('(?P<name>\w+)'\)$": _table,
    r"SELECT count\(\*\) FROM pgbench_branches$": _branches,
}
"""What a fake server must know beside: hand them to `FakeInstallation`."""


class FakeLoad:
    """What a test's fake loads share: `problems` maps the n-th run (from 1) to what goes wrong, `calls` logs steps."""

    def __init__(
        self,
        clock: Clock,
        speed: Speed = lambda options, settings: 1000.0,
        coefficient_of_variation: float = 0.02,
        problems: Mapping[int, Mapping[str, str]] | None = None,
        deaths: frozenset[int] = frozenset(),
        keep: Keep = keep_file,
    ) -> None:
        self.calls: list[str] = []
        self.problems = dict(problems or {})
        self.deaths = deaths
        """Runs (from 1) in whose middle the server dies."""
        self._keep = keep
        self._clock = clock
        self._speed = speed
        self._variation = coefficient_of_variation
        self._runs = 0

    def with_options(self, options: LoadOptions) -> "BoundFakeLoad":
        """The load with these options; what it does is counted and logged here."""
        return BoundFakeLoad(options, self)

    def create(self, server: Server) -> None:
        """Create pgbench's tables, empty; raises `LoadError` if the server is dead."""
        self.calls.append("create")
        self._require_alive(server)
        for table in ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"):
            server.execute(f"CREATE TABLE {table} ()")

    def fill(self, server: Server, options: PgbenchOptions) -> None:
        """Remembers the scale where the fake server keeps its tables."""
        self.calls.append("fill")
        self._require_alive(server)
        if isinstance(server, FakeServer):
            server.keep({**server.state, "load": {"scale": str(options.scale)}})
        server.execute("VACUUM (ANALYZE)")

    def run(self, server: Server, options: PgbenchOptions, output: Path, seed: int) -> LoadResult:
        """Lets time pass and returns what the test's function says, with noise."""
        self._runs += 1
        self.calls.append(f"run {self._runs}")
        began = self._clock.monotonic_ns(), self._clock.wall_ns()
        problems = dict(self.problems.get(self._runs, {}))
        if not server.alive():
            problems["aborted"] = "could not connect to the server"
        tps = 0.0 if problems else self._tps(server, options, seed)
        seconds = _seconds(options, tps)
        self._clock.sleep(seconds)
        if self._runs in self.deaths and isinstance(server, FakeServer):
            server.die()
            problems["aborted"] = "the connection was lost"
        ended = self._clock.monotonic_ns(), self._clock.wall_ns()
        self._keep(output / "pgbench.out", f"tps = {tps}\n")
        asked = options.to_levels()
        echoed = [name for name in _ECHOED if name in asked and (name != "duration" or options.transactions is None)]
        return LoadResult(
            status=2 if problems else 0,
            began=began,
            ended=ended,
            transactions=round(tps * seconds),
            responses=_responses(tps, options.clients),
            series=_series(began, seconds, tps),
            problems=problems,
            read_back={f"load.{name}": asked[name] for name in echoed},
        )

    def gate(self, server: Server, options: PgbenchOptions, seed: int) -> FakePlayer:
        """In slices: each has its own noise, drawn from the seed; a server that dies makes no transactions."""
        self.calls.append("gate")
        self._require_alive(server)
        noise = random.Random(seed)

        def speed() -> float:
            if not server.alive():
                return 0.0
            true = self._speed(options, server.settings if isinstance(server, FakeServer) else {})
            return true * noise.gauss(1.0, self._variation) / options.clients

        return FakePlayer(self._clock, options.clients, speed)

    def verify(self, server: Server) -> Mapping[str, str]:
        """Find nothing wrong with the data; a test may override it."""
        return {}

    def broken(self, server: Server) -> Mapping[str, str]:
        """No rule of the data is broken; a test may override it."""
        return {}

    def _tps(self, server: Server, options: PgbenchOptions, seed: int) -> float:
        settings = server.settings if isinstance(server, FakeServer) else {}
        return self._speed(options, settings) * random.Random(seed).gauss(1.0, self._variation)

    def _require_alive(self, server: Server) -> None:
        if not server.alive():
            raise LoadError("could not connect to the server")


class BoundFakeLoad:
    """See `interfaces.load.Load`: a fake load with its options. Other drivers than pgbench only name their data."""

    responses = RESPONSES

    def __init__(self, options: LoadOptions, fake: FakeLoad) -> None:
        self.options = options
        self._fake = fake
        self._played = options if isinstance(options, PgbenchOptions) else PgbenchOptions(duration_s=options.duration_s)

    @property
    def name(self) -> str:
        """The driver that it stands for."""
        return self.options.driver

    def check(self) -> None:
        """Refuses script files that do not exist."""
        check_scripts(self._played.scripts)

    def data_key(self) -> Mapping[str, str]:
        """The scale and age, as pgbench's."""
        return {"scale": str(self._played.scale), "age": str(self._played.age)}

    def estimated_bytes(self) -> int:
        """16 MB for each unit of scale."""
        return self._played.scale * _BYTES_PER_SCALE

    def create(self, server: Server) -> None:
        """Create pgbench's tables, empty; raises `LoadError` if the server is dead."""
        self._fake.create(server)

    def fill(self, server: Server) -> None:
        """Remembers the scale where the fake server keeps its tables."""
        self._fake.fill(server, self._played)

    def age(self, server: Server) -> None:
        """Only note that it was asked for."""
        self._fake.calls.append(f"age {self._played.to_levels()['age']}")

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Lets time pass and returns what the test's function says, with noise."""
        return self._fake.run(server, self._played, output, seed)

    def verify(self, server: Server) -> Mapping[str, str]:
        """What the fake finds wrong."""
        return self._fake.verify(server)

    def require_names(self, server: Server) -> None:
        """The fake's scripts name nothing."""

    def keep_inputs(self, output: Path) -> None:
        """The fake plays no scripts."""

    def broken(self, server: Server) -> Mapping[str, str]:
        """What the fake finds broken."""
        return self._fake.broken(server)

    @property
    def ungated(self) -> str | None:
        """Only what stands for pgbench can be played in slices."""
        return None if isinstance(self.options, PgbenchOptions) else f'the load "{self.name}" has no slices'

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> FakePlayer:
        """In slices, at the speed that the test's function says."""
        if self.ungated is not None:
            raise cannot_gate(self.ungated)
        player = self._fake.gate(server, self._played, seed)
        player.paired = paired and self._played.clients % self._played.threads == 0
        return player


def _seconds(options: PgbenchOptions, tps: float) -> float:
    if tps == 0.0:
        return 0.1
    if options.transactions is not None:
        return options.transactions * options.clients / tps
    return float(options.duration_s or 0)


def _responses(tps: float, clients: int) -> dict[str, float | None]:
    if tps == 0.0:
        return {"tps": None, "latency_ms": None, "failed_share": None}
    return {"tps": tps, "latency_ms": clients / tps * 1e3, "failed_share": 0.0}


def _series(began: tuple[int, int], seconds: float, tps: float) -> tuple[Sample, ...]:
    return tuple(
        Sample(began[0] + second * 10**9, began[1] + second * 10**9, "pgbench", "tps", "1/s", tps)
        for second in range(1, int(seconds) + 1)
    )
