"""A data directory with links and hard links, copied by root: they become files of the copy, or it is refused."""

from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from pgassay.capture.physical import BACKUP, FilesRequest, fetch
from pgassay.errors import PgassayError
from pgassay.files import UntrustedError
from pgassay.interfaces.errors import BenchError
from pgassay.postgres import copied
from pgassay.postgres.installation import COPY_OF
from pgassay.testing import real
from tests.security.attackers import as_root, fingerprint

pytestmark = [pytest.mark.system, as_root]

LINKED = ("postgresql.conf", "pg_hba.conf", "pg_ident.conf", "postgresql.auto.conf", "server.key", "server.crt", "log")


@pytest.fixture
def source(folder: Path) -> Path:
    """A stopped server's data directory."""
    made = real.installation()
    made.initialize(folder / "source", {})
    server = made.start(folder / "source", {"fsync": "off"}, folder / "socket")
    server.execute("CREATE TABLE kept AS SELECT 1 AS one")
    server.stop()
    return folder / "source"


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_linked_configuration_keys_and_logs_are_left_where_they_are(source: Path, folder: Path, precious: Path) -> None:
    """Administrators do that, and an attacker may: the targets were emptied, closed and given away."""
    for name in LINKED:
        link(source / name, precious / ("inner" if name == "log" else "postgresql.conf"))
    before = fingerprint(source)
    found = real.installation()
    found.initialize(folder / "copy", {COPY_OF: str(source)})
    assert fingerprint(source) == before
    assert not [path for path in (folder / "copy").rglob("*") if path.is_symlink()]
    server = found.start(folder / "copy", {"fsync": "off"}, folder / "socket")
    try:
        assert server.query("SELECT one FROM kept") == [(1,)]
    finally:
        server.stop()


def replaced_by_a_link(path: Path, precious: Path) -> None:
    link(path, precious / "server.key")


def folder_replaced_by_a_link(path: Path, precious: Path) -> None:
    rmtree(path)
    path.symlink_to(precious / "inner")


def a_second_name(path: Path, precious: Path) -> None:
    path.hardlink_to(precious / "inner" / "1259")


@pytest.mark.parametrize(
    ("name", "plant"),
    [
        ("pg_xact/0000", replaced_by_a_link),
        ("base/1/1259", replaced_by_a_link),
        ("pg_logical", folder_replaced_by_a_link),
        ("global/pg_control", replaced_by_a_link),
        ("global", folder_replaced_by_a_link),
        ("base/1/1260000", a_second_name),
    ],
)
def test_every_other_link_is_refused_before_anything_is_written(
    source: Path, folder: Path, precious: Path, name: str, plant: Callable[[Path, Path], None]
) -> None:
    plant(source / name, precious)
    with pytest.raises(UntrustedError, match=name):
        real.installation().initialize(folder / "copy", {COPY_OF: str(source)})
    assert list((folder / "copy").iterdir()) == []


def test_wal_and_tablespaces_of_the_same_owner_come_along_and_no_others(
    source: Path, folder: Path, precious: Path
) -> None:
    """The owner of a data directory could link what only root can read, and have root copy it."""
    found = real.installation()
    (source / "pg_wal").rename(folder / "wal")
    (source / "pg_wal").symlink_to(folder / "wal")
    capture = folder / "capture"
    capture.mkdir()
    fetch(FilesRequest(BACKUP, source), capture, found, {}, "", ())
    assert not (capture / "cluster" / "pg_wal").is_symlink()
    assert {path.name for path in (capture / "cluster" / "pg_wal").iterdir()} == {
        path.name for path in (folder / "wal").iterdir()
    }
    link(source / "pg_tblspc" / "16384", precious)
    second = folder / "second"
    second.mkdir()
    with pytest.raises(BenchError, match=r"16384.* belongs to user 0, while the data directory belongs to user"):
        fetch(FilesRequest(BACKUP, source), second, found, {}, "", ())
    assert list(second.iterdir()) == []


def test_examining_says_the_same_as_copying(source: Path, precious: Path) -> None:
    made = real.installation()
    copied.examine(made, source)
    (source / "base" / "1" / "9999999").symlink_to(precious / "server.key")
    with pytest.raises(PgassayError, match="9999999"):
        copied.examine(made, source)
