"""On a real server that is not ours: where each setting would be set, what a role may not, and who else is there."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from pgassay.errors import PgassayError
from pgassay.host.runner import SystemClock
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError, Missing, NotSettableError, SettingError
from pgassay.interfaces.places import Endpoint
from pgassay.postgres.attached import attachment, facts, scopes
from pgassay.postgres.attached.attachment import attach
from pgassay.postgres.attached.facts import NO_PROCESS, Client, Companions
from pgassay.postgres.attached.scopes import Scope
from pgassay.postgres.attached.server import AttachedInstallation, AttachedServer, Databases
from pgassay.postgres.attached.watch import Watch
from pgassay.postgres.server import Session
from pgassay.testing import real
from tests.system.staging import PORT, Staging, staging

pytestmark = pytest.mark.system

PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def server() -> Iterator[Staging]:
    real.installation()
    with staging() as found:
        yield found


@pytest.fixture
def session(server: Staging) -> Iterator[Session]:
    made = session_of(server, "owner")
    yield made
    made.close()


def session_of(server: Staging, role: str) -> Session:
    more = (("client_encoding", "UTF8"), ("sslmode", "prefer"))
    return Session(Endpoint(server.folder, PORT, "postgres", role, more=more))


def until(count: int, look: Callable[[], Sequence[Client]]) -> Sequence[Client]:
    """So many clients, as soon as those of tests before have ended, who are listed for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while len(found := look()) != count:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(
    ("name", "value", "scope"),
    [
        ("work_mem", "9MB", Scope.DATABASE),
        ("WORK_MEM", "9MB", Scope.DATABASE),
        ("deadlock_timeout", "2s", Scope.DATABASE),
        ("checkpoint_timeout", "9min", Scope.SYSTEM),
        ("checkpoint_timeout", "420s", Scope.HELD),
        ("log_connections", "on", Scope.SYSTEM),
        ("shared_buffers", "128MB", Scope.HELD),
        ("fsync", "on", Scope.HELD),
        ("wal_sync_method", "fsync", Scope.SYSTEM),
    ],
)
def test_each_setting_has_its_scope(session: Session, name: str, value: str, scope: Scope) -> None:
    found = scopes.check(session, facts.ask(session), {name: value})
    assert found == {name: scope}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("shared_buffers", "1GB", "takes a restart, which is not ours to make (it is 128MB)"),
        ("block_size", "4096", "cannot be changed at all"),
        ("fsync", "off", "the data of everybody"),
        ("wal_keep_size", "1GB", "other servers depend on it"),
        ("archive_command", "rm", "is specific to that server"),
        ("ssl", "on", "is specific to that server"),
        ("checkpoint_timeout", "5s", "outside 30 … 86400 s"),
        ("checkpoint_timeout", "soon", "it is no integer in s"),
        ("autovacuum", "perhaps", "perhaps"),
        ("wal_sync_method", "magic", "available values: fsync"),
        ("work_mem", "1", "outside the valid range"),
        ("listen_addresses", "*", "listen_addresses"),
    ],
)
def test_what_cannot_be_set_is_refused_with_the_reason(session: Session, name: str, value: str, said: str) -> None:
    with pytest.raises(PgassayError) as caught:
        scopes.check(session, facts.ask(session), {name: value})
    assert said in caught.value.message


def test_every_refused_setting_is_named_and_an_unknown_one_is_another_room_s(session: Session) -> None:
    found = facts.ask(session)
    with pytest.raises(SettingError) as caught:
        scopes.check(session, found, {"shared_buffers": "1GB", "work_mem": "9MB", "fsync": "off"})
    assert "shared_buffers" in caught.value.message
    assert "fsync" in caught.value.message
    assert "work_mem" not in caught.value.message
    with pytest.raises(NotSettableError):
        scopes.check(session, found, {"scale": "3"})


def test_an_ordinary_role_is_known_for_what_it_may(server: Staging) -> None:
    session = session_of(server, "plain")
    found = facts.ask(session)
    assert (found.superuser, found.creates_databases, found.reads_settings) == (False, True, True)
    assert not found.checkpoints
    assert scopes.check(session, found, {"work_mem": "9MB"}) == {"work_mem": Scope.DATABASE}
    with pytest.raises(SettingError, match='which role "plain" may not use'):
        scopes.check(session, found, {"checkpoint_timeout": "9min"})
    server.query("ALTER ROLE plain SET work_mem = '3MB'")
    try:
        with pytest.raises(SettingError, match="by ALTER ROLE, which goes before"):
            scopes.check(session, found, {"work_mem": "9MB"})
    finally:
        server.query("ALTER ROLE plain RESET work_mem")
        session.close()


