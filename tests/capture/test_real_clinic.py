"""The share of an application's load that is played without one of its literals, on a real server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.capture import files
from pgassay.capture.replaying import Stage, try_each
from pgassay.capture.scripts import PLAYED_LEAST, scripted
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.interfaces.server import Server
from pgassay.testing import real
from tests import machine

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
    with machine.own_folder() as folder:
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
