"""Whatever is changed on a user's server is put back, wherever the lab dies; and nothing else is touched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pgassay.interfaces.errors import BenchError, QueryError
from pgassay.interfaces.places import Endpoint, Version
from pgassay.postgres.attached.changes import MARK, PREFIX, AttachedLedger, Debt, ServerChanges, ledgers
from pgassay.postgres.attached.facts import STARTED, Facts
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.postgres.attached.server import AttachedServer
from tests.fakes.staging import FakeStaging, Killed, Rows

ENDPOINT = Endpoint(Path("/run/staging"), 5432, "postgres", "dba", more=(("sslmode", "prefer"),))
FACTS = Facts(
    version=Version(17, 5, "PostgreSQL 17.5"),
    system="7",
    standby=False,
    role="dba",
    superuser=True,
    creates_databases=True,
    reads_settings=True,
    reads_statistics=True,
    checkpoints=True,
    reloads=True,
    connections=97,
    data_directory=None,
    timeline=1,
)


def ledger_of(folder: Path) -> AttachedLedger:
    return AttachedLedger.of(folder, ENDPOINT, FACTS.system, timeline=FACTS.timeline)


def changes(server: FakeStaging, folder: Path) -> ServerChanges:
    """Of a lab that has locked the list."""
    ledger = ledger_of(folder)
    assert ledger.lock.take()
    return ServerChanges(server, ledger, FACTS, pause=lambda seconds: None)


def whole_run(made: ServerChanges) -> None:
    """Two trials, the second with other settings of the server, one of which its owner had set."""
    snapshot = made.new_name()
    made.create_database(snapshot)
    for values in ({"checkpoint_timeout": "30s", "max_wal_size": "16GB"}, {"checkpoint_timeout": "1h"}):
        clone = made.new_name()
        made.create_database(clone, snapshot)
        made.set_of_database(clone, {"work_mem": "8MB"})
        made.set_system(values)
        made.set_system({})
        made.drop_database(clone)
    made.give_back()


def killed(server: FakeStaging, folder: Path, run: str = "whole_run") -> bool:
    """Run until it is killed; False if it came to its end. The lock ends with the process."""
    made = changes(server, folder)
    try:
        whole_run(made) if run == "whole_run" else made.give_back()
    except Killed:
        return True
    finally:
        made._ledger.lock.release()
    return False


def test_a_run_leaves_the_server_as_it_was(tmp_path: Path) -> None:
    server = FakeStaging()
    before = server.state
    assert not killed(server, tmp_path)
    assert server.state == before
    assert ledgers(tmp_path) == []
    assert set(server.comments.values()) == {MARK}
    assert any("SET checkpoint_timeout = '30s'" in each for each in server.statements), "else nothing was tried"
    touched = [each for each in server.statements if "DATABASE" in each]
    assert all(f'"{PREFIX}' in each for each in touched)


@pytest.mark.parametrize("hides_files", [False, True])
def test_killed_at_every_statement_and_again_in_the_repair_it_is_as_it_was(tmp_path: Path, hides_files: bool) -> None:
    number, repaired = 0, 0
    while True:
        for after in (False, True):
            folder = tmp_path / f"{number}-{after}"
            server = FakeStaging(killed_at=number, after=after, hides_files=hides_files)
            before = server.state
            if not killed(server, folder):
                assert number > 30
                assert repaired > 2 * number, "else hardly anything was there to put back"
                return
            repaired += _repaired_wherever_it_is_killed(server, folder, before)
        number += 1


def _repaired_wherever_it_is_killed(server: FakeStaging, folder: Path, before: object) -> int:
    """Repair what is owed, killed at each of its statements once; returns how many repairs that were."""
    for count in range(100):
        server.statements.clear()
        server.killed_at, server.after = count, count % 2 == 0
        if ledger_of(folder).path.exists() and killed(server, folder, "repair"):
            continue
        assert server.state == before
        assert not ledger_of(folder).path.exists()
        return count + 1
    raise AssertionError


def test_what_somebody_has_set_since_is_left_alone_and_told(tmp_path: Path) -> None:
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.set_system({"checkpoint_timeout": "30s", "max_wal_size": "16GB"})
    made._ledger.lock.release()
    server.file["max_wal_size"] = "4GB"
    done = changes(server, tmp_path).give_back()
    assert server.file == {"checkpoint_timeout": "10min", "max_wal_size": "4GB"}
    assert [each for each in done if "somebody" in each] == [
        "nothing of max_wal_size, which somebody has set to 4GB since"
    ]


def test_what_the_server_refuses_stays_owed_with_what_helps(tmp_path: Path) -> None:
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.create_database(made.new_name())

    def gone(sql: str, parameters: object = ()) -> list[tuple[object, ...]]:
        raise QueryError("could not connect to the server: it is gone")

    broken = replace(server)
    broken.query = gone  # type: ignore[method-assign]
    made._sql = broken
    with pytest.raises(BenchError, match="it is gone") as caught:
        made.give_back()
    assert "doctor --repair" in (caught.value.hint or "")
    assert len(ledger_of(tmp_path).owed()) == 1
    made._sql = server
    assert made.give_back()
    assert set(server.databases) == {"postgres", "app"}


def test_a_database_without_our_name_is_never_dropped(tmp_path: Path) -> None:
    made = changes(FakeStaging(), tmp_path)
    with pytest.raises(ValueError, match="app"):
        made.drop_database("app")
    made._ledger.add(Debt("database", "app"))  # a list that somebody has edited
    with pytest.raises(ValueError, match="app"):
        made.give_back()


def test_a_failover_ends_a_run_by_name_and_what_is_there_is_put_back(tmp_path: Path) -> None:
    """The new primary has our databases, and none of our settings: these are in a file of the former one."""
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.create_database(made.new_name())
    made.set_system({"max_wal_size": "9GB"})
    made.require_same()
    server.timeline, server.file = 2, {}
    with pytest.raises(BenchError, match=r"has failed over: it is on timeline 2 now") as caught:
        made.require_same()
    assert "may keep max_wal_size by ALTER SYSTEM" in (caught.value.hint or "")
    done = made.give_back()
    assert "nothing of max_wal_size, which the primary before the failover may have still" in done
    assert set(server.databases) == {"postgres", "app"}


@pytest.mark.parametrize("its_own", [{}, {"max_wal_size": "3GB"}])
def test_a_new_primary_keeps_what_it_has(tmp_path: Path, its_own: dict[str, str]) -> None:
    """A trial that ends after the failover, and what is put back then, change none of its settings."""
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.set_system({"max_wal_size": "9GB", "checkpoint_timeout": "30s"})
    server.timeline, server.file = 2, dict(its_own)
    with pytest.raises(BenchError, match=r"has failed over: it is on timeline 2 now"):
        made.set_system({})
    assert server.file == its_own
    done = made.give_back()
    assert server.file == its_own
    assert sorted(done) == [
        f"nothing of {name}, which the primary before the failover may have still"
        for name in ("checkpoint_timeout", "max_wal_size")
    ]


def test_a_new_primary_gives_up_what_it_has_copied_of_ours(tmp_path: Path) -> None:
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.set_system({"max_wal_size": "9GB", "checkpoint_timeout": "30s"})
    server.timeline = 2
    made.give_back()
    assert server.file == {"checkpoint_timeout": "10min"}


def test_a_new_primary_is_not_restarted(tmp_path: Path) -> None:
    """Whatever waits for a restart there: the fake knows no statement that would ask for it."""
    server = FakeStaging()
    made = changes(server, tmp_path)
    made._ledger.restart = RestartCommand(("false",), 1.0)
    made.set_system({"max_wal_size": "9GB"})
    server.timeline, server.file = 2, {}
    assert made._settings_back(made._require_system()) == [
        "nothing of max_wal_size, which the primary before the failover may have still"
    ]


def test_a_command_that_restarts_nothing_is_named_by_what_stays_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting(FakeStaging):
        """The setting waits for a restart, and the server has been up since the same time for ever."""

        def query(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
            if "pending_restart" in sql:
                return [("max_wal_size",)]
            return [("yesterday",)] if sql == f"SELECT {STARTED}" else super().query(sql, parameters)

    made = changes(Waiting(), tmp_path)
    monkeypatch.setattr(RestartCommand, "run", lambda command, note: None)
    made._ledger.restart = RestartCommand(("true",), 0.0)
    made.set_system({"max_wal_size": "9GB"})
    with pytest.raises(BenchError, match='stays as it is: "true" has not restarted the server at '):
        made._settings_back(made._require_system())


def test_waiting_for_a_failover_ends_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is gone answers nothing: each try takes as long as libpq waits for a connection."""
    made = changes(FakeStaging(), tmp_path)
    now_s, tries = 0.0, 0

    def unreachable(sql: str, parameters: object = ()) -> list[tuple[object, ...]]:
        nonlocal now_s, tries
        now_s, tries = now_s + 25.0, tries + 1
        raise QueryError("could not connect to the server: timeout expired")

    monkeypatch.setattr(made._sql, "query", unreachable)
    monkeypatch.setattr("pgassay.postgres.attached.changes.time", SimpleNamespace(monotonic=lambda: now_s))
    made.outlive_failover()
    assert tries == 3


def test_only_the_first_look_at_a_lost_server_waits_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = changes(FakeStaging(), tmp_path)
    waits: list[None] = []
    monkeypatch.setattr(made, "outlive_failover", lambda: waits.append(None))
    lost = AttachedServer(replace(ENDPOINT, socket_directory=tmp_path / "gone"), FACTS, made)
    assert [lost.alive(), lost.alive()] == [False, False]
    assert len(waits) == 1


def test_a_primary_that_has_become_a_standby_gets_its_settings_back(tmp_path: Path) -> None:
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.set_system({"max_wal_size": "9GB"})
    server.standby, server.timeline = True, 0
    with pytest.raises(BenchError, match=r"has failed over: it is a standby now"):
        made.require_same()
    made.give_back()
    assert server.file == {"checkpoint_timeout": "10min"}


def test_nothing_is_changed_on_another_server_at_the_same_address(tmp_path: Path) -> None:
    server = FakeStaging()
    made = changes(server, tmp_path)
    made.set_system({"max_wal_size": "9GB"})
    server.system = "8"
    with pytest.raises(BenchError, match="is another one now"):
        made.give_back()
    assert server.file["max_wal_size"] == "9GB"
    assert ledger_of(tmp_path).owed()
