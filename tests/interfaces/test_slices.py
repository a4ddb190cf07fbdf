"""What every player of slices keeps, the fake and the real one; and how latencies of slices are added up."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import LatencyHistogram, SlicePlayer
from pgassay.load.player import PlayedLoad, PlayedScript, Player, check
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock
from tests.fakes.player import FakePlayer

CLIENTS = 3
UPDATE = """\
\\set who random(1, :rows)
BEGIN;
UPDATE account SET balance = balance + 1 WHERE id = :who;
INSERT INTO history VALUES (:client_id, :who);
END;
"""
LOAD = PlayedLoad((PlayedScript("update", UPDATE),), CLIENTS, 2, "prepared", seed=1, variables={"rows": "50"})
Opened = Callable[[PlayedLoad], AbstractContextManager[SlicePlayer]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server(autovacuum="off") as (started, _):
        started.execute("CREATE TABLE account (id int PRIMARY KEY, balance int)")
        started.execute("CREATE TABLE history (client int, id int)")
        started.execute("INSERT INTO account SELECT n, 0 FROM generate_series(1, 50) n")
        yield started


@contextmanager
def fake(load: PlayedLoad) -> Iterator[SlicePlayer]:
    with closing(FakePlayer(FakeClock(), load.clients)) as player:
        yield player


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.system)])
def opened(request: pytest.FixtureRequest) -> Opened:
    if request.param == "fake":
        return fake
    server = request.getfixturevalue("server")
    return lambda load: Player(load, server.endpoint, real.runner(), SystemClock())


def test_slices_follow_each_other_and_keep_what_was_asked(opened: Opened) -> None:
    with opened(LOAD) as player:
        counted = player.play(transactions=20)
        timed = player.play(duration_ms=150)
        while not timed.transactions and not timed.aborted:  # a busy machine may do nothing in so short a time
            timed = player.play(duration_ms=150)
    assert counted.transactions == 20 * CLIENTS
    assert counted.opened_ns < counted.drained_ns <= timed.opened_ns
    assert timed.closed_ns - timed.opened_ns == 150_000_000
    assert timed.drained_ns >= timed.closed_ns
    assert timed.transactions > 0
    for each in (counted, timed):
        assert each.latencies.least_ns > 0
        assert sum(count for _, count in each.latencies.buckets) == each.transactions
        assert sum(script.count for script in each.scripts) == each.transactions
        assert (dict(each.failed), each.aborted, each.retries) == ({}, (), 0)
        assert each.cpu_ns > 0
        assert all(statement.least_ns > 0 for statement in each.statements)
    assert counted.parts == ()
    assert len(timed.parts) == 10
    assert timed.transactions - CLIENTS <= sum(timed.parts) <= timed.transactions, "all but what ended while draining"


def test_a_closed_player_plays_no_more(opened: Opened) -> None:
    with opened(LOAD) as player:
        player.close()
        player.close()
        with pytest.raises(LoadError):
            player.play(transactions=1)


@pytest.mark.system
@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_what_is_counted_is_what_was_committed(server: Server, protocol: str) -> None:
    server.execute("TRUNCATE history")
    load = replace(LOAD, protocol=protocol)
    with Player(load, server.endpoint, real.runner(), SystemClock()) as player:
        played = [player.play(duration_ms=200), player.play(transactions=5)]
        in_flight = server.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgassay-player' AND state <> 'idle'"
        )
    assert in_flight == [(0,)]
    ((rows, clients),) = server.query("SELECT count(*), count(DISTINCT client) FROM history")
    assert (rows, clients) == (sum(each.transactions for each in played), CLIENTS)
    assert len(played[0].statements) == 4
    assert {each.count for each in played[1].statements} == {5 * CLIENTS}


@pytest.mark.system
def test_branches_results_and_sleep_are_played(server: Server) -> None:
    text = """\
