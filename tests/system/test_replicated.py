"""A cluster as people have it: a primary, a synchronous and an asynchronous standby, a pooler, and an exporter.

All are real and run here, reached by private sockets. A directory stands for the address that a failover moves.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgassay.cli import main
from pgassay.errors import PgassayError
from pgassay.interfaces.errors import BenchError, ClusterError, Missing
from pgassay.interfaces.running import Running
from pgassay.postgres.attached.attachment import Attachment, attach
from pgassay.postgres.attached.facts import Companions
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing import real
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill, load_runs, wait_until
from tests.system.staging import PORT, Restartable, staging

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(LONG_S)]

PATIENCE_S = 120.0
NEAR, FAR = "near", "far"
"""The standby that commits wait for, and the one that they do not."""
DECLARED = ("--companion", "standby", "--companion", "role=monitoring")
COMPANIONS = Companions.of(["standby", "role=monitoring"])
_STREAMING = "SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1"


class Cluster(Restartable):
    """The primary of it, with its two standbys below its folder; the monitoring connects again whenever it must."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "address"
        self.address.symlink_to(folder)
        super().__init__(folder)
        self.query("CREATE ROLE replicator LOGIN REPLICATION")
        self.query("CREATE ROLE monitoring LOGIN IN ROLE pg_monitor")
        self._standbys: dict[str, Running] = {}
        for name in (NEAR, FAR):
            words = [
                "-D",
                str(folder / name),
                "-d",
                f"host={folder} port={PORT} user=replicator application_name={name}",
            ]
            done = real.runner().run([str(self._bindir / "pg_basebackup"), *words, "-R", "-c", "fast", "--no-sync"])
            assert done.status == 0, done.stderr
            self.start_standby(name)
        self.query(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({NEAR})'")
        self.query("SELECT pg_reload_conf()")
        self.await_standbys()
        self._ended = threading.Event()
        self._monitoring = threading.Thread(target=self._monitor, daemon=True)
        self._monitoring.start()

    def dsn(self, role: str = "owner", database: str = "postgres") -> str:
        return super().dsn(role, database).replace(f"host={self.folder} ", f"host={self.address} ")

    def start_standby(self, name: str) -> None:
        sockets = self.folder / f"{name}.sockets"
        if not sockets.exists():
            sockets.mkdir()
            shutil.chown(sockets, self.data.owner(), self.data.group())
        log = self.folder / f"{name}.log"
        words = ["-D", str(self.folder / name), "-k", str(sockets), "-p", str(PORT), "-c", "listen_addresses="]
        command = [str(self._bindir / "postgres"), *words]
        self._standbys[name] = self._runner.start(command, stdout=log, stderr=log, directory=Path("/"))

    def stop_standby(self, name: str) -> None:
        self._standbys.pop(name).terminate()

    def standbys(self) -> list[tuple[str, ...]]:
        return self.query(_STREAMING)

    def await_standbys(self) -> None:
        self.wait_for(lambda: self.standbys() == [(FAR, "async"), (NEAR, "sync")])

    def fail_over(self, *, primary_lives: bool = False) -> None:
        """The synchronous standby is promoted, and the address leads to it."""
        if not primary_lives:
            os.system(f"{self._pg_ctl} -D {self.data} -m immediate -w stop >/dev/null")
        assert os.system(f"{self._pg_ctl} -D {self.folder / NEAR} -w promote >/dev/null") == 0
        self.address.unlink()
        self.address.symlink_to(self.folder / f"{NEAR}.sockets")
        with psycopg.connect(self.dsn(), autocommit=True) as session:  # its own configuration came with the copy
            assert session.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)

    def again(self) -> None:
        super().again()
        self.await_standbys()

    def state(self) -> dict[str, object]:
        self.await_standbys()
        self.wait_for(lambda: self.query("SELECT 1 FROM pg_stat_activity WHERE usename = 'monitoring'") != [])
        return {
            **super().state(),
            "waiting": self.query("SELECT name FROM pg_settings WHERE pending_restart"),
            "slots": self.query("SELECT slot_name FROM pg_replication_slots ORDER BY 1"),
        }

    def stop(self) -> None:
        self._ended.set()
        self._monitoring.join()
        for name in list(self._standbys):
            self.stop_standby(name)
        super().stop()

    def _monitor(self) -> None:
        dsn = f"host={self.folder} port={PORT} user=monitoring dbname=postgres application_name=exporter"
        while not self._ended.is_set():
            try:
                with psycopg.connect(dsn, autocommit=True) as session:
                    while not self._ended.wait(0.3):
                        session.execute("SELECT count(*) FROM pg_stat_activity").fetchall()
            except psycopg.Error:
                self._ended.wait(0.3)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server(postgres: None) -> Iterator[Cluster]:
    with staging(Cluster) as found:
        assert isinstance(found, Cluster)
        found.again()
        yield found


