"""A cluster as people have it: a primary, a synchronous and an asynchronous standby, a pooler, and an exporter.

All are real. Each server has a network namespace of its own, so only root can run these.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from pgassay.analysis.verdicts import Kind
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
from tests.fleet.namespaces import NETWORK, Host, cabled
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill, load_runs, wait_until
from tests.system.staging import PORT, Restartable, staging

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.timeout(LONG_S),
    pytest.mark.usefixtures("state_directory"),
]

PATIENCE_S = 300.0
PASSWORD = "secret"
FLOATING = 100
"""The last byte of the address that a failover moves."""
NEAR, FAR = "near", "far"
"""The standby that commits wait for, and the one that they do not."""
DECLARED = ("--companion", "standby", "--companion", "role=monitoring")
COMPANIONS = Companions.of(["standby", "role=monitoring"])
READS = """SELECT sum(abalance)
  FROM (SELECT 1 + (random() * 1999999)::int AS aid FROM generate_series(1, 500)) AS wanted
  JOIN pgbench_accounts USING (aid);
"""
_STREAMING = "SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1"


class Cluster(Restartable):
    """The primary of it, with its two standbys below its folder; the monitoring connects again whenever it must.

    Each server has a host of its own, is reached by address and asks for a password, and the primary's is an address
    more.
    """

    def __init__(self, folder: Path, hosts: tuple[Host, ...]) -> None:
        self.address, self.hosts = str(folder), dict(zip(("primary", NEAR, FAR), hosts, strict=True))
        super().__init__(folder, self.hosts["primary"])
        self.query("CREATE ROLE replicator LOGIN REPLICATION")
        self.query("CREATE ROLE monitoring LOGIN IN ROLE pg_monitor")
        for role in ("owner", "monitoring"):
            self.query(f"ALTER ROLE {role} PASSWORD '{PASSWORD}'")
        passwords = folder / "pgpass"
        passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
        passwords.chmod(0o600)
        shutil.chown(passwords, self.data.owner(), self.data.group())  # the load's programs run under that account
        near = f"{NETWORK}.0/24"
        with (self.data / "pg_hba.conf").open("a") as lines:
            lines.write(f"host replication replicator {near} trust\nhost all all {near} scram-sha-256\n")
        self.query("SELECT pg_reload_conf()")
        self.address = f"{NETWORK}.{FLOATING}"
        self._lead_to("primary")
        self._standbys: dict[str, Running] = {}
        for name in (NEAR, FAR):
            primary = f"host={self.address} port={PORT} user=replicator application_name={name}"
            words = ["-D", str(folder / name), "-d", primary, "-R", "-c", "fast", "--no-sync"]
            done = real.runner().run([str(self._bindir / "pg_basebackup"), *words])
            assert done.status == 0, done.stderr
            self.start_standby(name)
        self.query(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({NEAR})'")
        self.query("SELECT pg_reload_conf()")
        self.await_standbys()
        self._ended = threading.Event()
        self._monitoring = threading.Thread(target=self._monitor, daemon=True)
        self._monitoring.start()

    def _lead_to(self, name: str) -> None:
        """The primary's address moves to this host."""
        for other, host in self.hosts.items():
            if other == name or self.address in output("ip", "-n", host.space, "addr", "show", "dev", "eth0"):
                how = "add" if other == name else "del"
                output("ip", "-n", host.space, "addr", how, f"{self.address}/24", "dev", "eth0")
        for space in ([], *(["-n", host.space] for host in self.hosts.values())):  # the test's own is the head's
            output("ip", *space, "neigh", "flush", "all")

    def dsn(self, role: str = "owner", database: str = "postgres") -> str:
        return super().dsn(role, database).replace(f"host={self.folder} ", f"host={self.address} ")

    def _sockets(self, name: str) -> Path:
        return self.folder / f"{name}.sockets"

    def start_standby(self, name: str) -> None:
        if not self._sockets(name).exists():
            self._sockets(name).mkdir()
            shutil.chown(self._sockets(name), self.data.owner(), self.data.group())
        where = (self.folder / name, self._sockets(name), self.folder / f"{name}.log")
        self._standbys[name] = self.started(*where, self.hosts[name])

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
        self._lead_to(NEAR)
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
        dsn = f"{self.dsn('monitoring')} application_name=exporter"
        with self.hosts[FAR].inside():
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


