"""Which loads can be played in slices, what the player is then asked, and by which words the others are refused."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.hosting import Placement
from pgassay.interfaces.load import BaseLoad, LoadOptions
from pgassay.interfaces.server import Server
from pgassay.load import drivers, program
from pgassay.load.player import PlayedLoad, PlayedScript
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock, FakeInstallation, FakeServer
from tests.fakes.load import ANSWERS, FakeLoad
from tests.fakes.runner import FakeRunner
from tests.load.loads import fake_tools, fio, pgbench, real_tools, tpcc

BUILTIN = "-- built-in\nSELECT 1;\n"
PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    connections = 4 * len(os.sched_getaffinity(0)) + 20
    with real.server(autovacuum="off", max_connections=str(connections)) as (started, _):
        load = pgbench({"scale": "2"})
        load.create(started)
        load.fill(started)
        yield started


def fake_server(folder: Path, **settings: str) -> FakeServer:
    fake = FakeInstallation(answers=ANSWERS)
    fake.initialize(folder / "data", {})
    return fake.start(folder / "data", settings, folder)


def test_every_option_of_pgbench_arrives(tmp_path: Path) -> None:
    own = tmp_path / "own.sql"
    own.write_text("SELECT :scale;\n")
    tools = fake_tools(FakeRunner({"pgbench": lambda arguments, given: (0, "", BUILTIN)}))
    levels = {
        "script": f"select-only@2,{own}@3", "protocol": "extended", "clients": "8", "jobs": "clients", "rate": "500",
        "max_tries": "3", "variables": "rows=5",
    }  # fmt: skip
    assert pgbench(levels, tools).played(scale=7, seed=9) == PlayedLoad(
        scripts=(PlayedScript("select-only", BUILTIN, 2), PlayedScript(str(own), "SELECT :scale;\n", 3)),
        clients=8,
        threads=8,
        protocol="extended",
        seed=9,
        variables={"scale": "7", "rows": "5"},
        rate_tps=500.0,
        max_tries=3,
    )
    assert pgbench({"script": str(own), "latency_limit": "20ms"}, tools).played(1, 1).latency_limit_ms == 20.0


@pytest.mark.parametrize(
    "name", [each.name for each in drivers.BUILT_IN if each.name not in ("pgbench", "tpcc", "replay")]
)
def test_a_program_of_its_own_is_refused_with_the_alternative(name: str, tmp_path: Path) -> None:
    driver = drivers.find(name)
    options = driver.options(**({"warmup_s": 1} if name in ("fio", "cacheprobe") else {}))
    load = driver.make(options, fake_tools())
    assert load.ungated is not None
    assert f'"{name}"' in load.ungated
    with pytest.raises(UsageError, match="cannot stand still") as refused:
        load.gate(fake_server(tmp_path), 1)
    assert refused.value.hint is not None
    assert 'design.pairing = "sequential"' in refused.value.hint


class Unready(BaseLoad[LoadOptions]):
    """It says that it can be played in slices, and has no `gate`."""

    responses = ()
    ungated = None


def test_a_load_that_can_be_gated_and_is_not_is_refused_by_its_name(tmp_path: Path) -> None:
    load = Unready(drivers.options_of({"driver": "replay"}), fake_tools())
    with pytest.raises(UsageError, match='the load "replay" cannot be played'):
        load.gate(fake_server(tmp_path), 1)


def test_a_log_is_no_load_for_turns(tmp_path: Path) -> None:
    load = drivers.make(drivers.options_of({"driver": "replay"}), fake_tools())
    assert load.ungated is not None
    with pytest.raises(UsageError, match="would not be carried into the next") as refused:
        load.gate(fake_server(tmp_path), 1)
    assert 'design.pairing = "sequential"' in (refused.value.hint or "")


@pytest.mark.system
@pytest.mark.parametrize(
    ("levels", "text", "word"),
    [
        ({}, "\\setshell n echo 1\nSELECT :n;\n", "setshell"),
        ({"protocol": "simple"}, "\\startpipeline\nSELECT 1;\n\\endpipeline\n", "startpipeline"),
        ({}, "\\set n permute(1, 10)\nSELECT :n;\n", "permute"),
        ({"rate": "100", "latency_limit": "5ms"}, "SELECT 1;\n", "load.latency_limit"),
    ],
)
def test_what_only_pgbench_plays_is_refused_by_name(
    server: Server, tmp_path: Path, levels: dict[str, str], text: str, word: str
) -> None:
    script = tmp_path / "own.sql"
    script.write_text(text)
    load = pgbench({"script": str(script), **levels})
    assert load.ungated is not None
    assert word in load.ungated
    with pytest.raises(UsageError, match=word):
        load.gate(server, 1)


@pytest.mark.system
def test_pgbenchs_own_scripts_do_what_pgbench_does(server: Server) -> None:
    load = pgbench({"script": "tpcb-like@1,simple-update@1,select-only@2", "clients": "2", "protocol": "prepared"})
    assert load.ungated is None
    server.execute("TRUNCATE pgbench_history")
    with closing(load.gate(server, 3)) as player:
        played = player.play(transactions=200)
    assert (played.transactions, played.aborted) == (400, ())
    (history, branches, accounts) = (
        server.query(f"SELECT {what} FROM pgbench_{table}")[0][0]
        for what, table in (("count(*)", "history"), ("sum(bbalance)", "branches"), ("sum(abalance)", "accounts"))
    )
    assert 120 < history < 280, "half of the transactions write"
    assert branches != accounts, "a simple update leaves the branches alone"
    by_all_scales = server.query("SELECT max(aid) > 100000 FROM pgbench_history")
    assert by_all_scales == [(True,)], "the scale is that of the data: two branches"


def backends(server: Server, clients: int) -> list[int]:
    """Those of a player's clients, once those of the player before have ended: they do so after their player."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        rows = server.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'pgassay-player'")
        if len(rows) == clients:
            return [pid for (pid,) in rows]
        assert time.monotonic() < deadline, rows
        time.sleep(0.02)


