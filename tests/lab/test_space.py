"""Room is asked for by page size, and each table and index says what it took."""

from pathlib import Path

import pytest

from pgassay.lab.arms import page_overhead
from pgassay.lab.page_space import relation_bytes
from pgassay.testing.fakes.server import FakeInstallation


def test_small_pages_need_more_room() -> None:
    """Measured at scale 10: 177.4 MB on 1 kB pages, 166.6 MB on 8 kB pages, so at least 6.5 % more."""
    assert page_overhead(8192) == 1.0
    assert page_overhead(32768) == 1.0, "never promised to be less"
    one, two, four = (page_overhead(size * 1024) for size in (1, 2, 4))
    assert 1.065 < one < 1.2
    assert one > two > four > 1.0


def test_every_relation_tells_its_bytes(tmp_path: Path) -> None:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    server.execute("CREATE TABLE pgbench_accounts ()")
    assert relation_bytes(server) == {"relation.table.pgbench_accounts_bytes": pytest.approx(8192)}
