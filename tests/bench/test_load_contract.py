"""What every load keeps: the fake, and the real programs of this machine on a private server."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.factor import Readable
from pgassay.bench.load import Driver, Load, LoadOptions, LoadResult, Tools
from pgassay.bench.options import OptionFactor, rows_of
from pgassay.bench.running import Clock
from pgassay.bench.server import Installation, Server
from pgassay.errors import UsageError
from pgassay.host.clock import SystemClock
from pgassay.load import drivers
from pgassay.load.drivers import factors as known_factors
from pgassay.testing import real
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.load import ANSWERS, FakeLoad
from pgassay.testing.fakes.server import FakeInstallation

PGBENCH: Mapping[str, str] = {
    "script": "simple-update",
    "protocol": "prepared",
    "scale": "2",
    "clients": "2",
    "jobs": "2",
    "duration": "2s",
    "warmup": "0s",
}
SYSBENCH: Mapping[str, str] = {
    "scenario": "oltp_update_non_index",
    "protocol": "prepared",
    "tables": "2",
    "rows": "10000",
    "threads": "2",
    "duration": "2s",
    "warmup": "0s",
}
TPCC: Mapping[str, str] = {
    "warehouses": "1",
    "protocol": "prepared",
    "clients": "2",
    "jobs": "2",
    "duration": "2s",
    "warmup": "0s",
}
PLAYED: Mapping[str, str] = {"warehouses": "1", "threads": "2", "duration": "2s", "warmup": "0s"}
"""For programs that play TPC-C on our tables, where they are installed."""
ECHOES: Mapping[str, tuple[str, ...]] = {
    "fake": ("clients", "jobs", "protocol", "script"),
    "pgbench": ("clients", "jobs", "protocol", "script"),
    "sysbench": ("threads",),
    "tpcc": ("clients", "jobs", "protocol"),
    "go-tpc": (),
    "sysbench-tpcc": ("threads",),
}
"""The options, beside the run's length, that each program names in its own output."""
SILENT = ("sysbench", "go-tpc", "sysbench-tpcc")
"""Programs that do not name the run's length either."""
KINDS = {
    "pgbench": (PGBENCH, "scale"),
    "sysbench": (SYSBENCH, "rows"),
    "tpcc": (TPCC, "warehouses"),
    "go-tpc": (PLAYED, "warehouses"),
    "sysbench-tpcc": (PLAYED, "warehouses"),
}


@dataclass
class Bench:
    """A load with data in a running server; `start` gives the server back after a test has stopped it."""

    make: Callable[[LoadOptions], Load]
    clock: Clock
    start: Callable[[], Server]
    server: Server
    levels: Mapping[str, str]
    driver: Driver[Any]
    size: str
    """The option that makes the data larger."""
    kind: str

    def echoed(self, **length: str) -> dict[str, str]:
        """What a run with these options and this length says of itself."""
        names = ECHOES[self.kind]
        told = {name: self.levels[name] for name in names} | ({} if self.kind in SILENT else length)
        return {f"load.{name}": value for name, value in told.items()}

    def load(self, **changed: str) -> Load:
        """With other levels than usual."""
        levels = {name: text for name, text in {**self.levels, **changed}.items() if self.driver.takes(name)}
        return self.make(self.driver.options.from_levels(levels))


REAL = [pytest.param(name, marks=pytest.mark.system) for name in KINDS]


@pytest.fixture(scope="module", params=["fake", *REAL])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if request.param == "fake":
        clock = FakeClock()
        folder = tmp_path_factory.mktemp("fake")
        fake = FakeInstallation(answers=ANSWERS)
        yield from _benches(FakeLoad(clock).with_options, clock, fake, folder, "pgbench", "fake")
        return
    with real.private_folder() as folder:
        installation = real.installation()
        tools = Tools(installation.bindir, real.runner(), SystemClock())
        try:
            drivers.require_program(request.param)
            drivers.make(drivers.options_of({"driver": request.param, "warmup": "1s"}), tools).check()
        except UsageError as error:
            pytest.skip(error.message)
        yield from _benches(
            lambda options: drivers.make(options, tools),
            tools.clock,
            installation,
            folder,
            request.param,
            request.param,
        )


def _benches(
    make: Callable[[LoadOptions], Load],
    clock: Clock,
    installation: Installation,
    folder: Path,
    driver: str,
    kind: str,
) -> Iterator[Bench]:
    installation.initialize(folder / "data", {})

    def start() -> Server:
        return installation.start(folder / "data", {"fsync": "off"}, folder / "socket")

    levels, size = KINDS[driver]
    bench = Bench(make, clock, start, start(), levels, drivers.find(driver), size, kind)
    try:
        load = bench.load()
        load.create(bench.server)
        load.fill(bench.server)
        load.age(bench.server)
        yield bench
    finally:
        bench.server.stop()