@pytest.mark.system
def test_threads_are_paired_with_their_clients_backends(server: Server) -> None:
    cpus = os.sched_getaffinity(0)
    for threads, clients in ((len(cpus), 2 * len(cpus)), (len(cpus) + 1, 2 * len(cpus) + 2)):
        load = pgbench({"script": "select-only", "clients": str(clients), "jobs": str(threads)})
        with closing(load.gate(server, 3, paired=True)) as player:
            assert player.play(transactions=20).transactions == 20 * clients
            assert player.paired == (threads == len(cpus) or len(cpus) == 1), "else one CPU would have more to do"
            places = [sorted(os.sched_getaffinity(pid)) for pid in backends(server, clients)]
            tasks = [
                sorted(os.sched_getaffinity(int(each.name))) for each in Path(f"/proc/{player.pid}/task").iterdir()
            ]
            where = [[cpu] for cpu in sorted(cpus)] if player.paired else [sorted(cpus)]
            assert sorted(places) == sorted(clients // len(where) * where)
            assert sorted(tasks) == sorted([sorted(cpus), *(threads // len(where) * where)])


@pytest.mark.parametrize(
    ("place", "clients", "threads", "found"),
    [(set(), 4, 2, (0, 1)), ({0, 1}, 8, 4, (0, 1)), (set(), 4, 1, ()), (set(), 5, 2, ()), ({0}, 4, 2, ())],
)
def test_pairs_are_made_where_they_come_out_even(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: set[int], clients: int, threads: int, found: tuple[int, ...]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    server = fake_server(tmp_path)
    assert program.pairs(Placement(cpus=tuple(place)), server, clients, threads) == found


@pytest.mark.system
def test_the_scripts_of_tpcc_can_be_played() -> None:
    assert tpcc({}, real_tools()).ungated is None


def test_a_fake_load_in_slices_has_the_speed_of_its_server(tmp_path: Path) -> None:
    server = fake_server(tmp_path, work_mem="64MB")
    load = FakeLoad(FakeClock(), lambda options, settings: 500.0 if settings["work_mem"] == "64MB" else 1.0, 0.0)
    with closing(load.with_options(pgbench({"clients": "2"}, fake_tools()).options).gate(server, 1)) as player:
        assert player.play(duration_ms=1000).transactions == 500
        server.die()
        dead = player.play(duration_ms=1000)
    assert (dead.transactions, len(dead.aborted)) == (0, 1)
    only_data = load.with_options(fio({"warmup": "1s"}, fake_tools()).options)
    assert only_data.ungated is not None
