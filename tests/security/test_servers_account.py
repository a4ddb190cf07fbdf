"""The servers' account is hostile: root follows nothing that it plants in a data directory.

`COPY … TO PROGRAM` starts a program of that account, which may outlive its server and wait for the next clone. Here
such a program is a child of the test under that account, which plants as fast as it can.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from pgassay import copying
from pgassay.drive.attacher import DriveSet
from pgassay.drive.directory import DirectoryDrive
from pgassay.errors import PgassayError
from pgassay.files import UntrustedError
from pgassay.host.storage import mount_of
from pgassay.interfaces.errors import BenchError, ClusterError
from pgassay.postgres import ownership, settings
from pgassay.testing import real
from tests.security.attackers import again_and_again, as_account, as_root, servers_account

pytestmark = [pytest.mark.system, as_root]

WRITTEN = (settings.FILE, "postgresql.conf", ownership.MARKER_FILE, ownership.OWNER_FILE, "postmaster.pid")


@pytest.fixture
def data(folder: Path) -> Path:
    real.installation().initialize(folder / "data", {})
    return folder / "data"


def test_links_in_place_of_what_root_writes_are_replaced(data: Path, folder: Path, precious: Path) -> None:
    found = real.installation()
    marker = ownership.require_mark(data)

    def plant() -> None:
        for name in (settings.FILE, ownership.OWNER_FILE):
            (data / name).unlink(missing_ok=True)
            (data / name).symlink_to(precious / "postgresql.conf")

    as_account(servers_account(), plant)
    server = found.start(data, {"fsync": "off", "work_mem": "5MB"}, folder / "socket")
    try:
        assert server.query("SHOW work_mem") == [("5MB",)], "what was asked is in force"
        as_account(servers_account(), plant)
    finally:
        server.stop()
    assert ownership.require_mark(data) == marker


def test_planting_while_root_works_gains_nothing(data: Path, folder: Path, precious: Path) -> None:
    """Links and directories come and go at the names that root reads, writes and gives away."""
    found = real.installation()

    def step() -> None:
        for name in WRITTEN:
            with suppress(OSError):
                (data / name).rename(data / f"{name}.away")
            with suppress(OSError):
                (data / name).symlink_to(precious / "server.key")
            with suppress(OSError):
                (data / name).unlink()
            with suppress(OSError):
                (data / f"{name}.away").rename(data / name)

    end = time.monotonic() + 3
    rounds = 0
    with again_and_again(servers_account(), step):
        while time.monotonic() < end:
            rounds += 1
            with suppress(PgassayError, OSError):
                ownership.claim(data)
            with suppress(PgassayError, OSError):
                ownership.mark(data, 1, "15", found.account)
            with suppress(PgassayError, OSError):
                found._write_settings(data, {})
            with suppress(PgassayError, OSError):
                ownership.release(data)
    assert rounds > 10


def test_a_second_name_of_roots_file_is_not_given_away(data: Path, precious: Path) -> None:
    """Where the kernel lets accounts make them (fs.protected_hardlinks = 0); here root does it for the attacker."""
    for name in (settings.FILE, ownership.MARKER_FILE, ownership.OWNER_FILE):
        (data / name).unlink(missing_ok=True)
        (data / name).hardlink_to(precious / "server.key")
    found = real.installation()
    ownership.mark(data, 1, "15", found.account)
    found._write_settings(data, {})
    ownership.claim(data)
    ownership.release(data)


def test_pipes_in_place_of_files_keep_nobody_waiting(data: Path) -> None:
    for name in (ownership.MARKER_FILE, ownership.OWNER_FILE, "PG_VERSION", "postmaster.pid"):
        (data / name).unlink(missing_ok=True)
        os.mkfifo(data / name)
    with pytest.raises(ClusterError, match="not made by pgassay"):
        ownership.require_mark(data)
    assert not ownership.abandoned(data)
    ownership.mark(data, 1, real.installation().version.text, real.installation().account)
    with pytest.raises(UntrustedError, match="PG_VERSION"):
        real.installation().start(data, {}, data.parent / "socket")


def test_a_servers_log_and_socket_lie_where_the_account_can_exchange_nothing(
    data: Path, folder: Path, precious: Path
) -> None:
    """The private directory was the account's: it could put a link to a file of root's in the place of the log."""
    with ownership.private_directory(servers_account()) as sockets:
        server = real.installation().start(data, {"fsync": "off"}, sockets)
        account = servers_account()
        attacks: list[Callable[[], object]] = [
            lambda: sockets.rename(sockets.with_name("pgassay-away")),
            lambda: (sockets / "new").touch(),
            lambda: (sockets / f"server-{server.endpoint.port}.log").unlink(),
            lambda: server.endpoint.socket_directory.rename(sockets / "away"),
        ]
        for attack in attacks:
            with pytest.raises(AssertionError):
                as_account(account, attack)
        server.stop()
    assert not sockets.exists()


def drive_of(folder: Path, name: str = "drives") -> DirectoryDrive:
    place = Path("/var/tmp") / f"{folder.name}-{name}"
    place.mkdir(mode=0o755)
    return DirectoryDrive(place, servers_account(), mount_of, allow_volatile=True, keep_snapshots=False)


@pytest.fixture
def drive(folder: Path) -> Iterator[DirectoryDrive]:
    made = drive_of(folder)
    yield made
    made.release()
    shutil.rmtree(made.mount().path.parent, ignore_errors=True)


def fill(place: Path, count: int = 20) -> None:
    """As the account: directories with files, as a server makes them."""
    for number in range(count):
        (place / "base" / str(number)).mkdir(parents=True)
        for name in range(20):
            (place / "base" / str(number) / str(name)).write_text("ours")


def test_a_clone_follows_no_link_that_comes_while_it_is_made(drive: DirectoryDrive, precious: Path) -> None:
    """A program that outlived its server still has a directory of the snapshot open, and exchanges what is in it."""
    account = servers_account()
    workspace = drive.workspace("prepare")
    as_account(account, lambda: fill(workspace))
    held = os.open(workspace / "base", os.O_RDONLY)
    drive.take_snapshot("k", workspace)

    def step() -> None:
        for number in range(20):
            os.rename(str(number), "away", src_dir_fd=held, dst_dir_fd=held)
            os.symlink(precious, str(number), dir_fd=held)
            os.unlink(str(number), dir_fd=held)
            os.rename("away", str(number), src_dir_fd=held, dst_dir_fd=held)

    secrets = {path.read_bytes() for path in precious.rglob("*") if path.is_file()}
    try:
        with again_and_again(account, step):
            for attempt in range(20):
                with suppress(PgassayError):
                    clone = drive.clone("k", f"trial-{attempt}")
                    taken = {path.read_bytes() for path in clone.rglob("*") if path.is_file() and not path.is_symlink()}
                    assert taken.isdisjoint(secrets)
                    drive.discard(clone)
    finally:
        os.close(held)


def test_a_clone_is_closed_until_it_is_whole(
    drive: DirectoryDrive, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directories were the account's before their files were made: a link in their place led root elsewhere."""
    account = servers_account()
    workspace = drive.workspace("prepare")
    as_account(account, lambda: fill(workspace, 3))
    drive.take_snapshot("k", workspace)
    contents, tried = copying._copy_contents, []

    def attacked(reading: int, writing: int, size: int) -> None:
        clone = workspace.with_name("trial")
        with pytest.raises(AssertionError):
            as_account(account, lambda: (clone / "base" / "link").symlink_to(precious))
        tried.append(clone)
        contents(reading, writing, size)

    monkeypatch.setattr(copying, "_copy_contents", attacked)
    monkeypatch.setattr(copying, "THREADS", 1)
    clone = drive.clone("k", "trial")
    assert len(tried) == 60
    assert clone.stat().st_uid == account.uid
    assert (clone / "base" / "1" / "1").stat().st_uid == account.uid


