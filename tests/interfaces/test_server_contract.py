"""What every installation and server keeps: the fake, and the real PostgreSQL of this machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.interfaces.errors import ClusterError, QueryError, SettingError
from pgassay.interfaces.server import Installation, Server
from pgassay.postgres import ownership
from pgassay.probe.procfs import children_of
from pgassay.testing import real
from pgassay.testing.fakes import MARKER, FakeInstallation

SETTINGS = {"shared_buffers": "16MB", "fsync": "off"}
PATIENCE_S = 300.0


class Bench:
    """An installation, a cluster of it, and a place for its socket."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self.installation = installation
        self.folder = folder
        self.cluster = folder / "data"
        installation.initialize(self.cluster, {})

    @contextmanager
    def server(self, **settings: str) -> Iterator[Server]:
        """A server of the cluster, stopped at the end."""
        server = self.installation.start(self.cluster, {**SETTINGS, **settings}, self.folder / "socket")
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.system)])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if request.param == "fake":
        yield Bench(FakeInstallation(), tmp_path_factory.mktemp("fake"))
    else:
        with real.private_folder() as folder:
            yield Bench(real.installation(), folder)


def test_fake_and_real_use_the_same_marker() -> None:
    assert ownership.MARKER_FILE == MARKER


def test_it_says_what_it_is(bench: Bench) -> None:
    assert bench.installation.version.major >= 13
    assert bench.installation.found_by


def test_a_cluster_is_never_made_over_something(bench: Bench) -> None:
    occupied = bench.folder / "occupied"
    occupied.mkdir()
    (occupied / "precious").write_text("data")
    with pytest.raises(ClusterError, match="not empty"):
        bench.installation.initialize(occupied, {})
    assert [path.name for path in occupied.iterdir()] == ["precious"]


def test_a_foreign_cluster_is_never_started(bench: Bench) -> None:
    foreign = bench.folder / "foreign"
    foreign.mkdir(exist_ok=True)
    (foreign / "PG_VERSION").write_text("15\n")
    with pytest.raises(ClusterError, match="not made by pgassay"):
        bench.installation.start(foreign, {}, bench.folder / "socket")
    assert [path.name for path in foreign.iterdir()] == ["PG_VERSION"]


def test_a_server_answers_on_its_private_socket(bench: Bench) -> None:
    with bench.server() as server:
        assert server.alive()
        assert server.endpoint.socket_directory.is_relative_to(bench.folder / "socket")
        assert server.postmaster_pid > 0
        assert server.version == bench.installation.version
        assert server.query("SELECT 1") == [(1,)]
        assert server.query("SELECT %s::int", [42]) == [(42,)]


def test_settings_hold(bench: Bench) -> None:
    with bench.server(work_mem="64kB") as server:
        assert server.query("SHOW work_mem") == [("64kB",)]
        assert server.query("SHOW shared_buffers") == [("16MB",)]
    with bench.server() as server:
        assert server.query("SHOW work_mem") == [("4MB",)], "settings of an earlier start are gone"


def test_a_bad_statement_is_a_query_error_and_harms_nothing(bench: Bench) -> None:
    with bench.server() as server:
        with pytest.raises(QueryError, match="SELEC"):
            server.query("SELEC 1")
        assert server.query("SELECT 1") == [(1,)]
        server.execute("CHECKPOINT")


def test_after_the_stop_nothing_answers(bench: Bench) -> None:
    with bench.server() as server:
        pass
    server.stop()
    assert not server.alive()
    with pytest.raises(QueryError):
        server.query("SELECT 1")
    assert isinstance(server.log_text(), str)


def test_an_unknown_setting_is_named_before_and_at_the_start(bench: Bench) -> None:
    with pytest.raises(SettingError, match="shared_bufers"):
        bench.installation.check_settings({"shared_bufers": "1MB"})
    with pytest.raises(ClusterError, match="shared_bufers"):
        bench.installation.start(bench.cluster, {"shared_bufers": "1MB"}, bench.folder / "socket")


def test_a_refused_value_is_named_before_the_start(bench: Bench) -> None:
    with pytest.raises(SettingError, match=r"shared_buffers.*refuse me"):
        bench.installation.check_settings({"fsync": "off", "shared_buffers": "refuse me"})
    bench.installation.check_settings({"fsync": "off", "shared_buffers": "1GB"})


def test_setting_tells_a_value_without_starting(bench: Bench) -> None:
    assert bench.installation.setting(bench.cluster, {"fsync": "no"}, "fsync") == "off"
    with pytest.raises(SettingError):
        bench.installation.setting(bench.cluster, {}, "no_such_setting")


def test_tables_outlive_the_server(bench: Bench) -> None:
    listing = (
        "SELECT c.oid::regclass::text, (SELECT o.option_value FROM pg_options_to_table(c.reloptions) o"
        " WHERE o.option_name = 'fillfactor') FROM pg_class c WHERE relname = 'kept'"
    )
    with bench.server() as server:
        server.execute("CREATE TABLE kept (i int)")
        server.execute("ALTER TABLE kept SET (fillfactor = 70)")
    with bench.server() as server:
        assert server.query(listing) == [("kept", "70")]


def test_a_frozen_server_goes_on_where_it_was_and_can_be_stopped(bench: Bench) -> None:
    with bench.server() as server:
        server.execute("CREATE TABLE frozen ()")
        server.freeze()
        server.thaw()
        assert server.alive()
        assert server.query("SELECT 1") == [(1,)]
        server.thaw()
        server.freeze()
    assert not server.alive()


@pytest.mark.system
def test_every_process_of_a_frozen_server_stands_still() -> None:
    with real.server(autovacuum="off") as (server, _):  # whose workers come and go
        server.query("SELECT 1")
        server.freeze()
        pids = [server.postmaster_pid, *children_of(server.postmaster_pid)]
        assert len(pids) > 4
        deadline = time.monotonic() + PATIENCE_S
        while (states := {states_of(pid) for pid in pids}) != {"T"}:  # one that waits for its drive stops afterwards
            assert time.monotonic() < deadline, states
        server.thaw()
        assert server.alive()
        assert "T" not in {states_of(pid) for pid in [server.postmaster_pid, *children_of(server.postmaster_pid)]}


@pytest.mark.system
def test_of_some_kinds_only_those_processes_stand_still() -> None:
    with real.server(autovacuum="off") as (server, _):
        ((pid,),) = server.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        assert pid in server.processes()
        server.freeze("walwriter", "no such kind")
        deadline = time.monotonic() + PATIENCE_S
        while states_of(pid) != "T":
            assert time.monotonic() < deadline
        assert server.alive()
        assert {states_of(each) for each in server.processes() - {pid}} & {"T"} == set()
        server.thaw()
        assert states_of(pid) != "T"
        server.freeze("walwriter")
    assert not server.alive(), "one that stands still does not keep it from stopping"


def states_of(pid: int) -> str:
    return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
