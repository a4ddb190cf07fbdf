"""The player on a worker of Dask's: slices by order, a log, and what becomes of it when nobody asks any more."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pgassay.fleet import FleetError, client
from pgassay.fleet.client import WorkerClient
from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.hosting import ANYWHERE
from pgassay.interfaces.load import Tools
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.player import VARIABLE, PlayedLoad, PlayedScript
from pgassay.load.replay import ReplayLoad, ReplayOptions
from pgassay.testing import real
from tests.fakes.runner import FakeRunner
from tests.fleet import clusters
from tests.load import replayed
from tests.load.test_network import served

pytestmark = [clusters.SLOW_DISK]
WORKER = "0"
PATIENCE_S = 300.0
"""For what a busy machine does late."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[WorkerClient]:
    with clusters.in_process(tmp_path, 1) as cluster, Client(cluster) as dask:  # type: ignore[no-untyped-call,unused-ignore]
        yield WorkerClient(WORKER, dask, real.runner())


def awaited_end() -> None:
    until = time.monotonic() + PATIENCE_S
    while client._KEPT:
        assert time.monotonic() < until, "a player is still kept"
        time.sleep(0.05)


def tools(host: WorkerClient) -> Tools:
    return Tools(
        real.installation().bindir, real.runner(), SystemClock(), elsewhere=host.runner, player_host=host.player_host
    )


def described(endpoint: Endpoint) -> dict[str, Any]:
    return PlayedLoad((PlayedScript("own", "SELECT 1;"),)).specification(endpoint)


def clients_of(server: Server) -> int:
    ((count,),) = server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgassay-player'")
    return int(count)


@pytest.mark.system
def test_slices_are_played_there_and_have_moments_of_our_clock(host: WorkerClient, tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text("SELECT 1;\n", encoding="utf-8")
    levels = {"script": str(script), "clients": "2", "host": "h1"}
    load, clock = PgbenchLoad(PgbenchOptions.from_levels(levels), tools(host)), SystemClock()
    assert load.ungated is None
    with served() as server:
        with closing(load.gate(server, 1)) as first, closing(load.gate(server, 2, paired=True)) as second:
            assert clients_of(server) == 4, "two players at once, on a worker with one thread"
            assert not second.paired
            began_ns = clock.monotonic_ns()
            slices = [each.play(transactions=20) for each in (first, second, first)]
            ended_ns = clock.monotonic_ns()
        awaited_end()
    assert [each.transactions for each in slices] == [40, 40, 40]
    moments = [moment for each in slices for moment in (each.opened_ns, each.drained_ns)]
    assert moments == sorted(moments), "one after the other"
    assert began_ns <= moments[0]
    assert moments[-1] <= ended_ns


@pytest.mark.system
def test_a_log_is_played_there_and_comes_home(host: WorkerClient, tmp_path: Path) -> None:
    log = replayed.write(tmp_path / "server.log", replayed.sums(2, 2.0, 10))
    levels = {"log": str(log), "log_prefix": replayed.PREFIX, "duration": "2s", "host": "h1"}
    load = ReplayLoad(ReplayOptions.from_levels(levels), tools(host))
    load.check()
    with served() as server:
        for each in replayed.SCHEMA.strip().split(";\n"):
            server.execute(each.rstrip(";"))
        began_ns = SystemClock().monotonic_ns()
        result = load.run(server, tmp_path / "out", 1)
        ended_ns = SystemClock().monotonic_ns()
    assert (result.status, dict(result.problems)) == (0, {})
    assert result.transactions == 2 * 10 * 4
    assert result.elsewhere is not None
    assert began_ns <= result.started_monotonic_ns < result.finished_monotonic_ns <= ended_ns


@pytest.mark.system
def test_a_player_that_nobody_waits_for_any_more_ends(host: WorkerClient) -> None:
    with served() as server:
        dialogue = host.player_host.converse(described(server.client_endpoint), server.client_endpoint, ANYWHERE)
        assert clients_of(server) == 1
        host.client.cancel(dialogue.kept, force=True)
        awaited_end()
        with pytest.raises(LoadError, match="was ended"):
            dialogue.ask({"play": {"transactions": 1}})


@pytest.mark.system
def test_a_server_that_refuses_it_is_told_in_its_words(host: WorkerClient, tmp_path: Path) -> None:
    with served() as server:
        endpoint = server.client_endpoint
        assert endpoint.network is not None
        wrong = tmp_path / "wrong"
        line = endpoint.network.password_file.read_text(encoding="utf-8")
        wrong.write_text(f"{line.rpartition(':')[0]}:guessed\n", encoding="utf-8")
        refused = replace(endpoint, network=replace(endpoint.network, password_file=wrong))
        with pytest.raises(LoadError, match=r'"0" could not run the load: .*password authentication failed'):
            host.player_host.converse(described(refused), refused, ANYWHERE)
    assert not client._KEPT


def test_a_worker_without_a_player_and_one_with_another_are_refused(
    host: WorkerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(LoadError, match="pgassay-player, which plays loads in slices, is not installed"):
        host.player_host.require_player()
    with real.private_folder() as folder:
        old = folder / "old"
        old.write_text("#!/bin/sh\necho pgassay-player 0.0.9\n", encoding="utf-8")
        old.chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(old))
        ours = FakeRunner({"old": lambda arguments, given: (0, "pgassay-player 0.1.0\n", "")})
        mixed = replace(host.player_host, local=ours)
        with pytest.raises(
            FleetError, match=r"has pgassay-player 0\.0\.9, and this machine has pgassay-player 0\.1\.0"
        ):
            mixed.require_player()
