"""A real PostgreSQL and everything that goes wrong with it: the words are the server's, and nothing is left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from pgassay.host.runner import LocalRunner
from pgassay.interfaces.errors import ClusterError, QueryError
from pgassay.interfaces.places import Account
from pgassay.postgres import ownership, processes
from pgassay.postgres.installation import LocalInstallation
from pgassay.testing import real

pytestmark = pytest.mark.system

SETTINGS = {"shared_buffers": "16MB", "fsync": "off"}
PATIENCE_S = 300.0
"""With what always happens, but late on a busy machine."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")


@pytest.fixture(scope="module")
def installation() -> LocalInstallation:
    return real.installation()


@pytest.fixture(scope="module")
def folder(installation: LocalInstallation) -> Iterator[Path]:
    """A private folder with one cluster, `data`."""
    with real.private_folder() as made:
        installation.initialize(made / "data", {})
        yield made


def _gone(directory: Path) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not processes.serving(directory):
            return True
        time.sleep(0.02)
    return False


def _tcp_sockets(pid: int) -> list[str]:
    """What a process has open of TCP (proc(5), net/tcp): a port may be somebody else's, or answer itself."""
    tables = [path for name in ("tcp", "tcp6") if (path := Path("/proc/net") / name).exists()]
    known = {f"socket:[{line.split()[9]}]" for path in tables for line in path.read_text().splitlines()[1:]}
    held = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed while we looked
            held.append(str(each.readlink()))
    return sorted(known & set(held))


def test_the_server_is_private(installation: LocalInstallation, folder: Path) -> None:
    server = installation.start(folder / "data", {**SETTINGS, "cluster_name": "it's \\ mine"}, folder / "socket")
    try:
        assert (folder / "socket").stat().st_mode & 0o067 == 0
        assert server.endpoint.socket_directory.stat().st_mode & 0o777 == 0o700
        assert server.query("SHOW listen_addresses") == [("",)]
        assert server.query("SHOW cluster_name") == [("it's \\ mine",)]
        assert server.query("SELECT count(*) FROM pg_authid WHERE rolpassword IS NOT NULL") == [(0,)]
        assert server.query("SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()") == [
            ("pgassay",)
        ]
        assert _tcp_sockets(server.postmaster_pid) == []
        with pytest.raises(ClusterError, match="already served by process"):
            installation.start(folder / "data", SETTINGS, folder / "other")
    finally:
        server.stop()
    assert processes.serving(folder / "data") == []
    assert not (folder / "data" / ownership.OWNER_FILE).exists()