def output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """In network namespaces, and the test in a fourth one; skips where none can be made."""
    with ExitStack() as stack:
        head, hosts = stack.enter_context(cabled(folder, 3))
        stack.enter_context(head.inside())
        variables = stack.enter_context(pytest.MonkeyPatch.context())

        def made(place: Path) -> Cluster:
            variables.setenv("PGPASSFILE", str(place / "pgpass"))
            return Cluster(place, hosts)

        found = stack.enter_context(staging(made))
        assert isinstance(found, Cluster)
        found.again()
        yield found


@pytest.fixture(scope="module")
def server(postgres: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def doomed(postgres: None, tmp_path: Path) -> Iterator[Cluster]:
    """One that a test does not leave as it was."""
    with cluster(tmp_path) as found:
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
    (folder / "users").write_text(f'"owner" "{PASSWORD}"\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host={server.address} port={PORT}\n[pgbouncer]\npool_mode = transaction\nlisten_addr =\n"
        f"listen_port = {PORT}\nunix_socket_dir = {folder}\nauth_type = trust\nauth_file = {folder}/users\n"
    )
    running = real.runner().start([program, str(folder / "ini")], stdout=folder / "log", stderr=folder / "log")
    try:
        server.wait_for((folder / f".s.PGSQL.{PORT}").exists)
        yield f"host={folder} port={PORT} user=owner dbname=postgres"
    finally:
        running.terminate()


def attached(server: Cluster, folder: Path, restart: bool = True, dsn: str = "") -> Attachment:
    command = RestartCommand.of(str(server.script), PATIENCE_S) if restart else None
    return attach(dsn or server.dsn(), folder, Missing(), restart=command, companions=COMPANIONS)


def words(journey: Place, server: Cluster, *more: str, larger: str = "256MB") -> tuple[str, ...]:
    tiny = ("-s", "1", "-c", "2", "-j", "1", "-T", "1s", "--set", "load.warmup=0s", "--blocks", "5..5", "--seed", "3")
    where = ("--server", server.dsn(), "--i-own", *DECLARED, "--restart-command", str(server.script))
    levels = ("compare", "shared_buffers=128MB", f"shared_buffers={larger}")
    return (*levels, *tiny, *where, *ANYWHERE, "--out", str(journey.runs / "a"), *more)


def test_settings_that_take_a_restart_are_compared_while_standbys_stream(
    journey: Place, server: Cluster, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows all over a table that one of the levels holds and the other does not, and some commits.

    What a transaction costs the server is settled also on a machine whose other programs take most of it.
    """
    reads = journey.path / "reads.sql"
    reads.write_text(READS)
    load = ("-s", "20", "--set", f"load.script={reads}@9,simple-update@1", "-T", "5s", "--set", "load.warmup=3s")
    more = (*load, "--primary", "server_cpu_us_per_transaction", "--blocks", "5..8", "--budget", "10min")
    done = finished(journey.start(*words(journey, server, *more, larger="1GB")), LONG_S)
    run = journey.record("a")
    assert done.returncode in (0, 1), done.stderr
    reasons = [reason for trial in run.trials for reason in trial.reasons]
    assert not any(reason.code in ("other_clients", "failed") for reason in reasons), reasons
    assert {trial.settings["shared_buffers"] for trial in run.trials} == {"128MB", "1GB"}
    assert {trial.regime["synchronous_standby_names"] for trial in run.trials} == {f"FIRST 1 ({NEAR})"}
    assert Kind.WORSE not in {each.verdict.kind for each in Findings(run).verdicts}, done.stdout
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
        two = ("--server", f"A={dsn}", "--server", f"B={server.dsn()}")
        assert main(["compare", *two, "-S", "--i-own", *DECLARED]) == 2
        assert "server A of --server is reached through a pooler" in capsys.readouterr().err


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
    assert "has failed over: it is on timeline 2" in done.stderr
    statuses = {trial.status for trial in journey.record("a").trials}
    assert statuses <= {Status.VALID, Status.INVALID}, "no outcome of a treatment"
    with psycopg.connect(doomed.dsn()) as session:
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
