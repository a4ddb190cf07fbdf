"""The deadlock of a drive and its users in one limited memory group (cgroup v1): out of it, refused, or cut off.

Nothing here runs a drive inside a group with a limit: that hangs the machine. What is provoked by hand (with
PGASSAY_PROVOKE_STALL=1, never by `make test`) is its other half, users whose reclaim waits for a drive that does not
answer: the watchdog must end it. Should that fail, `echo 1 > /sys/fs/fuse/connections/N/abort` does.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.drive.block import real
from tests.drive.test_daemon import CAPACITY_BYTES, PATIENCE_S, PROGRAM, WATCHDOG_S, looped, run, serving

MEMORY = Path("/sys/fs/cgroup/memory")
LIMIT_BYTES = 64 << 20
NOBODY = 65534
WRITTEN_MIB = 160
"""More than the group may hold, less than the drive."""
STALLED_S = 30.0
"""Within that the watchdog (`WATCHDOG_S`) must have cut the connection."""

provoking = pytest.mark.skipif(
    os.environ.get("PGASSAY_PROVOKE_STALL") != "1", reason="could hang a machine whose kernel or watchdog fails"
)
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="an emulated drive needs root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it"),
    pytest.mark.skipif(not os.access(MEMORY / "cgroup.procs", os.W_OK), reason="no memory groups of version 1 here"),
]


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory group with a limit; processes left in it go back to the root."""
    path = MEMORY / f"pgassay-test-{os.getpid()}"
    path.mkdir()
    (path / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
    yield path
    for pid in (path / "cgroup.procs").read_text().split():
        with suppress(OSError):
            (MEMORY / "cgroup.procs").write_text(pid)
    path.rmdir()


def memory_group(pid: int) -> str:
    """Below the root, by the kernel."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return next(path for _, controllers, path in (line.split(":", 2) for line in lines) if controllers == "memory")


def inside(group: Path, *words: str | Path) -> list[str]:
    """A command in a group: its shell goes there first."""
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *map(str, words)]


def test_a_drive_started_in_a_limited_group_leaves_it_with_its_watchdog(tmp_path: Path, group: Path) -> None:
    with serving(tmp_path, before=inside(group)) as daemon:
        assert memory_group(daemon.process.pid) == "/"
        assert memory_group(daemon.ask("stats")["watchdog_process_id"]) == "/"
        assert (group / "cgroup.procs").read_text() == ""


def test_a_drive_that_cannot_leave_is_refused_before_it_is_mounted(group: Path) -> None:
    """Another account's. A mount namespace in which groups are read-only would hold the mounts of all other tests."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    with real.place() as place:
        program, file = place / PROGRAM.name, place / "daemon.json"
        shutil.copy(PROGRAM, program)  # the checkout may be closed to others
        file.write_text(json.dumps({"name": "x", "directory": str(place), "capacity_bytes": CAPACITY_BYTES}))
        file.chmod(0o600)
        os.chown(file, NOBODY, NOBODY)
        as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program)
        shut_in = inside(group, *as_nobody, "serve", "--config", file)
        done = subprocess.run(shut_in, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode != 0
        assert f"{group} is limited to {LIMIT_BYTES} bytes" in done.stderr
        assert "hint:" in done.stderr
        assert not (place / "fuse").exists()


@provoking
def test_users_at_their_limit_write_to_a_drive_outside(tmp_path: Path, group: Path) -> None:
    with serving(tmp_path) as daemon, looped(daemon) as device:
        run("mkfs.ext4", "-q", device)
        point = tmp_path / "mnt"
        point.mkdir()
        run("mount", device, point)
        try:
            run(*inside(group, "dd", "if=/dev/zero", f"of={point}/file", "bs=1M", f"count={WRITTEN_MIB}"))
            run("sync", "--file-system", point)
        finally:
            run("umount", point)
        run("e2fsck", "-fn", device)


@provoking
@pytest.mark.timeout(180)
def test_users_that_wait_for_a_drive_that_stands_still_are_set_free(tmp_path: Path, group: Path) -> None:
    with serving(tmp_path, watchdog_s=WATCHDOG_S) as daemon, looped(daemon) as device:
        run("mkfs.ext4", "-q", device)
        point = tmp_path / "mnt"
        point.mkdir()
        run("mount", device, point)
        command = inside(group, "dd", "if=/dev/urandom", f"of={point}/file", "bs=1M", f"count={WRITTEN_MIB}")
        connection = os.minor((daemon.directory / "fuse").stat().st_dev)
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            writer = subprocess.Popen(command, stderr=nowhere)
        try:
            time.sleep(0.2)
            daemon.process.send_signal(signal.SIGSTOP)
            started = time.monotonic()
            writer.wait(STALLED_S)  # waiting for memory, which waits for write-back, which waits for the drive
            subprocess.run(["sync", "--file-system", point], timeout=STALLED_S, capture_output=True, check=False)
            assert time.monotonic() - started < STALLED_S
        finally:
            abort(connection)
            writer.kill()
            writer.wait(STALLED_S)
            subprocess.run(["umount", point], timeout=STALLED_S, capture_output=True, check=False)
            daemon.process.send_signal(signal.SIGCONT)
        assert str(point) not in Path("/proc/self/mounts").read_text()


def abort(connection: int) -> None:
    """The last resort, from outside: harmless where the watchdog has done it."""
    with suppress(OSError):
        Path(f"/sys/fs/fuse/connections/{connection}/abort").write_text("1")
