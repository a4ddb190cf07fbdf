"""A real build of one page size: made from source (or found in the cache), verified, loaded, read back.

It takes about a minute on two cores the first time, and seconds from the cache (`$PGASSAY_CACHE`, or the user's own).
Without a compiler, bison, flex or a source within reach it is skipped, by name. `make test` lets apt fetch the source.
"""

import os
from pathlib import Path

import pytest

from pgassay.cli.postgres import builder
from pgassay.errors import PgassayError
from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.factor import Readable
from pgassay.interfaces.load import Tools
from pgassay.interfaces.server import Server
from pgassay.lab.checks import code_of
from pgassay.lab.places import Building
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.postgres.builds.builder import Builder, verify
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.factors import FACTORS
from pgassay.postgres.installation import LocalInstallation
from pgassay.testing import real

SOURCE = "PGASSAY_TEST_SOURCE"
"""As for `build.source`."""
CONSENT = "PGASSAY_TEST_DEB_SRC"
"""Set: apt may fetch the source package, by a configuration of our own."""
CFLAGS = "-O0"
"""Half the time of PostgreSQL's own -O2, and a level of `build.cflags` to read back."""
ASKED = {"build.block_size": "4kB", "build.wal_block_size": "16kB", "build.cflags": CFLAGS}
LOAD = {"scale": "1", "clients": "2", "jobs": "1", "duration": "2s", "script": "simple-update", "protocol": "prepared"}


def built(ours: Builder) -> LocalInstallation:
    """The build, or a skip that says what this machine lacks."""
    source = os.environ.get(SOURCE)
    request = BuildRequest(
        block_bytes=4096, wal_block_bytes=16384, cflags=CFLAGS, source=parse_spec(source) if source else None
    )
    try:
        recipe, found = ours.recipe(request)
        if ours.cache.manifest(recipe.key) is None:
            with ours.cache.staging() as staging:
                ours.toolchain.require(ours.sources.unpack(found, staging / "tree"))
    except PgassayError as error:
        pytest.skip(f"no PostgreSQL can be built here: {error.message}")
    return ours.installation(request)


@pytest.mark.system
@pytest.mark.early
@pytest.mark.timeout(540)
def test_a_page_size_is_built_verified_loaded_and_read_back(tmp_path: Path) -> None:
    ours = builder(Building(allow_deb_src=bool(os.environ.get(CONSENT))))
    installation = built(ours)
    manifest = ours.cache.manifest(installation.bindir.parent.name)
    assert manifest is not None
    assert manifest.recipe.cflags == CFLAGS
    shown = verify(installation, manifest.recipe, ours.runner)
    assert shown == {"block_size": "4096", "wal_block_size": "16384", "segment_size": "1GB"}
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            _read_back(server)
            _load(server, installation, tmp_path)
        finally:
            server.stop(immediately=True)


def _read_back(server: Server) -> None:
    factors = {factor.pattern: factor for factor in FACTORS}
    for name, typed in ASKED.items():
        level = factors[name].parse(name, typed)
        assert factors[name].read_back(name, level, Readable(server)) == level.canonical
    for name in ("pg_prewarm", "pg_buffercache", "pgstattuple", "pg_stat_statements", "amcheck"):
        server.execute(f"CREATE EXTENSION {name}")


def _load(server: Server, installation: LocalInstallation, output: Path) -> None:
    """pgbench of the same build works on its pages; a row that no page of 4 kB can hold is named."""
    tools = Tools(installation.bindir, real.runner(), SystemClock())
    load, wide = (
        PgbenchLoad(PgbenchOptions.from_levels(each), tools) for each in (LOAD, {**LOAD, "row_bytes": "5000"})
    )
    wide.create(server)
    with pytest.raises(LoadError, match=r"row is too big: size 50\d+, maximum size 4064") as caught:
        wide.fill(server)
    assert code_of(caught.value.message, "not_prepared") == "row_too_large"
    load.create(server)
    load.fill(server)
    result = load.run(server, output / "out", 1)
    assert (result.status, dict(result.problems)) == (0, {})
    assert result.transactions > 0
    ((pages, size),) = server.query(
        "SELECT relpages, pg_relation_size(oid) FROM pg_class WHERE relname = 'pgbench_branches_pkey'"
    )
    assert size == pages * 4096