@pytest.fixture
def doomed(postgres: None) -> Iterator[Cluster]:
    """One that a test does not leave as it was."""
    with staging(Cluster) as found:
        assert isinstance(found, Cluster)
        found.again()
        yield found


@contextmanager
def pooler(server: Cluster) -> Iterator[str]:
    """pgbouncer in transaction mode; yields how it is reached."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    folder = server.folder / "pooler"
    folder.mkdir()
    shutil.chown(folder, server.data.owner(), server.data.group())
    (folder / "users").write_text('"owner" ""\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host={server.folder} port={PORT}\n[pgbouncer]\npool_mode = transaction\nlisten_addr =\n"
        f"listen_port = {PORT}\nunix_socket_dir = {folder}\nauth_type = trust\nauth_file = {folder}/users\n"
    )
    running = real.runner().start([program, str(folder / "ini")], stdout=folder / "log", stderr=folder / "log")
    try:
        server.wait_for((folder / f".s.PGSQL.{PORT}").exists)
        yield f"host={folder} port={PORT} user=owner dbname=postgres"
    finally:
        running.terminate()


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the list of what is owed is: never the machine's own."""
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def before(server: Cluster) -> Iterator[dict[str, object]]:
    """What the cluster must be like at the end of the test as well."""
    server.mode("as it should")
    found = server.state()
    yield found
    assert server.state() == found


def attached(server: Cluster, folder: Path, restart: bool = True, dsn: str = "") -> Attachment:
    command = RestartCommand.of(str(server.script), PATIENCE_S) if restart else None
    return attach(dsn or server.dsn(), folder, Missing(), {}, restart=command, companions=COMPANIONS)


def words(journey: Place, server: Cluster, *more: str) -> tuple[str, ...]:
    tiny = ("-s", "1", "-c", "2", "-j", "1", "-T", "1s", "--set", "load.warmup=0s", "--blocks", "5..5", "--seed", "3")
    where = ("--server", server.dsn(), "--i-own", *DECLARED, "--restart-command", str(server.script))
    levels = ("compare", "shared_buffers=128MB", "shared_buffers=256MB")
    return (*levels, *tiny, *where, *ANYWHERE, "--out", str(journey.runs / "a"), *more)