def test_rights_that_are_granted_one_by_one_suffice(server: Staging) -> None:
    if real.installation().version.major < versions.PARAMETER_PRIVILEGES:
        pytest.skip("rights to ALTER SYSTEM can be granted from 15 on")
    session = session_of(server, "plain")
    server.query("GRANT ALTER SYSTEM ON PARAMETER max_wal_size TO plain")
    try:
        with pytest.raises(SettingError, match="could not be put back"):
            scopes.check(session, facts.ask(session), {"max_wal_size": "9GB"})
        server.query("GRANT EXECUTE ON FUNCTION pg_reload_conf() TO plain")
        assert scopes.check(session, facts.ask(session), {"max_wal_size": "9GB"}) == {"max_wal_size": Scope.SYSTEM}
    finally:
        server.query("REVOKE ALTER SYSTEM ON PARAMETER max_wal_size FROM plain")
        server.query("REVOKE EXECUTE ON FUNCTION pg_reload_conf() FROM plain")
        session.close()


def test_other_clients_are_seen_even_where_they_are_hidden(server: Staging, session: Session) -> None:
    hidden = session_of(server, "stranger")
    server.query("CREATE ROLE stranger LOGIN")
    try:
        assert facts.others(session, patience_s=PATIENCE_S) == ()
        hidden.query("SELECT 1")
        (ourselves,) = until(1, lambda: facts.others(hidden, patience_s=0.0))  # no launcher: a role and no database
        assert ourselves.database == "postgres"
        with server.connected("app"):
            found = until(2, lambda: facts.others(session, patience_s=0.0))
            seen, stranger = sorted(found, key=lambda each: each.role)
            assert (seen.application, seen.database, stranger.role) == ("the owner's own", "app", "stranger")
            assert [each.pid for each in facts.others(session, ["app"], patience_s=0.0)] == [stranger.pid]
            pids = [each.pid for each in facts.others(hidden, patience_s=0.0)]
            assert seen.pid in pids, "without pg_monitor as well"
    finally:
        hidden.close()
        server.query("DROP ROLE stranger")


def test_a_server_on_this_machine_is_known_by_its_process(server: Staging, session: Session) -> None:
    found = facts.ask(session)
    pid = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    assert found.postmaster_pid == pid
    assert facts._postmaster(os.getpid(), "owner") == NO_PROCESS


