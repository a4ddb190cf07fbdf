"""Every level is read back from every real PostgreSQL of this machine, and fillfactor changes what lies on disk."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, matches
from pgassay.postgres import settings
from pgassay.postgres.factors import FACTORS
from pgassay.postgres.server import LocalServer
from pgassay.testing import real
from tests import machine

pytestmark = pytest.mark.system

LEVELS: Mapping[str, str] = {
    "init.wal_segment_size": "32MB",
    "init.data_checksums": "on",
    "server.shared_buffers": "64MB",
    "server.wal_buffers": "-1",
    "server.synchronous_commit": "true",
    "server.wal_compression": "on",
    "server.checkpoint_timeout": "1.5min",
    "server.vacuum_cost_delay": "2500us",
    "server.max_wal_size": "1.5GB",
    "server.huge_pages": "off",
    "server.random_page_cost": "1.10",
    "server.search_path": '"$user", public',
    "server.DateStyle": "ISO, DMY",
    "server.plpgsql.extra_warnings": "all",
}


def _factor(name: str) -> Factor:
    exact = [factor for factor in FACTORS if factor.pattern == name]
    return exact[0] if exact else next(factor for factor in FACTORS if matches(factor.pattern, name))


@pytest.fixture(scope="module", params=machine.bindirs() or ["none"])
def server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """A server with all of `LEVELS`."""
    if request.param == "none":
        pytest.skip("no PostgreSQL on this machine")
    installation = real.finder().named(Path(request.param))
    setup = SetupDraft()
    for name, typed in LEVELS.items():
        factor = _factor(name)
        factor.prepare(name, factor.parse(name, typed), setup)
    installation.check_settings(setup.settings)
    with real.private_folder() as folder:
        installation.initialize(folder / "data", setup.init_options)
        server = installation.start(folder / "data", setup.settings, folder / "socket")
        try:
            yield server
        finally:
            server.stop()


@pytest.mark.parametrize(("name", "typed"), list(LEVELS.items()))
def test_what_was_asked_is_read_back(name: str, typed: str, server: LocalServer) -> None:
    factor = _factor(name)
    level = factor.parse(name, typed)
    assert factor.read_back(name, level, Readable(server)) == level.canonical


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("server.shared_buffers", "65MB"),
        ("server.wal_compression", "off"),
        ("server.huge_pages", "on"),
        ("server.plpgsql.no_such_word", "1"),
    ],
)
def test_what_does_not_hold_is_told(name: str, typed: str, server: LocalServer) -> None:
    factor = _factor(name)
    level = factor.parse(name, typed)
    assert factor.read_back(name, level, Readable(server)) not in (None, level.canonical)


def test_the_version_is_read_back(server: LocalServer) -> None:
    factor = _factor("postgres.version")
    for typed in (str(server.version.major), str(server.version)):
        level = factor.parse("postgres.version", typed)
        assert factor.read_back("postgres.version", level, Readable(server)) == level.canonical


def test_what_is_in_force_is_shown(server: LocalServer) -> None:
    shown = settings.shown(server)
    assert shown["shared_buffers"] == "64MB"
    assert shown["max_wal_size"] == "1536MB"
    assert shown["block_size"] == "8192"
    assert shown["effective_cache_size"] == "4GB"
    assert shown["huge_pages_status"] == "off"
    assert shown["min_parallel_table_scan_size"] == "8MB", "counted in blocks, and left at its default"
    assert "work_mem" not in shown, "at its default, and counted in kB"
    assert not {"port", "listen_addresses", "unix_socket_directories", "transaction_isolation"} & set(shown)


def _pages(server: LocalServer, relation: str) -> int:
    """Of an index: all pages; of a table: pages with rows (from 16 on a bulk load extends tables beyond its rows)."""
    if relation != "early_pkey":
        return int(server.query(f"SELECT count(DISTINCT (ctid::text::point)[0]) FROM {relation}")[0][0])
    server.execute("ANALYZE")
    return int(server.query("SELECT relpages FROM pg_class WHERE relname = %s", [relation])[0][0])


def test_fillfactors_change_what_lies_on_disk(server: LocalServer) -> None:
    everywhere, named, indexes = (
        _factor(each) for each in ("table.fillfactor", "table.*.fillfactor", "index.fillfactor")
    )
    readable = Readable(server)
    server.execute("CREATE TABLE early (i int PRIMARY KEY, filler char(80))")
    server.execute('CREATE TABLE "Odd name" (i int)')
    half = everywhere.parse("table.fillfactor", "50")
    quarter = named.parse("table.late.fillfactor", "25")
    everywhere.on_empty_schema("table.fillfactor", half, server)
    named.on_empty_schema("table.late.fillfactor", quarter, server)
    server.execute("INSERT INTO early SELECT g, 'x' FROM generate_series(1, 5000) g")
    server.execute("CREATE TABLE late AS SELECT * FROM early")
    packed_late, packed_index = _pages(server, "late"), _pages(server, "early_pkey")
    node = server.query("SELECT relfilenode FROM pg_class WHERE relname = 'early'")

    named.on_loaded_data("table.late.fillfactor", quarter, server)
    everywhere.on_loaded_data("table.fillfactor", half, server)
    indexes.on_loaded_data("index.fillfactor", indexes.parse("index.fillfactor", "45"), server)

    assert server.query("SELECT relfilenode FROM pg_class WHERE relname = 'early'") == node, "not rewritten"
    assert _pages(server, "early") == pytest.approx(2 * packed_late, rel=0.1)
    assert _pages(server, "late") == pytest.approx(4 * packed_late, rel=0.1)
    assert _pages(server, "early_pkey") == pytest.approx(2 * packed_index, rel=0.2)
    assert everywhere.read_back("table.fillfactor", half, readable) == "50"
    assert named.read_back("table.late.fillfactor", quarter, readable) == "25"
    assert indexes.read_back("index.fillfactor", half, readable) == "early_pkey 45"
    with pytest.raises(UsageError, match='no table "nowhere"') as caught:
        named.on_loaded_data("table.nowhere.fillfactor", half, server)
    assert caught.value.hint is not None
    assert '"Odd name"' in caught.value.hint