def test_settings_that_take_a_restart_are_compared_while_standbys_stream(
    journey: Place, server: Cluster, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    done = finished(journey.start(*words(journey, server)), LONG_S)
    run = journey.record("a")
    valid = [trial for trial in run.trials if trial.status is Status.VALID]
    assert done.returncode == (0 if valid else 1), done.stderr
    assert len(run.trials) >= 10
    reasons = [reason for trial in run.trials for reason in trial.reasons]
    assert not any(reason.code in ("other_clients", "failed") for reason in reasons), reasons
    assert {trial.settings["shared_buffers"] for trial in run.trials} == {"128MB", "256MB"}
    assert {trial.regime["synchronous_standby_names"] for trial in run.trials} == {f"FIRST 1 ({NEAR})"}
    if valid:
        assert len(Findings(run).verdicts) == 1
        assert main(["show", str(journey.runs / "a"), "--verbose"]) == 0
        assert f"synchronous_standby_names = 'FIRST 1 ({NEAR})'" in " ".join(capsys.readouterr().out.split())


def test_a_level_that_prevents_the_start_is_undone_and_standbys_come_back(
    server: Cluster, before: dict[str, object], tmp_path: Path
) -> None:
    made = attached(server, tmp_path)
    made.changes.set_system({"max_connections": "2", "checkpoint_timeout": "9min"})
    with pytest.raises(ClusterError, match="did not start with max_connections = 2"):
        made.changes.restart({"max_connections": "2"})
    assert server.state() == before, "at once"
    made.changes.set_system({"shared_buffers": "96MB"})
    made.changes.restart({"shared_buffers": "96MB"})
    assert server.standbys() == [(FAR, "async"), (NEAR, "sync")], "a trial begins with all of them"
    made.close()


def test_without_its_synchronous_standby_a_server_is_refused_and_a_debt_is_paid(
    server: Cluster, before: dict[str, object], tmp_path: Path
) -> None:
    """What is put back would wait for it for ever."""
    made = attached(server, tmp_path)
    made.changes.create_database(made.changes.new_name())
    made.changes.set_system({"checkpoint_timeout": "9min"})
    server.stop_standby(NEAR)
    try:
        server.wait_for(lambda: server.standbys() == [(FAR, "async")])
        made.close()
        with pytest.raises(BenchError, match=r"commits wait for synchronous_standby_names = .*, and 0 of 1 stream WAL"):
            attached(server, tmp_path)
    finally:
        server.start_standby(NEAR)


def test_a_synchronous_standby_that_goes_ends_the_run_by_name(
    journey: Place, server: Cluster, before: dict[str, object]
) -> None:
    process = journey.start(*words(journey, server, "--set", "load.duration=120s"))
    wait_until(lambda: load_runs(journey.runs / "a"), process)
    server.stop_standby(NEAR)
    try:
        done = finished(process, LONG_S)
        assert (done.returncode, "commits wait for synchronous_standby_names" in done.stderr) == (2, True), done.stderr
        assert "pgassay_" not in str(server.query("SELECT datname FROM pg_database")), "though nothing could wait"
    finally:
        server.start_standby(NEAR)


def test_a_slot_that_holds_wal_back_ends_the_run_by_name(
    journey: Place, server: Cluster, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    server.query("SELECT pg_create_physical_replication_slot('forgotten', true)")
    try:
        done = finished(journey.start(*words(journey, server, "--slot-limit", "1MB")), LONG_S)
        assert done.returncode == 2, done.stdout
        assert 'replication slot "forgotten" holds back' in done.stderr
    finally:
        server.query("SELECT pg_drop_replication_slot('forgotten')")


def test_a_pooler_between_is_refused_by_name(
    journey: Place, server: Cluster, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    with pooler(server) as dsn:
        with psycopg.connect(dsn) as session:
            assert session.execute("SELECT 1").fetchone() == (1,), "it works for a client"
        assert main(["run", "fillfactor", "--server", dsn, "--i-own", *DECLARED]) == 2
        assert "is reached through a pooler" in capsys.readouterr().err


def test_two_labs_are_kept_apart_by_whichever_address_and_database(
    server: Cluster, before: dict[str, object], tmp_path: Path
) -> None:
    """Declared as a companion, the role of the other lab would let it in."""
    made = attached(server, tmp_path)
    try:
        other = f"host={server.folder} port={PORT} user=owner dbname=app"
        everybody = Companions.of(["standby", "role=monitoring", "role=owner"])
        with pytest.raises(BenchError, match="another pgassay is attached"):
            attach(other, tmp_path, Missing(), {}, companions=everybody)
    finally:
        made.close()


def test_several_hosts_are_refused_wherever_they_are_named(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = tmp_path / "services"
    services.write_text(f"[cluster]\nhost={server.folder},{server.folder}/{NEAR}.sockets\nuser=owner\nport={PORT}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    with pytest.raises(PgassayError, match="names several hosts"):
        attach("service=cluster dbname=postgres", tmp_path, Missing(), {}, planned=True)


@pytest.mark.parametrize("primary_lives", [False, True])
def test_a_failover_ends_the_run_by_name(journey: Place, doomed: Cluster, primary_lives: bool) -> None:
    """A standby is promoted, and the address leads to it; the former primary is down, or still takes connections."""
    longer = ("--set", "load.duration=20s", "--slot-limit", "9GB")
    command = words(journey, doomed, *longer)
    if primary_lives:  # and no restart ends our session with it
        at = command.index("--restart-command")
        command = ("compare", "work_mem=4MB", "work_mem=64MB", *command[3:at], *command[at + 2 :])
    process = journey.start(*command)
    wait_until(lambda: load_runs(journey.runs / "a"), process)
    doomed.query("ALTER SYSTEM RESET synchronous_standby_names")  # else it is this that ends it
    doomed.query("SELECT pg_reload_conf()")
    doomed.fail_over(primary_lives=primary_lives)
    done = finished(process, LONG_S)
    assert done.returncode == 2, done.stdout
    said = "reach different servers" if primary_lives else "has failed over: it is on timeline 2"
    assert said in done.stderr
    statuses = {trial.status for trial in journey.record("a").trials}
    assert statuses <= {Status.VALID, Status.INVALID}, "no outcome of a treatment"
    where = doomed.folder if primary_lives else doomed.address
    with psycopg.connect(f"host={where} port={PORT} user=owner dbname=postgres") as session:
        found = session.execute("SELECT datname FROM pg_database WHERE datname LIKE 'pgassay%'").fetchall()
    assert found == []


@pytest.mark.parametrize("moment", range(12))
def test_killed_at_any_moment_it_is_as_it_was(
    journey: Place,
    server: Cluster,
    before: dict[str, object],
    state_directory: Path,
    capsys: pytest.CaptureFixture[str],
    moment: int,
) -> None:
    """Half of the moments are inside a restart that takes its time, half at any time of a run."""
    if moment % 2:
        server.mode("slow")
    calls = server.restarts()
    process = journey.start(*words(journey, server))
    wait_until(lambda: server.restarts() > calls + moment // 4, process)
    time.sleep(0.3 * (moment % 4) + 0.05 * moment)
    kill(process)
    main(["doctor", "--repair"])
    shown = capsys.readouterr().err
    assert "put back" in shown, shown
    assert list(state_directory.glob("attached-*.jsonl")) == [], shown
