"""A server's log is played again on another server: the same sessions and values, in order, with lateness told."""

import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import sleep

import psycopg
import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import Slice
from pgassay.load.player import LeftOut, Player, ReplayedLog
from pgassay.testing import real

PREFIX = "%m [%c] %q%u@%d "
SESSIONS, TURNS = 3, 8


def make(server: Server) -> None:
    server.execute("CREATE TABLE sums (customer int PRIMARY KEY, amount int)")
    server.execute("INSERT INTO sums SELECT n, 0 FROM generate_series(1, 100) n")


def work(server: Server, number: int) -> None:
    with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
        for turn in range(TURNS):
            connection.execute("BEGIN")
            connection.execute("UPDATE sums SET amount = amount + 1 WHERE customer = %s", (number * TURNS + turn,))
            sleep(0.005)
            connection.execute("COMMIT")
            connection.execute(f"SELECT amount FROM sums WHERE customer = {turn + 1} AND 'it''s' <> ''")
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT 1 / 0")


def sums(server: Server) -> list[tuple[object, ...]]:
    return list(server.query("SELECT customer, amount FROM sums ORDER BY customer"))


def played(slices: Sequence[Slice]) -> int:
    """How many calls of the log were sent."""
    return sum(each.transactions + each.failed_alike for each in slices)


@pytest.mark.system
def test_a_log_is_played_again_in_slices_with_the_same_outcome(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0") as (server, _):
        make(server)
        began = len(server.log_text())
        threads = [threading.Thread(target=work, args=(server, number)) for number in range(SESSIONS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        wanted = sums(server)
        log.write_text(server.log_text()[began:], encoding="utf-8")
    with real.server() as (server, _):
        make(server)
        replayed = ReplayedLog((log,), (PREFIX,), time_factor=2.0)
        with Player(replayed, server.endpoint, real.runner(), SystemClock()) as player:
            facts = player.log
            first = player.play(transactions=10)
            rest = [player.play(duration_ms=int(facts.length_ms) + 1000)]
            while played([first, *rest]) < facts.calls:  # a busy machine is behind what the log has
                rest.append(player.play(duration_ms=1000))
            beyond = player.play(duration_ms=100)
        assert sums(server) == wanted
    assert (facts.sessions, facts.left_out) == (SESSIONS, LeftOut(torn=1)), "the sums are the last record"
    assert facts.calls == SESSIONS * TURNS * 5
    assert facts.statements.index("UPDATE sums SET amount = amount + $1 WHERE customer = $2") >= 0
    assert first.transactions + first.failed_alike >= 10
    slices = [first, *rest]
    assert sum(each.failed_alike for each in slices) == SESSIONS * TURNS
    assert sum(each.transactions for each in slices) == SESSIONS * TURNS * 4
    assert sum(each.lateness.count for each in slices) == facts.calls
    assert [(dict(each.failed), each.aborted) for each in slices] == [({}, ())] * len(slices)
    assert all(each.drained_ns <= later.opened_ns for each, later in pairwise(slices))
    assert len(rest[0].scripts) == len(facts.statements)
    assert (beyond.transactions, beyond.aborted) == (0, ("the log has ended: it is shorter than what is asked",))


def test_a_log_that_holds_nothing_to_play_says_so(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("2026-11-23 01:29:46.500 UTC [77] LOG:  checkpoint starting: time\n", encoding="utf-8")
    for replayed, said in (
        (ReplayedLog((log,), ("%m [%p] ",)), "the log holds no statement"),
        (ReplayedLog((tmp_path / "gone",)), "cannot read the log"),
        (ReplayedLog((log,), time_factor=0.0), "a time factor above 0"),
        (ReplayedLog((log,), ("%z",)), "no escape %z"),
    ):
        with pytest.raises(LoadError, match=said):
            Player(replayed, Endpoint(tmp_path, 5432, "none", "none"), real.runner(), SystemClock())
