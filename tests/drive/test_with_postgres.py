"""A real server on clones of a real snapshot: every trial starts from the same data, whatever the one before did."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.drive.directory import DirectoryDrive
from pgassay.drive.options import FACTORS
from pgassay.errors import PgassayError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.host.storage import mount_of
from pgassay.interfaces.factor import Readable
from pgassay.interfaces.server import Server
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation

pytestmark = pytest.mark.system


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the servers' account may enter (pytest's own are closed to it)."""
    with tempfile.TemporaryDirectory(prefix="drive-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def installation() -> LocalInstallation:
    """The PostgreSQL of this machine."""
    account = choose()
    try:
        return Finder(LocalRunner(account), SystemClock(), account, os.environ).find()
    except PgassayError as missing:
        pytest.skip(f"PostgreSQL: {missing.message}")


def count(server: Server) -> object:
    return server.query("SELECT count(*) FROM t")[0][0]


def test_every_trial_starts_from_the_same_data(place: Path, installation: LocalInstallation) -> None:
    drive = DirectoryDrive(place, installation.account, mount_of, allow_volatile=True, keep_snapshots=False)
    sockets = place / "sockets"
    workspace = drive.workspace("prepare")
    installation.initialize(workspace, {})
    server = installation.start(workspace, {}, sockets)
    server.execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS i")
    server.stop()
    drive.take_snapshot("k", workspace)
    for number in (1, 2):
        clone = drive.clone("k", f"trial-{number}")
        server = installation.start(clone, {}, sockets)
        try:
            assert count(server) == 1000
            server.execute("DELETE FROM t")
            assert count(server) == 0
            level = FACTORS["drive.data"].parse("drive.data", f"directory:{place}")
            assert FACTORS["drive.data"].read_back("drive.data", level, Readable(server)) == level.canonical
            with pytest.raises(PgassayError, match="runs in"):
                drive.discard(clone)
        finally:
            server.stop()
        drive.discard(clone)
    drive.release()
    assert [path.name for path in place.iterdir() if path != sockets] == []
