"""A server as a managed service gives it: no superuser, no files, no machine, no ALTER SYSTEM, agents that never leave.

The roles have what their makers document; no service was reached.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgassay.cli import main
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished
from tests.system.staging import PORT, Staging, staging

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("state_directory")]

_MONITORS = "pg_monitor, pg_signal_backend"
ROLES = {
    "rds_superuser": ("rdsadmin", f"CREATEDB CREATEROLE IN ROLE {_MONITORS}, pg_checkpoint"),
    "cloudsqlsuperuser": ("cloudsqladmin", f"CREATEDB CREATEROLE IN ROLE {_MONITORS}"),
    "azure_pg_admin": ("azuresu", f"CREATEDB CREATEROLE REPLICATION BYPASSRLS IN ROLE {_MONITORS}, pg_read_all_data"),
}
"""By the name of the service's role: its agent, a superuser with sessions of its own, and what the user's role has."""
_APP = (
    "CREATE EXTENSION pg_stat_statements",
    "CREATE FUNCTION watched() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
    " IF tg_tag = 'CREATE EXTENSION' THEN RAISE EXCEPTION 'extensions are made by the console'; END IF; END $$",
    "CREATE EVENT TRIGGER watched ON ddl_command_start EXECUTE FUNCTION watched()",
)


class Managed(Staging):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        self.stop()
        self.start()
        for name, (agent, rights) in ROLES.items():
            self.query(f"CREATE ROLE {agent} LOGIN SUPERUSER")
            self.query(f"CREATE ROLE {name} NOLOGIN {rights}")
            attributes = rights.partition(" IN ROLE")[0]
            self.query(f"CREATE ROLE me_{name} LOGIN {attributes} IN ROLE {name}")
        self.query("CREATE DATABASE rdsadmin OWNER rdsadmin")
        self.query("REVOKE CONNECT ON DATABASE rdsadmin FROM PUBLIC")
        for function in ("pg_control_system()", "pg_ls_waldir()", "pg_reload_conf()"):
            self.query(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC, pg_monitor")
        with self.connected("app") as session:
            for statement in _APP:
                session.execute(statement.encode())

    @contextmanager
    def of(self, role: str) -> Iterator[None]:
        """The role owns the application's database, and the agent of its service is connected."""
        agent = ROLES[role][0]
        self.query(f"ALTER DATABASE app OWNER TO me_{role}")
        with self.connected("app") as session:
            session.execute(f"ALTER TABLE orders OWNER TO me_{role}".encode())
        database = "rdsadmin" if agent == "rdsadmin" else "postgres"
        with psycopg.connect(f"host={self.folder} port={PORT} user={agent} dbname={database}", autocommit=True) as one:
            one.execute("SELECT 1")
            yield


@pytest.fixture(scope="module")
def server(postgres: None) -> Iterator[Managed]:
    with staging(Managed) as found:
        assert isinstance(found, Managed)
        yield found


def words(journey: Place, server: Managed, role: str, *levels: str) -> tuple[str, ...]:
    tiny = ("-s", "1", "-c", "2", "-j", "1", "-T", "1s", "--set", "load.warmup=0s", "--blocks", "5..5", "--seed", "3")
    where = ("--server", server.dsn(f"me_{role}"), "--i-own", *ANYWHERE, "--out", str(journey.runs / "a"))
    return ("compare", *levels, *tiny, *where)


@pytest.mark.parametrize("role", ROLES)
def test_what_such_a_role_may_not_set_is_refused_by_name_with_the_reason(
    journey: Place, server: Managed, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {
        ("max_wal_size=1GB", "max_wal_size=8GB"): "max_wal_size takes ALTER SYSTEM, which role",
        ("shared_buffers=32MB", "shared_buffers=64MB"): "shared_buffers takes a restart, which is not ours to make",
        ("log_min_duration_statement=0", "log_min_duration_statement=1s"): "the server refuses log_min_duration",
    }
    before = server.state()
    with server.of(role):
        for levels, said in refused.items():
            assert main([*words(journey, server, role, *levels)]) == 2
            assert said in capsys.readouterr().err, levels
        restarts = ("--restart-command", "true")
        assert main([*words(journey, server, role, "shared_buffers=32MB", "shared_buffers=64MB"), *restarts]) == 2
        assert "shared_buffers takes ALTER SYSTEM, which role" in capsys.readouterr().err
    assert server.state() == before


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize("role", ROLES)
def test_a_comparison_comes_to_its_end_and_names_what_is_not_available(
    journey: Place, server: Managed, state_directory: Path, role: str
) -> None:
    before = server.state()
    with server.of(role):
        copied = ("--set", "init.copy_database=app")
        script = journey.path / "orders.sql"
        script.write_text("UPDATE orders SET n = n + 1 WHERE n % 100 = 1;\n")
        command = list(words(journey, server, role, "synchronous_commit=on", "synchronous_commit=off"))
        if role == "azure_pg_admin":  # with its event trigger and its extension
            command[command.index("-s") : command.index("-s") + 2] = ["-f", str(script), *copied]
        done = finished(journey.start(*command), LONG_S)
    trials = journey.record("a").trials
    valid = [trial for trial in trials if trial.status is Status.VALID]
    assert done.returncode == (0 if valid else 1), done.stderr
    assert {trial.status for trial in trials} <= {Status.VALID, Status.INVALID}, [each.reasons for each in trials]
    assert not any(reason.code == "other_clients" for trial in trials for reason in trial.reasons), "the agent stays"
    remarks = journey.record("a").host["remarks"]
    assert "bytes of row versions (pg_statistic)" in remarks["no_superuser"]
    assert "checkpoint_timeout" in remarks["not_pinned"]
    assert ("no_checkpoint" in remarks) == (role != "rds_superuser")
    assert all(trial.responses["wal_bytes_per_transaction"] for trial in valid)
    assert server.state() == before
    assert not list(state_directory.glob("attached-*.jsonl"))


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize("role", ROLES)
def test_a_capture_has_the_load_and_the_data(
    journey: Place, server: Managed, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = journey.path / "app.capture"
    with server.of(role), server.connected("app") as session:
        process = journey.start("capture", server.dsn(f"me_{role}", "app"), "--for", "5s", "--out", str(out))
        while process.poll() is None:
            session.execute("SELECT count(*) FROM orders WHERE n < 100")
        done = finished(process)
    assert done.returncode == 0, done.stderr
    load = json.loads((out / "load.json").read_text())
    assert any("FROM orders WHERE n <" in each["text"] for each in load["statements"])
    assert (out / "data.dump").stat().st_size
    assert "pg_stat_statements" in json.dumps(json.loads((out / "capture.json").read_text()))
