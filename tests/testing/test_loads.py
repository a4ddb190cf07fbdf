"""Every load of ours keeps the contract of loads: the fake one, and the real programs on a private server."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.factor import Readable
from pgassay.interfaces.load import Tools
from pgassay.interfaces.options import rows_of
from pgassay.load import drivers
from pgassay.study.levels import Level
from pgassay.testing.contracts import LoadContract, LoadOnServer, load_on_server, on_server
from pgassay.testing.fakes import FakeClock, FakeInstallation
from tests.fakes.load import ANSWERS, FakeLoad
from tests.fakes.runner import FakeRunner
from tests.load import replayed
from tests.load.loads import real_tools

LENGTHS = ("duration", "transactions")


def connected_s(output: Path) -> float:
    """What pgbench's two seconds hold and its rate leaves out; a server may take long to answer on a busy machine."""
    told = re.search(r"initial connection time = ([\d.]+) ms", (output / "pgbench.out").read_text(encoding="utf-8"))
    return float(told[1]) / 1e3 if told else 0.0


@dataclass(frozen=True)
class Case:
    """One driver's options, and what is known of it; see `LoadOnServer`."""

    levels: Mapping[str, str]
    larger: str
    neutral: Mapping[str, object]
    echoes: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    refused: str = "threads"
    sizes: tuple[object, object] = (10, 100_000)
    by_pgbench: bool = False

    def known(self) -> dict[str, Any]:
        """The arguments of a `LoadOnServer`."""
        return {
            "larger": self.larger,
            "neutral": self.neutral,
            "echoes": self.echoes,
            "counted": self.counted,
            "sizes": self.sizes,
            "refused": {r"absent\.sql": {self.refused: "/nowhere/absent.sql"}},
            **({"connected_s": connected_s} if self.by_pgbench else {}),
        }


COMMON = {"duration": "2s", "warmup": "0s"}
CLIENTS = {"protocol": "prepared", "clients": "2", "jobs": "2", **COMMON}
PLAYED = Case({"warehouses": "1", "threads": "2", **COMMON}, "warehouses", {"threads": 9}, (), ("warehouses",))
CASES = {
    "pgbench": Case(
        {"script": "simple-update", "scale": "2", **CLIENTS},
        "scale",
        {"clients": 9, "protocol": "simple"},
        ("clients", "jobs", "protocol", "script", *LENGTHS),
        ("scale",),
        "script",
        by_pgbench=True,
    ),
    "sysbench": Case(
        {"scenario": "oltp_update_non_index", "protocol": "prepared", "tables": "2", "rows": "10000", "threads": "2",
         **COMMON},
        "rows",
        {"threads": 9, "protocol": "simple"},
        ("threads",),
        ("rows", "tables"),
        "scenario",
    ),
    "tpcc": Case(
        {"warehouses": "1", **CLIENTS},
        "warehouses",
        {"clients": 9, "protocol": "simple"},
        ("clients", "jobs", "protocol", *LENGTHS),
        ("warehouses",),
        "protocol",
        by_pgbench=True,
    ),
    "sysbench-tpcc": replace(PLAYED, echoes=("threads",)),
}  # fmt: skip


HOSTS = ("here", "loopback")
OVER_TCP = "pgbench loopback"


def _host(name: str) -> dict[str, str]:
    return {"host": name} if name else {}


@pytest.mark.system
class TestReplay(LoadContract):
    @pytest.fixture(scope="class", params=HOSTS)
    @classmethod
    def bench(cls, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadOnServer]:
        folder = tmp_path_factory.mktemp("replayed")
        small, large = ((folder / f"{rows}.sql") for rows in (100, 100_000))
        for each in (small, large):
            each.write_text(replayed.SCHEMA + "\n" * int(each.stem), encoding="utf-8")
        log = replayed.write(folder / "server.log", replayed.sums(2, 3.0))
        levels = {"log": str(log), "log_prefix": replayed.PREFIX, "init": str(small), "sessions": "2", **COMMON}
        levels["host"] = request.param
        case = Case(levels, "init", {"sessions": 9, "speed": 1.5}, refused="init", sizes=(small, large))
        driver = drivers.find("replay")
        options = driver.options.from_levels(levels)
        drivers.make(options, real_tools()).check()  # else it would be skipped
        yield from load_on_server(driver, options, **case.known())


@pytest.mark.system
class TestLoads(LoadContract):
    @pytest.fixture(scope="class", params=[*CASES, OVER_TCP])
    @classmethod
    def bench(cls, request: pytest.FixtureRequest) -> Iterator[LoadOnServer]:
        name, _, host = request.param.partition(" ")
        case, driver = CASES[name], drivers.find(name)
        try:
            drivers.require_program(driver.name)
        except UsageError as error:
            pytest.skip(error.message)
        yield from load_on_server(driver, driver.options.from_levels({**case.levels, **_host(host)}), **case.known())


class TestFakeLoad(LoadContract):
    @pytest.fixture(scope="class", params=HOSTS)
    @classmethod
    def bench(cls, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadOnServer]:
        case, fake, clock = CASES["pgbench"], FakeInstallation(answers=ANSWERS), FakeClock()
        load = FakeLoad(clock)
        driver = replace(drivers.find("pgbench"), make=lambda options, tools: load.with_options(options))
        tools, folder = Tools(fake.bindir, FakeRunner(), clock), tmp_path_factory.mktemp("fake")
        options = driver.options.from_levels({**case.levels, **_host(request.param)})
        yield from on_server(driver, options, tools, fake, folder, **case.known())


def test_the_users_own_data_have_no_scale(tmp_path: Path) -> None:
    fake = FakeInstallation(answers=ANSWERS)
    fake.initialize(tmp_path / "data", {})
    server = fake.start(tmp_path / "data", {}, tmp_path)
    assert rows_of("no_such_table")("load.scale", Level("2", "2"), Readable(server)) is None