SELECT :client_id AS mine, 7 AS seven \\gset got_
\\if :got_seven = 7
\\sleep 2 ms
SELECT :got_mine;
\\else
SELECT 1 / 0;
\\endif
"""
    load = PlayedLoad((PlayedScript("branches", text),), clients=2)
    with Player(load, server.endpoint, real.runner(), SystemClock()) as player:
        played = player.play(transactions=3)
    assert (played.transactions, played.aborted) == (6, ())
    assert played.latencies.least_ns >= 2_000_000
    assert [each.count for each in played.statements] == [6, 6, 0]
    assert [each.rows for each in played.statements] == [6, 6, 0]
    assert [each.count for each in played.scripts] == [6]


@pytest.mark.system
def test_an_error_of_the_server_ends_the_client_and_is_told(server: Server) -> None:
    load = PlayedLoad((PlayedScript("wrong", "SELECT 1 / 0;"),), clients=2)
    with Player(load, server.endpoint, real.runner(), SystemClock()) as player:
        played = player.play(duration_ms=5_000)
    assert played.transactions == 0
    assert sorted(played.aborted) == [
        "client 0: division by zero (22012)",
        "client 1: division by zero (22012)",
    ]
    assert played.drained_ns < played.closed_ns + 5_000_000_000


@pytest.mark.system
def test_deadlocks_are_tried_again_and_then_given_up(server: Server) -> None:
    server.execute("ALTER SYSTEM SET deadlock_timeout = '10ms'")
    server.query("SELECT pg_reload_conf()")
    step = "UPDATE account SET balance = 0 WHERE id = {};\n"
    crossed = f"BEGIN;\n{step}\\sleep 5 ms\n{step}END;"
    scripts = tuple(PlayedScript(name, crossed.format(*ids)) for name, ids in (("up", (1, 2)), ("down", (2, 1))))
    load = PlayedLoad(scripts, clients=4, threads=2, seed=3, max_tries=2)
    with Player(load, server.endpoint, real.runner(), SystemClock()) as player:
        played = player.play(transactions=40)
    assert played.aborted == ()
    assert played.retries > 0
    assert set(played.failed) <= {"40P01"}
    assert played.transactions + sum(played.failed.values()) == 160


@pytest.mark.system
def test_an_offered_rate_is_kept_and_latency_counts_from_when_one_was_due(server: Server) -> None:
    slow = PlayedLoad((PlayedScript("slow", "SELECT pg_sleep(0.02);"),), rate_tps=200.0, seed=2)
    with Player(slow, server.endpoint, real.runner(), SystemClock()) as player:
        played = player.play(transactions=40)
    # One client that needs 20 ms cannot do 200 a second: those that are due wait, and that is part of their latency.
    assert played.transactions == 40
    assert (played.latencies.quantile_ns(0.9) or 0) > 200_000_000


def test_what_cannot_be_played_is_refused_before_anything_is_connected() -> None:
    for text, words in (
        ("\\setshell x ls\n", "setshell"),
        ("\\if 1\n", "endif"),
        ("\\set x permute(1, 2)\n", "permute"),
    ):
        with pytest.raises(UsageError, match=re.escape(words)):
            check(PlayedLoad((PlayedScript("mine", text),)), real.runner())
    check(LOAD, real.runner())


@pytest.mark.system
def test_a_server_that_is_not_there_is_named(server: Server) -> None:
    nowhere = replace(server.endpoint, port=server.endpoint.port + 1)
    with pytest.raises(LoadError, match="cannot connect"):
        Player(LOAD, nowhere, real.runner(), SystemClock())


HISTOGRAMS = st.lists(st.integers(1, 999), max_size=30).map(
    lambda values: LatencyHistogram(
        len(values),
        sum(values),
        min(values, default=0),
        max(values, default=0),
        tuple(sorted((value, values.count(value)) for value in set(values))),
    )
)


@given(HISTOGRAMS, HISTOGRAMS)
def test_histograms_add_up(first: LatencyHistogram, second: LatencyHistogram) -> None:
    both = first + second
    assert both == second + first
    assert both.count == first.count + second.count == sum(count for _, count in both.buckets)
    values = sorted(edge for each in (first, second) for edge, count in each.buckets for _ in range(count))
    assert both.quantile_ns(1.0) == (values[-1] if values else None)
    assert both.quantile_ns(0.5) == (values[(len(values) + 1) // 2 - 1] if values else None)