def _score(pid: int) -> str:
    """What the kernel adds to a process's badness (proc(5), oom_score_adj); empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def test_the_kernel_ends_what_we_started_first(installation: LocalInstallation, folder: Path) -> None:
    server = installation.start(folder / "data", SETTINGS, folder / "socket")
    try:
        ((backend,),) = server.query("SELECT pg_backend_pid()")
        assert _score(backend) == "1000"
        deadline = time.monotonic() + PATIENCE_S
        while True:  # one that has just been started has not asked yet
            others = [each for each in processes.serving(folder / "data") if each != server.postmaster_pid]
            if {_score(each) for each in others} - {""} == {"1000"}:
                break
            assert time.monotonic() < deadline
        assert int(_score(os.getpid())) < 1000, "the lab itself does not"
    finally:
        server.stop()


def test_a_shells_libpq_variables_do_not_leak(
    installation: LocalInstallation, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=77MB")
    monkeypatch.setenv("PGHOST", "production.example")
    server = installation.start(folder / "data", SETTINGS, folder / "socket")
    try:
        assert server.query("SHOW work_mem") == [("4MB",)]
    finally:
        server.stop()


def test_a_killed_postmaster_takes_a_busy_backend_with_it(installation: LocalInstallation, folder: Path) -> None:
    server = installation.start(folder / "data", SETTINGS, folder / "socket")
    try:
        connection = psycopg.connect(server.endpoint.conninfo())
        connection.pgconn.send_query(b"DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$")
        backend = connection.info.backend_pid
        deadline = time.monotonic() + PATIENCE_S
        while not server.query("SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active'", [backend]):
            connection.pgconn.flush()
            assert time.monotonic() < deadline
        os.kill(server.postmaster_pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while server.alive():
            assert time.monotonic() < deadline
        assert backend in processes.serving(folder / "data"), "it is too busy to notice"
        connection.close()
    finally:
        server.stop()
    assert processes.serving(folder / "data") == []
    with pytest.raises(QueryError):
        server.query("SELECT 1")


def test_what_the_server_refuses_at_its_start_is_in_its_own_words(
    installation: LocalInstallation, folder: Path
) -> None:
    for settings, words in (
        ({"shared_buffers": "640TB"}, "shared_buffers"),
        ({"max_wal_senders": "0", "wal_level": "minimal", "archive_mode": "on"}, "archiv"),
        ({"work_mem": "1"}, "64"),
        ({"shared_preload_libraries": "no_such_library"}, "no_such_library"),
    ):
        with pytest.raises(ClusterError, match=words):
            installation.start(folder / "data", settings, folder / "socket")
        assert processes.serving(folder / "data") == []
    installation.start(folder / "data", SETTINGS, folder / "socket").stop()


def test_an_extensions_settings_hold_once_it_is_loaded(installation: LocalInstallation, folder: Path) -> None:
    settings = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.max": "1234"}
    installation.check_settings(settings)
    try:
        server = installation.start(folder / "data", {**SETTINGS, **settings}, folder / "socket")
    except ClusterError as error:
        if "could not access file" not in error.message:
            raise
        pytest.skip("this PostgreSQL has no contrib modules")
    try:
        assert server.query("SELECT setting FROM pg_settings WHERE name = 'pg_stat_statements.max'") == [("1234",)]
    finally:
        server.stop()


def test_a_cluster_of_another_version_is_not_started(installation: LocalInstallation, folder: Path) -> None:
    version = folder / "data" / "PG_VERSION"
    text = version.read_text()
    version.write_text("10\n")
    try:
        with pytest.raises(ClusterError, match="made by PostgreSQL 10"):
            installation.start(folder / "data", SETTINGS, folder / "socket")
    finally:
        version.write_text(text)


@as_root
def test_initdb_as_root_says_why_and_leaves_no_cluster(installation: LocalInstallation, folder: Path) -> None:
    root = Account(None, 0, 0)
    stubborn = replace(installation, runner=LocalRunner(root), account=root)
    with pytest.raises(ClusterError, match="cannot be run as root"):
        stubborn.initialize(folder / "as_root", {})
    assert not any((folder / "as_root").iterdir())


@as_root
def test_no_space_is_named(installation: LocalInstallation, folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(small)], check=True)
    try:
        os.chown(small, installation.account.uid, installation.account.gid)
        with pytest.raises(ClusterError, match="No space left on device"):
            installation.initialize(small / "data", {})
    finally:
        subprocess.run(["umount", str(small)], check=True)


PARENT = """
import sys, time
from pathlib import Path
from pgassay.testing import real
folder = Path(sys.argv[1])
real.installation().start(folder / "data", {"shared_buffers": "16MB", "fsync": "off"}, folder / "socket")
print("started", flush=True)
time.sleep(3600)
"""


def test_the_server_dies_with_a_lab_that_is_killed(installation: LocalInstallation, folder: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        assert processes.serving(folder / "data")
        parent.kill()
    assert _gone(folder / "data")
    assert ownership.abandoned(folder / "data")
    assert ownership.leftovers(folder) == [], "abandoned, but nothing runs"
    installation.start(folder / "data", SETTINGS, folder / "socket").stop()
    assert not ownership.abandoned(folder / "data")


def test_a_server_that_outlived_its_lab_is_found_and_ended(installation: LocalInstallation, folder: Path) -> None:
    data = folder / "data"
    said = f'{{"pid": {os.getpid()}, "started_ticks": 1, "boot": ""}}\n'
    log = folder / "orphan.log"
    orphan = LocalRunner(installation.account).start(
        [str(installation.bindir / "postgres"), "-D", str(data), "-c", "listen_addresses=", "-k", str(folder)],
        stdout=log,
        stderr=log,
        death_signal=0,
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while processes.postmaster(data) is None or len(processes.serving(data)) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert ownership.leftovers(folder) == [], "nobody says that its owner is gone"
        (data / ownership.OWNER_FILE).write_text(said)
        (found,) = ownership.leftovers(folder.parent / folder.name)
        assert found == data
        ownership.end_leftover(found)
        assert processes.serving(data) == []
        assert ownership.leftovers(folder) == []
    finally:
        orphan.terminate()


def test_repair_never_ends_what_is_not_ours(installation: LocalInstallation, folder: Path) -> None:
    foreign = folder / "no_marker"
    foreign.mkdir()
    with pytest.raises(ClusterError, match="not made by pgassay"):
        ownership.end_leftover(foreign)


def test_what_a_loss_of_power_left_starts_though_our_marker_is_gone(
    installation: LocalInstallation, folder: Path
) -> None:
    left, account = folder / "left", installation.account
    shutil.copytree(folder / "data", left)
    for each in (left, *left.rglob("*")):
        os.chown(each, account.uid, account.gid)
    (left / ownership.MARKER_FILE).write_bytes(b"")
    server = installation.start(left, SETTINGS, folder / "socket", crashed=folder / "data")
    try:
        assert server.query("SELECT 1") == [(1,)]
    finally:
        server.stop(immediately=True)
    (left / "PG_VERSION").unlink()
    with pytest.raises(ClusterError, match="PG_VERSION is missing"):
        installation.start(left, SETTINGS, folder / "socket", crashed=folder / "data")
