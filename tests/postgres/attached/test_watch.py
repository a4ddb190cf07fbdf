"""Who may stay on a user's server: how it is declared and proposed, what is measured, and when slots end a run."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import BenchError, QueryError
from pgassay.postgres.attached import facts
from pgassay.postgres.attached.facts import NOBODY, Client, Companions, proposed
from pgassay.postgres.attached.watch import SLOT_BYTES, SOURCE, Slot, Watch, require_slots, unsynced
from pgassay.postgres.server import Session

EXPORTER = Client(7, "exporter", "postgres", "monitor", "client backend", "active")
STANDBY = Client(8, "standby1", "", "replicator", "walsender", "active")
SUBSCRIBER = replace(STANDBY, pid=9, database="app")
BACKUP = Client(10, "pg_basebackup", "", "replicator", "backup", "active")
GUEST = Client(11, "psql", "app", "dba", "client backend", "idle")


@pytest.mark.parametrize("word", ["standby=x", "role", "role=", "pid=7", "", "=monitor"])
def test_what_declares_nobody_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f'--companion cannot be "{word}"')):
        Companions.of([word])


def test_each_declaration_lets_those_stay_that_it_names() -> None:
    everyone = (EXPORTER, STANDBY, SUBSCRIBER, BACKUP, GUEST)
    assert [each for each in everyone if each in NOBODY] == []
    for word, pids in (
        ("role=monitor", [7]), ("application_name=psql", [11]), ("standby", [8]), ("role=replicator", [8, 9, 10]),
    ):  # fmt: skip
        assert [each.pid for each in everyone if each in Companions.of([word])] == pids, word


def test_the_proposed_options_declare_all_that_were_found() -> None:
    spaced = replace(GUEST, application="the owner's own")
    found = (EXPORTER, STANDBY, SUBSCRIBER, spaced)
    options = proposed(found, "dba")
    assert options == (
        "--companion role=monitor --companion standby --companion role=replicator"
        """ --companion 'application_name=the owner'"'"'s own'"""
    )
    assert options in facts.other_clients(found, "dba").message
    assert "may stay" not in facts.other_clients([replace(GUEST, application="")], "dba").message, "our own role"


@pytest.mark.parametrize(
    ("slot", "said"),
    [
        (Slot("s", SLOT_BYTES + 1), 'slot "s" holds back 8GB of WAL, more than 8GB (--slot-limit)'),
        (Slot("s", 900 << 20, "extended", 124 << 20), "80% of max_slot_wal_keep_size"),
        (Slot("s", 1, "unreserved"), 'slot "s" is unreserved'),
        (Slot("s", 1, "lost"), 'slot "s" is lost'),
    ],
)
def test_a_slot_that_holds_back_too_much_is_named(slot: Slot, said: str) -> None:
    with pytest.raises(BenchError, match=re.escape(said)):
        require_slots([Slot("fine", 1 << 20), slot], SLOT_BYTES)


def test_slots_within_their_limits_are_no_hindrance() -> None:
    require_slots([Slot("a", 100 << 20), Slot("b", 100 << 20, "extended", 924 << 20)], SLOT_BYTES)


class Fake(Session):
    """A server with these clients and slots; it keeps the process ids of the databases whose load was ended."""

    def __init__(self) -> None:
        self.clients: list[Client] = [EXPORTER, STANDBY, GUEST]
        self.slots: list[tuple[object, ...]] = []
        self.sent = 1000
        self.ended: list[object] = []
        self.synchronous = 3
        self.gone = False

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self.gone:
            raise QueryError("gone")
        if "pg_terminate_backend" in sql:
            self.ended += parameters
            return []
        if "pg_replication_slots" in sql:
            return self.slots
        if "synchronous_standby_names" in sql:
            return [("ANY 2 (a, b, c)", "on", self.synchronous)]
        if "sent_lsn" in sql:
            self.sent += 500
            return [(self.sent, 70)]
        found = self.clients
        return [(c.pid, c.application, c.database, c.role, c.kind, c.state) for c in found]


def watched(sql: Session) -> Watch:
    companions = Companions.of(["role=monitor", "standby"])
    return Watch(sql, SystemClock(), companions, lambda: ["pgassay_1"], SLOT_BYTES)


def test_companions_are_counted_at_each_look_and_strangers_are_kept() -> None:
    server = Fake()
    watch = watched(server)
    (first,), (second,) = watch.read(), watch.read()
    assert first.source == SOURCE
    assert second.values == {
        "looks": 2, "session_looks": 4, "active_looks": 2, "wal_sent_bytes": 2000, "lag_bytes": 70, "slot_bytes": 0,
    }  # fmt: skip
    assert {meter.name for meter in watch.meters[SOURCE]} == second.values.keys()
    assert [each.pid for each in watch.strangers.values()] == [11]
    watch.strangers, watch.pid = {}, 11
    watch.read()
    assert watch.strangers == {}, "our own first session is none"
    server.gone = True
    (third,) = watch.read()
    assert third.values["wal_sent_bytes"] is None, "not available, never 0"


def test_a_slot_that_would_fill_the_disk_ends_the_load() -> None:
    server = Fake()
    watch = watched(server)
    watch.read()
    assert (watch.broken, server.ended) == (None, [])
    server.slots = [("stuck", SLOT_BYTES + 1, "extended", None)]
    watch.read()
    assert watch.broken is not None
    assert '"stuck"' in watch.broken.message
    assert server.ended == [["pgassay_1"]]


@pytest.mark.parametrize(
    ("names", "commit", "streaming", "fine"),
    [
        ("", "on", 0, True),
        ("a, b", "on", 1, True),
        ("a, b", "on", 0, False),
        ("*", "remote_apply", 0, False),
        ("first 2 (a, b)", "on", 1, False),
        ("2 (a, b)", "on", 2, True),
        ("a", "local", 0, True),
    ],
)
def test_commits_that_would_wait_for_ever_are_seen(names: str, commit: str, streaming: int, fine: bool) -> None:
    class Answers(Fake):
        def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
            return [(names, commit, streaming)]

    assert (unsynced(Answers()) is None) == fine


def test_a_synchronous_standby_that_stays_away_ends_the_load_and_one_that_comes_back_does_not() -> None:
    server = Fake()
    watch = watched(server)
    for _ in range(3):
        server.synchronous = 1
        for _ in range(29):
            watch.read()
        server.synchronous = 2
        watch.read()
    assert (watch.broken, server.ended) == (None, [])
    server.synchronous = 1
    for _ in range(30):
        watch.read()
    assert watch.broken is not None
    assert "1 of 2 stream WAL" in watch.broken.message
    assert server.ended == [["pgassay_1"]]
