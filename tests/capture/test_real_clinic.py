"""The share of an application's load that is played without one of its literals, on a real server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.capture import dump, files
from pgassay.capture.replaying import Stage, try_each
from pgassay.capture.scripts import PLAYED_LEAST, scripted
from pgassay.capture.synthetic import files as synthetic
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.interfaces.server import Server
from pgassay.testing import real

pytestmark = [pytest.mark.slow, pytest.mark.system]

HERE = Path(__file__).parent
GOAL = 0.8
WINDOW_S = 10


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with real.server(shared_preload_libraries="pg_stat_statements") as (server, _):
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'btree_gist'").fetchone():
                pytest.skip("this PostgreSQL has no contrib modules")
            connection.execute((HERE / "clinic.sql").read_text())
        yield server


@pytest.fixture(scope="module")
def captured(clinic: Server) -> Iterator[Path]:
    where = clinic.endpoint
    words = [f"--host={where.socket_directory}", f"--port={where.port}", f"--username={where.user}", where.database]
    program = [str(real.installation().bindir / "pgbench"), "--no-vacuum", "--time=600", "--client=2"]
    with real.own_folder() as folder:
        load = subprocess.Popen([*program, f"--file={HERE / 'clinic.pgbench'}", *words], stdout=subprocess.DEVNULL)
        try:
            path = folder / "clinic.capture"
            assert main(["capture", where.conninfo(), "--for", f"{WINDOW_S}s", "--out", str(path)]) == 0
            assert load.poll() is None, "it went on all the while"
        finally:
            load.terminate()
            load.wait()
        yield path


def test_four_fifths_of_the_time_is_played_without_literals(captured: Path, clinic: Server) -> None:
    """Each script is tried where the data are: one that fails is none of those that are played."""
    found = files.read(captured)
    assert found.load is not None
    load = scripted(found)
    assert not found.with_literals
    stage = Stage(clinic, real.runner(), SystemClock())
    failed = try_each(load.tried, stage).failed
    left = load.without(failed, found.load)
    assert left.time_share >= GOAL, [(each.reason, each.statement.text) for each in left.unplayed]
    assert failed == {}
    assert left.time_share >= PLAYED_LEAST


def test_views_functions_and_domains_of_the_server_are_known(captured: Path) -> None:
    found = files.read(captured)
    columns = {each.name: dict((name, column) for name, _, _, column in each.columns) for each in found.views}
    assert columns["due"] == {
        "visit": "id", "due_at": "starts_at", "status": "status", "patient": "full_name", "doctor": "name",
    }  # fmt: skip
    assert columns["open_invoice"] == {"id": "id", "visit_id": "visit_id", "since": "issued_on", "amount": "amount"}
    arguments = {each.name: each.arguments for each in found.functions}
    assert arguments == {
        "age_of": (("born", "date"),), "audited": (),
        "book": (("p_patient", "bigint"), ("p_doctor", "integer"), ("p_note", "text")),
    }, "none of pg_trgm's or pg_stat_statements'"  # fmt: skip


def test_data_from_statistics_are_loaded_without_the_constraints_that_they_break(
    clinic: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """A regular expression on a domain, one column before another, an exclusion constraint: named, and left out."""
    where, bindir = clinic.endpoint, real.installation().bindir
    with real.own_folder() as folder:
        path = folder / "synthetic.capture"
        words = ["--data", "synthetic", "--without-load", "--out", str(path)]
        assert main(["capture", where.conninfo(), *words]) == 0
        said = capsys.readouterr().err
        ours = "SELECT query FROM pg_stat_statements WHERE query ~ 'pg_stats s|k.contypid' AND query !~ 'pgassay'"
        with psycopg.connect(where.conninfo()) as connection:
            assert connection.execute(ours).fetchall() == [], "another capture knows our reads"
        for named in ("record_number_check", "visit_check", "invoice_check", "duty_doctor_id_day_shift_excl"):
            assert f'constraint "{named}" of ' in said
        assert "percent_check" not in said, "numbers stay within those that there are"
        before, after, _ = dump.sections(bindir / "pg_restore", path / dump.SCHEMA, folder, real.runner())
        script = synthetic.playable(synthetic.read(path), before, after, folder)
        with psycopg.connect(where.conninfo(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE copied")
        other = [f"--host={where.socket_directory}", f"--port={where.port}", f"--username={where.user}", "copied"]
        done = subprocess.run(
            [str(bindir / "psql"), "--no-psqlrc", "--quiet", f"--file={script}", *other],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, "ERROR" in done.stderr) == (0, False), done.stderr[-2000:]
        assert "left out: ALTER DOMAIN care.record_number ADD CONSTRAINT record_number_check CHECK" in done.stderr
        with psycopg.connect(where.conninfo(), dbname="copied") as connection:
            kept = {str(row[0]) for row in connection.execute("SELECT conname FROM pg_constraint WHERE contype = 'c'")}
            rows = connection.execute(
                "SELECT count(*), count(full_name), count(referred_by) FROM care.patient"
            ).fetchone()
    assert {"percent_check", "invoice_amount_check", "duty_shift_check"} <= kept
    assert "record_number_check" not in kept
    assert rows is not None
    assert rows[0] == rows[1] > 10_000, "a generated column has its values"
    assert rows[2] > 1_000, "and a key to its own table"
