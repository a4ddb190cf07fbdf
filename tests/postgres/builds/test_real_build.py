"""A real build of one page size, from the source that the user's cache or $PGASSAY_TEST_SOURCE has; some minutes."""

import os
from pathlib import Path

import pytest

from pgassay.bench.factor import Readable
from pgassay.cli.postgres import builder
from pgassay.errors import PgassayError
from pgassay.lab.building import Building
from pgassay.postgres.build_factors import FACTORS
from pgassay.postgres.builds.spec import parse_spec
from pgassay.postgres.builds.verification import verify
from pgassay.postgres.builds.wanted import Wanted
from tests.bench import real

SOURCE = "PGASSAY_TEST_SOURCE"


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_page_size_is_built_verified_and_read_back() -> None:
    source = os.environ.get(SOURCE)
    ours = builder(Building(allow_deb_src=bool(os.environ.get("CI"))))
    try:
        ours.sources.identify(parse_spec(source) if source else None, "")
    except PgassayError as error:
        pytest.skip(f"no source of PostgreSQL within reach: {error.message}")
    installation = ours.installation(Wanted(2048, source=parse_spec(source) if source else None))
    manifest = ours.cache.manifest(installation.bindir.parent.name)
    assert manifest is not None
    shown = verify(installation, manifest.recipe, ours.runner)
    assert shown == {"block_size": "2048", "wal_block_size": "8192", "segment_size": "1GB"}
    with real.private_folder() as folder:
        _read_back(installation.bindir, folder)


def _read_back(bindir: Path, folder: Path) -> None:
    installation = real.finder().named(bindir)
    installation.initialize(folder / "data", {})
    server = installation.start(folder / "data", {}, folder / "socket")
    levels = {"build.block_size": "2kB", "build.wal_block_size": "8kB", "build.cflags": "-O2"}
    try:
        for factor in FACTORS:
            if factor.pattern in levels:
                level = factor.parse(factor.pattern, levels[factor.pattern])
                assert factor.read_back(factor.pattern, level, Readable(server)) == level.canonical
        for name in ("pg_prewarm", "pg_buffercache", "pgstattuple", "pg_stat_statements", "amcheck"):
            server.execute(f"CREATE EXTENSION {name}")
    finally:
        server.stop(immediately=True)