def test_responses_are_declared_once(bench: Bench) -> None:
    names = [response.name for response in bench.load().responses]
    assert "tps" in names
    assert len(set(names)) == len(names)


def test_a_run_tells_what_it_did(bench: Bench, tmp_path: Path) -> None:
    before = bench.clock.monotonic_ns()
    result = bench.load().run(bench.server, tmp_path / "out", 1)
    assert (result.status, dict(result.problems)) == (0, {})
    assert before <= result.started_monotonic_ns < result.finished_monotonic_ns <= bench.clock.monotonic_ns()
    assert 1.9e9 < result.finished_monotonic_ns - result.started_monotonic_ns < 60e9
    assert result.started_wall_ns < result.finished_wall_ns
    tps = result.responses["tps"]
    assert tps is not None
    assert result.transactions == pytest.approx(tps * 2, rel=0.25)
    assert set(result.responses) == {response.name for response in bench.load().responses}
    assert list((tmp_path / "out").iterdir()), "raw outputs are kept"


def test_the_series_lies_inside_the_run(bench: Bench, tmp_path: Path) -> None:
    result = bench.load().run(bench.server, tmp_path / "out", 2)
    tps = [sample for sample in result.series if sample.name == "tps"]
    assert tps
    for sample in result.series:
        assert sample.source == bench.driver.name
        assert result.started_monotonic_ns <= sample.monotonic_ns <= result.finished_monotonic_ns
        assert result.started_wall_ns <= sample.wall_ns <= result.finished_wall_ns


def told_by(result: LoadResult) -> dict[str, str]:
    """What a run says of its options; pgbench names a limit that nobody asked for, too, from 15 on."""
    told = dict(result.read_back)
    assert told.pop("load.max_tries", "1") == "1"
    return told


def test_every_level_it_echoes_agrees(bench: Bench, tmp_path: Path) -> None:
    result = bench.load().run(bench.server, tmp_path / "out", 3)
    assert told_by(result) == bench.echoed(duration=bench.levels["duration"])
    factors = {factor.pattern: factor for factor in known_factors()}
    for option in ("scale", "rows", "tables", "warehouses"):
        if option in bench.levels:
            factor = factors[f"load.{option}"]
            level = factor.parse(factor.pattern, bench.levels[option])
            found = factor.read_back(factor.pattern, level, Readable(bench.server))
            assert found == bench.levels[option], "counted in the data"
    scale = factors["load.scale"]
    assert isinstance(scale, OptionFactor)
    absent = replace(scale, option=replace(scale.option, read_back=rows_of("no_such_table")))
    level = scale.parse("load.scale", "2")
    assert absent.read_back("load.scale", level, Readable(bench.server)) is None, "the user's own data have no scale"


def test_equal_work_instead_of_a_length(bench: Bench, tmp_path: Path) -> None:
    result = bench.load(transactions="50").run(bench.server, tmp_path / "out", 4)
    assert result.transactions == pytest.approx(100, abs=1)
    assert told_by(result) == bench.echoed(transactions="50")


def test_only_what_the_data_depend_on_is_in_their_key(bench: Bench) -> None:
    key = bench.load().data_key()
    assert bench.load(clients="9", threads="9", protocol="simple").data_key() == key
    assert bench.load(**{bench.size: "9"}).data_key() != key


def test_more_data_take_more_room(bench: Bench) -> None:
    small, large = (bench.load(**{bench.size: size}).estimated_bytes() for size in ("10", "100"))
    assert 0 < small < large


def test_what_cannot_run_is_refused_before_the_run(bench: Bench, tmp_path: Path) -> None:
    bench.load().check()
    absent = str(tmp_path / "absent.sql")
    wrong = dict.fromkeys(("script", "scenario", "protocol", "threads"), absent)
    with pytest.raises(UsageError, match=r"absent\.sql"):
        bench.load(**wrong).check()


def test_a_dead_server_is_a_result_not_an_error(bench: Bench, tmp_path: Path) -> None:
    bench.server.stop()
    try:
        result = bench.load().run(bench.server, tmp_path / "out", 5)
    finally:
        bench.server = bench.start()
    assert result.status != 0
    assert result.problems
    assert result.transactions == 0
    assert result.responses["tps"] is None
