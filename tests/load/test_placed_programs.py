"""The program of every load keeps to the CPUs that it is given, and does not run where none are left for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.hosting import Placement
from pgassay.interfaces.load import Load
from pgassay.interfaces.server import Server
from pgassay.load import program
from pgassay.testing.fakes import FakeInstallation
from tests.fakes.runner import FakeRunner, Program
from tests.load import loads

SILENT: Program = lambda arguments, given: (1, "", "")  # noqa: E731
VERSION: Program = lambda arguments, given: (0 if "--version" in arguments else 1, "pgbench (PostgreSQL) 17.0", "")  # noqa: E731
EACH = ("sysbench", "sysbench-tpcc", "tpcc", "fio")


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str, FakeRunner, str], Load]:
    """A load by its name, with the program's CPUs."""
    for name in ("tpcc.lua", "pgbench"):
        (tmp_path / name).write_text("")
    file = tmp_path / "data/pgassay_fio.tmp"

    def make(name: str, runner: FakeRunner, cores: str) -> Load:
        tools = loads.fake_tools(runner, bindir=tmp_path)
        levels = {"duration": "1s", "cores": cores}
        if name == "fio":
            file.parent.mkdir(exist_ok=True)
            file.touch()
            return loads.fio({**levels, "warmup": "1s"}, tools)
        if name == "sysbench-tpcc":
            return loads.sysbench_tpcc({**levels, "lua": str(tmp_path)}, tools)
        if name == "tpcc":
            return loads.tpcc(levels, tools)
        return loads.sysbench(levels, tools)

    return make


@pytest.fixture
def server(tmp_path: Path) -> Server:
    def directory(server: object, match: object, parameters: object) -> list[tuple[str]]:
        return [(str(tmp_path / "data"),)]

    installation = FakeInstallation(
        answers={"SELECT name FROM unnest": lambda server, match, parameters: [], "SHOW data_directory": directory}
    )
    installation.initialize(tmp_path / "data", {})
    return installation.start(tmp_path / "data", {}, tmp_path)


def runner() -> FakeRunner:
    return FakeRunner({"sysbench": SILENT, "pgbench": VERSION, "fio": lambda words, given: (0, "", "")})


@pytest.mark.parametrize("name", EACH)
def test_a_program_gets_the_cpus_that_were_asked_for(
    name: str, made: Callable[[str, FakeRunner, str], Load], server: Server, tmp_path: Path
) -> None:
    free, bound = runner(), runner()
    made(name, free, "all").run(server, tmp_path / "free", 1)
    made(name, bound, "cpu:0").run(server, tmp_path / "bound", 1)
    assert free.placements[-1] == Placement()
    assert bound.placements[-1] == Placement(cpus=(0,))


@pytest.mark.parametrize("name", EACH)
def test_no_program_is_started_where_the_server_leaves_it_no_cpu(
    name: str, made: Callable[[str, FakeRunner, str], Load], server: Server, tmp_path: Path
) -> None:
    nowhere = runner()
    found = made(name, nowhere, "rest").run(server, tmp_path / "out", 1)
    assert "no_cores" in found.problems
    assert nowhere.placements == []


@pytest.mark.parametrize("name", EACH)
def test_absent_cpus_are_refused_before_a_run(
    name: str, made: Callable[[str, FakeRunner, str], Load], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_usable", lambda: {0, 1})
    with pytest.raises(UsageError, match="not available: 7"):
        made(name, runner(), "cpu:1,7").check()
