"""A real PostgreSQL on drives with file systems of their own: load, crash-free stop, restore, checks of both."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.drive.block.drive import BlockDrive
from pgassay.postgres.installation import LocalInstallation
from pgassay.testing.real import installation
from tests.drive.block import real
from tests.drive.block.killing import left_behind

pytestmark = pytest.mark.system


@pytest.fixture
def place() -> Iterator[Path]:
    with real.place() as path:
        yield path


def checked(server_bindir: Path, sockets: Path, port: int) -> None:
    """Every table and index is what it should be, by PostgreSQL's own tool; skipped where contrib is not."""
    if shutil.which(str(server_bindir / "pg_amcheck")):
        real.succeeded(
            str(server_bindir / "pg_amcheck"), "--install-missing", "--heapallindexed",
            "-h", str(sockets), "-p", str(port), "-U", "postgres", "postgres",
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["image", "csd"])
def test_a_cluster_lives_on_a_drive_and_both_stay_sound(place: Path, kind: str) -> None:
    real.require(kind)
    programs: LocalInstallation = installation()
    drive = real.attach(place, kind, data_mount_options="noatime,discard")
    assert isinstance(drive, BlockDrive)
    sockets = place / "sockets"
    workspace = drive.workspace("prepare")
    programs.initialize(workspace, {})
    server = programs.start(workspace, {}, sockets)
    server.execute("CREATE TABLE t (i int PRIMARY KEY, x text)")
    server.execute("INSERT INTO t SELECT g, md5(g::text) FROM generate_series(1, 50000) g")
    server.stop()
    drive.take_snapshot("k", workspace)
    for number in (1, 2):
        clone = drive.clone("k", f"trial-{number}")
        server = programs.start(clone, {}, sockets)
        try:
            assert server.query("SELECT count(*), count(DISTINCT x) FROM t") == [(50000, 50000)]
            server.execute("UPDATE t SET x = x || 'worn'")
            server.execute("DELETE FROM t WHERE i % 3 = 0")
            server.execute("VACUUM t")
            checked(programs.bindir, server.endpoint.socket_directory, server.endpoint.port)
        finally:
            server.stop()
        drive.discard(clone, check=True)
    drive.release()
    assert left_behind(place) == []
