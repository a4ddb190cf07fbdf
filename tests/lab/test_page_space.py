"""The free share of pages, from the pages of a real server: what FILLFACTOR leaves, and what updates use up; and what
of its relations caches hold."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.host.storage import PageCache
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.server import Server
from pgassay.lab import measurements
from pgassay.lab.measurements import relation_bytes
from pgassay.lab.preparation import settle
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.testing import real
from pgassay.testing.fakes import FakeInstallation


def test_every_relation_tells_its_bytes(tmp_path: Path) -> None:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    server.execute("CREATE TABLE pgbench_accounts ()")
    assert relation_bytes(server) == {"relation.table.pgbench_accounts_bytes": pytest.approx(8192)}


def test_it_is_declared_only_where_it_is_asked_for() -> None:
    assert measurements.responses([LoadOptions()]) == ()
    names = {response.name for response in measurements.responses([LoadOptions(), LoadOptions(page_space=True)])}
    assert names == set(measurements.free_shares({}))


def test_a_pages_time_is_declared_for_windows_that_begin_cold_and_known_where_pages_were_read() -> None:
    cold = PgbenchOptions.from_levels({"cache": "cold", "transactions": "1"})
    assert measurements.PAGE_READ in measurements.responses([PgbenchOptions(), cold])
    assert measurements.PAGE_READ not in measurements.responses([replace(cold, cache="warm")])
    found = {
        "latency_ms": 3.0,
        "heap_blocks_read_per_transaction": 20.0,
        "index_blocks_read_per_transaction": 10.0,
    }
    assert measurements.page_read(found) == {"page_read_us": pytest.approx(100)}
    for without in found:
        assert measurements.page_read({**found, without: None}) == {"page_read_us": None}
    assert measurements.page_read({name: 0.0 for name in found}) == {"page_read_us": None}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off", "autovacuum": "off"}, folder / "socket")
        try:
            yield server
        finally:
            server.stop()


@pytest.mark.system
def test_fillfactor_leaves_its_share_and_updates_use_it(server: Server) -> None:
    for name, fill in (("packed", 100), ("roomy", 50)):
        server.execute(f"CREATE TABLE {name} (id int, n int, pad char(80)) WITH (fillfactor = {fill})")
        server.execute(f"INSERT INTO {name} SELECT i, 0, 'x' FROM generate_series(1, 200000) i")
    server.execute("CHECKPOINT")
    loaded = measurements.space_as_loaded(server)
    packed, roomy = loaded["page_space.loaded.packed_share"], loaded["page_space.loaded.roomy_share"]
    assert packed is not None
    assert roomy is not None
    assert packed < 0.02
    assert roomy == pytest.approx(0.5, abs=0.02)
    every = loaded["page_space.loaded_share"]
    assert every == pytest.approx((packed + 2 * roomy) / 3, abs=0.02), "weighted by size"
    server.execute("UPDATE roomy SET n = n + 1 WHERE id % 2 = 0")
    server.execute("CHECKPOINT")
    left = measurements.read_shares(server, "left")
    assert left["page_space.left.roomy_share"] == pytest.approx(0.25, abs=0.03)
    responses = measurements.free_shares({**loaded, **left})
    assert responses["free_share_loaded"] == every
    assert (responses["database_loaded_bytes"] or 0) > 60_000_000


@pytest.mark.system
def test_what_both_caches_hold_is_read_by_relation_and_a_cold_start_drops_the_page_cache(server: Server) -> None:
    server.execute("CREATE TABLE scanned AS SELECT i FROM generate_series(1, 200000) i")
    server.execute("CREATE INDEX scanned_i ON scanned (i)")
    server.execute("CHECKPOINT")
    caches, folder = PageCache(), Path(server.query("SHOW data_directory")[0][0])
    caches.make_warm(folder)
    options = LoadOptions.from_levels({"cache": "cold"})
    server.execute("CREATE EXTENSION pg_buffercache")
    warm = measurements.cached_shares(server)
    server.execute("DROP EXTENSION pg_buffercache")
    assert (warm["cached.scanned.page_cache_share"], warm["cached.scanned_i.page_cache_share"]) == (1, 1)
    assert settle(server, options, folder, caches).startswith("cold")
    cold = measurements.cached_shares(server)
    assert (cold["cached.scanned.page_cache_share"], cold["cached.scanned_i.page_cache_share"]) == (0, 0)
    held = cold["cached.scanned.buffers_share"]
    assert held == warm["cached.scanned.buffers_share"], "shared_buffers are emptied by a start, not by this"
    assert held is not None
    assert held > 0