@pytest.mark.parametrize("hard", [False, True])
def test_a_snapshot_with_a_planted_name_is_not_cloned(drive: DirectoryDrive, precious: Path, hard: bool) -> None:
    account = servers_account()
    workspace = drive.workspace("prepare")
    as_account(account, lambda: fill(workspace, 1))
    planted = workspace / "base" / "0" / "planted"
    if hard:
        shutil.copytree(precious, workspace.parent / "other")  # hard links stay on one file system
        planted.hardlink_to(workspace.parent / "other" / "server.key")
    else:
        planted.symlink_to(precious / "server.key")
    drive.take_snapshot("k", workspace)
    with pytest.raises(UntrustedError, match="planted"):
        drive.clone("k", "trial")
    assert not workspace.with_name("trial").exists()


def test_what_is_removed_is_no_place_of_others(drive: DirectoryDrive, precious: Path) -> None:
    account = servers_account()
    for attempt in range(5):
        workspace = drive.workspace(f"work-{attempt}")
        as_account(account, partial(fill, workspace, 10))

        def step(base: Path = workspace / "base") -> None:
            for number in range(10):
                (base / str(number)).rename(base / "away")
                (base / str(number)).symlink_to(precious)
                (base / str(number)).unlink()
                (base / "away").rename(base / str(number))

        with again_and_again(account, step), suppress(PgassayError, OSError):
            drive.discard(workspace)
        drive.discard(workspace)
        assert not workspace.exists()


def test_wal_is_laid_out_without_its_links(folder: Path, precious: Path) -> None:
    account = servers_account()
    data, wal = drive_of(folder, "data"), drive_of(folder, "wal")
    both = DriveSet(data, wal, account)
    try:
        directory = both.workspace("prepare")
        as_account(account, lambda: (directory / "pg_wal").mkdir())
        (directory / "pg_wal" / "000000010000000000000001").symlink_to(precious / "server.key")
        (directory / "PGASSAY_DRIVE_SET").symlink_to(precious / "server.key")
        with pytest.raises(UntrustedError, match="000000010000000000000001"):
            both.lay_out(directory)
        (directory / "pg_wal" / "000000010000000000000001").unlink()
        both.lay_out(directory)
        assert not (directory / "PGASSAY_DRIVE_SET").is_symlink()
        assert (directory / "pg_wal").is_symlink()
    finally:
        both.release()
        for name in ("data", "wal"):
            shutil.rmtree(Path("/var/tmp") / f"{folder.name}-{name}", ignore_errors=True)


def test_a_place_that_the_account_can_write_is_refused_by_name(folder: Path) -> None:
    account = servers_account()
    for owner, mode in (((account.uid, account.gid), 0o755), ((0, account.gid), 0o775), ((0, 0), 0o777)):
        place = folder / f"place-{mode:o}"
        place.mkdir()
        os.chown(place, *owner)
        place.chmod(mode)
        with pytest.raises(BenchError, match=f'may write to "{place}", and could exchange there'):
            DirectoryDrive(place, account, mount_of, allow_volatile=True)
        assert list(place.iterdir()) == []