def test_databases_stand_for_clusters_and_only_one_lab_is_attached(
    server: Staging, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.state()
    made = attach(server.dsn(), tmp_path, Missing(), {})
    with pytest.raises(BenchError, match="another pgassay is attached"):
        attach(server.dsn(), tmp_path, Missing(), {})
    with pytest.raises(BenchError, match="another pgassay is attached"):
        attach(server.dsn(), tmp_path / "another", Missing(), {})
    missing = Missing(planned=True)
    attach(server.dsn(database="app"), tmp_path / "third", missing, {}, planned=True).sql.close()
    assert "application_name pgassay" in missing.messages[0]
    bindir = real.installation().bindir
    installation = AttachedInstallation(bindir, made.sql, made.endpoint, made.facts, made.changes)
    drive = Databases(made.changes, None)  # type: ignore[arg-type]
    workspace = drive.workspace("prepare")
    installation.initialize(workspace, {})
    started = installation.start(workspace, {}, tmp_path)
    started.execute("CREATE TABLE mine AS SELECT 1 AS n")
    started.execute("CHECKPOINT")
    started.stop()
    drive.take_snapshot("key", workspace)
    for value in ("9min", "11min"):
        clone = drive.clone("key", "trial")
        second = installation.start(clone, {"checkpoint_timeout": value, "work_mem": "9MB"}, tmp_path)
        assert second.query("SELECT n, current_setting('work_mem') FROM mine") == [(1, "9MB")]
        assert second.query("SHOW checkpoint_timeout") == [(value,)]
        second.execute("DROP TABLE mine")
        second.stop()
        assert not second.alive()
        drive.discard(clone)
        assert server.show("checkpoint_timeout") == "7min"
    made.close()
    assert server.state() == before
    assert attachment.owed(tmp_path) == []


def test_another_server_at_the_same_address_is_left_alone(server: Staging, tmp_path: Path) -> None:
    made = attach(server.dsn(), tmp_path, Missing(), {})
    made.changes.create_database(made.changes.new_name())
    made.sql.close()
    made.ledger.lock.release()
    text = made.ledger.path.read_text()
    made.ledger.path.write_text(text.replace(made.facts.system, "1"))
    done, failed = attachment.repair(tmp_path)
    assert done == ()
    assert "the changes to undo were made on" in failed[0].message
    assert len(server.query("SELECT 1 FROM pg_database WHERE datname LIKE 'pgassay%'")) == 1
    made.ledger.path.write_text(text)
    done, failed = attachment.repair(tmp_path)
    assert (len(done), failed) == (1, ())
    assert server.query("SELECT 1 FROM pg_database WHERE datname LIKE 'pgassay%'") == []


def test_a_database_with_another_time_zone_is_reached_on_the_same_server(server: Staging, tmp_path: Path) -> None:
    """A timestamp as text depends on the time zone and date style of the session; the start of the server must not."""
    made = attach(server.dsn(), tmp_path, Missing(), {})
    try:
        name = made.changes.new_name()
        made.changes.create_database(name)
        made.changes.set_of_database(name, {"TimeZone": "Asia/Kathmandu", "DateStyle": "German"})
        other = AttachedServer(replace(made.endpoint, database=name), made.facts, made.changes)
        made.changes.require_direct(other)
        assert other.query("SHOW TimeZone") == [("Asia/Kathmandu",)]
        other.stop()
    finally:
        made.close()


def test_a_dead_server_stays_owed(server: Staging, tmp_path: Path) -> None:
    made = attach(server.dsn(), tmp_path, Missing(), {})
    made.changes.set_system({"max_wal_size": "9GB"})
    made.sql.close()
    made.ledger.lock.release()
    server.stop()
    done, failed = attachment.repair(tmp_path)
    assert (done, len(failed)) == ((), 1)
    assert "doctor --repair" in (failed[0].hint or "")
    server.start()
    assert server.show("max_wal_size") == "9GB"
    done, failed = attachment.repair(tmp_path)
    assert (done, failed) == (("max_wal_size of the server",), ())
    assert server.show("max_wal_size") == "1GB"


def test_a_standby_is_refused(server: Staging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = facts.ask
    monkeypatch.setattr(facts, "ask", lambda sql: replace(ask(sql), standby=True))
    with pytest.raises(PgassayError, match="is a standby"):
        attach(server.dsn(), tmp_path, Missing(), {})


def test_a_value_that_holds_only_where_we_are_connected_is_set_in_a_new_database(server: Staging) -> None:
    """`app` sets work_mem for its sessions; a database of ours would have the server's own."""
    more = (("client_encoding", "UTF8"),)
    session = Session(Endpoint(server.folder, PORT, "app", "owner", more=more))
    try:
        assert session.query("SHOW work_mem") == [("17MB",)]
        assert scopes.check(session, facts.ask(session), {"work_mem": "17MB"}) == {"work_mem": Scope.DATABASE}
    finally:
        session.close()


def test_a_copy_of_the_users_database_has_its_data_and_settings_and_the_study_s_go_first(
    server: Staging, tmp_path: Path
) -> None:
    before = server.state()
    made = attach(server.dsn(), tmp_path, Missing(), {})
    installation = AttachedInstallation(real.installation().bindir, made.sql, made.endpoint, made.facts, made.changes)
    made.changes.require_copyable("app", made.endpoint.database)
    for name, said in (("nowhere", "has no database"), ("postgres", "while --server connects to it")):
        with pytest.raises(PgassayError, match=said):
            made.changes.require_copyable(name, made.endpoint.database)
    clone = Databases(made.changes, None).workspace("x")  # type: ignore[arg-type]
    installation.initialize(clone, {"copy_database": "app"})
    for asked, found in (({}, "17MB"), ({"work_mem": "9MB"}, "9MB"), ({"work_mem": "4MB"}, "4MB")):
        started = installation.start(clone, asked, tmp_path)
        assert started.query("SELECT count(*), current_setting('work_mem') FROM orders") == [(1000, found)]
        started.stop()
    made.close()
    assert server.state() == before
    plain = attach(server.dsn("plain"), tmp_path, Missing(), {})
    with pytest.raises(PgassayError, match='role "plain" may not copy'):
        plain.changes.require_copyable("app", plain.endpoint.database)
    plain.close()


def test_who_comes_during_a_window_is_counted_even_when_gone(server: Staging, session: Session) -> None:
    found = facts.ask(session)

    def counted() -> int:
        """Once all who have left have handed in their count, which their backends do when they end."""
        assert facts.others(session, patience_s=PATIENCE_S) == ()
        return facts.sessions_of_others(session, found, ["pgassay_1"])

    before = counted()
    with server.connected("app") as guest:
        guest.execute("SELECT 1")
    deadline = time.monotonic() + PATIENCE_S
    while (now := counted()) <= before:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert now == before + 1
    assert facts.sessions_of_others(session, found, ["app"]) < now


def test_companions_and_slots_of_a_real_server_are_watched(server: Staging) -> None:
    companions = Companions.of(["application_name=the owner's own"])
    watch = Watch(session_of(server, "owner"), SystemClock(), companions, lambda: ["app"], 1 << 40)
    server.query("SELECT pg_create_physical_replication_slot('stuck', true)")
    try:
        with server.connected():
            ((reading,),) = (watch.read(),)
            assert reading.values["session_looks"]
            assert reading.values["wal_sent_bytes"] == 0
            assert reading.values["slot_bytes"] is not None
            assert (watch.broken, any(each in companions for each in watch.strangers.values())) == (None, False)
        with psycopg.connect(server.dsn(database="app"), application_name="pgbench", autocommit=True) as load:
            server.query("SELECT pg_logical_emit_message(false, 'pgassay', repeat('x', 100000)), pg_switch_wal()")
            watch.limit_bytes = 1000
            watch.read()
            assert watch.broken is not None
            assert 'slot "stuck" holds back' in watch.broken.message
            with pytest.raises(psycopg.OperationalError):
                load.execute("SELECT pg_sleep(1)")
    finally:
        watch.close()
        server.query("SELECT pg_drop_replication_slot('stuck')")
