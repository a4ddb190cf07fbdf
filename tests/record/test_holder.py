"""Who writes a run is found without a look that could refuse a runner."""

import os
import socket
from pathlib import Path

import pytest

from pgassay.record.directory import LOCK_FILE, RunDirectory, holder
from pgassay.testing.planted import make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", finished=False).path


def listed(run: Path, pid: int, *, kind: str = "FLOCK  ADVISORY  WRITE", inode: int | None = None) -> str:
    number = (run / LOCK_FILE).stat().st_ino if inode is None else inode
    return f"1: POSIX  ADVISORY  WRITE 1 08:01:5 0 EOF\n2: {kind} {pid} 08:01:{number} 0 EOF\n"


def test_a_runner_that_writes_is_found(run: Path) -> None:
    if not Path("/proc/locks").exists():
        pytest.skip("no /proc/locks here")
    assert holder(run) is None
    with RunDirectory.open(run):
        assert holder(run) == os.getpid()
    assert holder(run) is None


def test_name_and_lock_must_agree(run: Path, tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    for pid in (77, 78):
        (tmp_path / str(pid)).mkdir()
    here = socket.gethostname()
    for owner, text, found in (
        (f"process 77 on {here}\n", listed(run, 77), 77),
        (f"process 77 on {here}\n", listed(run, 78), None),
        (f"process 77 on {here}\n", listed(run, 77, inode=1), None),
        (f"process 77 on {here}\n", listed(run, 77, kind="POSIX  ADVISORY  WRITE"), None),
        (f"process 77 on {here}\n", listed(run, 77, kind="-> FLOCK  ADVISORY  WRITE"), None),
        ("process 77 on elsewhere\n", listed(run, 77), None),
        ("", listed(run, 77), None),
        ("process x on y\n", listed(run, 77), None),
    ):
        (run / LOCK_FILE).write_text(owner)
        locks.write_text(text)
        assert holder(run, tmp_path) == found, (owner, text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_strangers_lock_names_no_process_of_ours(run: Path, tmp_path: Path) -> None:
    """Whoever ends a run in a browser sends that process a signal."""
    lock, process = run / LOCK_FILE, tmp_path / "77"
    process.mkdir()
    lock.write_text(f"process 77 on {socket.gethostname()}\n")
    (tmp_path / "locks").write_text(listed(run, 77))
    assert holder(run, tmp_path) == 77
    os.chown(lock, 65534, 65534)
    assert holder(run, tmp_path) is None
    os.chown(process, 65534, 65534)
    assert holder(run, tmp_path) == 77


def test_no_lock_file_and_no_list_of_locks_tell_of_nobody(run: Path, tmp_path: Path) -> None:
    assert holder(run, tmp_path / "none") is None
    (run / LOCK_FILE).unlink()
    assert holder(run) is None
