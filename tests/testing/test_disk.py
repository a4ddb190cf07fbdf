"""The fake disk forgets what a real one may forget, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from pgassay.record.disk import RealDisk
from tests.fakes.disk import Crashed, FakeDisk, Fault, Survival
from tests.record.runs import ROOT, fake_disk


def test_what_was_not_fsynced_is_lost() -> None:
    disk = fake_disk()
    disk.tool_writes(ROOT / "a", b"data")
    disk.reboot(Survival.LOST)
    assert disk.list(ROOT) == ()


def test_a_file_needs_its_name_fsynced_too() -> None:
    disk = fake_disk()
    disk.write_file(ROOT / "a", b"data")
    disk.reboot(Survival.LOST)
    assert disk.list(ROOT) == ()
    disk.write_file(ROOT / "a", b"data")
    disk.sync_directory(ROOT)
    disk.reboot(Survival.LOST)
    assert disk.read(ROOT / "a") == b"data"


def test_a_name_may_be_kept_without_its_data() -> None:
    disk = fake_disk()
    disk.tool_writes(ROOT / "a", b"data")
    disk.sync_directory(ROOT)
    disk.reboot(Survival.LOST)
    assert disk.read(ROOT / "a") == b""


def test_a_renamed_directory_is_where_it_was_or_where_it_goes() -> None:
    seen = set()
    for seed in range(20):
        disk = fake_disk()
        disk.mkdir(ROOT / "new")
        disk.sync_directory(ROOT)
        disk.faults = {len(disk.steps) + 2: Fault.CRASH}  # after the rename, before the fsync of its directory
        with pytest.raises(Crashed):
            disk.rename(ROOT / "new", ROOT / "run")
        disk.reboot(Survival.TORN, seed)
        seen.add(disk.list(ROOT))
    assert seen == {("new",), ("run",)}


def test_a_torn_append_keeps_what_was_there() -> None:
    seen = set()
    for seed in range(200):
        disk = fake_disk()
        disk.write_file(ROOT / "a", b"old\n")
        disk.sync_directory(ROOT)
        disk.faults = {len(disk.steps) + 2: Fault.CRASH}
        with pytest.raises(Crashed):
            disk.append(ROOT / "a", b"new\n")
        disk.reboot(Survival.TORN, seed)
        seen.add(disk.read(ROOT / "a"))
    assert {b"old\n", b"old\nn", b"old\nne", b"old\nnew", b"old\nnew\n", b"old\n\0\0\0\0"} <= seen
    assert all(contents.startswith(b"old\n") for contents in seen)


def test_a_killed_process_loses_nothing_that_it_wrote() -> None:
    disk = fake_disk()
    disk.tool_writes(ROOT / "a", b"data")
    disk.reboot(Survival.KILLED)
    assert disk.read(ROOT / "a") == b"data"


def test_nothing_works_after_a_crash_until_the_reboot() -> None:
    disk = fake_disk()
    disk.faults = {1: Fault.CRASH}
    with pytest.raises(Crashed):
        disk.mkdir(ROOT / "a")
    with pytest.raises(Crashed):
        disk.list(ROOT)
    disk.reboot(Survival.KILLED)
    assert disk.list(ROOT) == ()


def test_a_full_disk_takes_a_part() -> None:
    disk = fake_disk()
    disk.write_file(ROOT / "a", b"old\n")
    disk.faults = {len(disk.steps) + 1: Fault.FULL}
    with pytest.raises(OSError, match="No space left"):
        disk.append(ROOT / "a", b"new\n")
    assert disk.read(ROOT / "a") == b"old\nne"


def test_a_failed_fsync_cannot_be_made_good() -> None:
    disk = fake_disk()
    disk.write_file(ROOT / "a", b"old")
    disk.sync_directory(ROOT)
    disk.faults = {len(disk.steps) + 2: Fault.BROKEN}
    with pytest.raises(OSError, match="Input/output error"):
        disk.append(ROOT / "a", b"new")
    disk.sync_tree(ROOT)
    disk.reboot(Survival.LOST)
    assert disk.read(ROOT / "a") == b"old"


def test_a_stale_lock_tells_who_had_it() -> None:
    disk = fake_disk()
    disk.lock(ROOT / "lock", "process 1")
    disk.reboot(Survival.KILLED)
    assert disk.lock(ROOT / "lock", "process 2").former == "process 1"


def test_a_real_lock_ends_with_its_process(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom pgassay.record.disk import RealDisk\n"
        "lock = RealDisk().lock(Path(sys.argv[1]), 'process 1')\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "lock")], check=False)
    assert killed.returncode == -9
    lock = RealDisk().lock(tmp_path / "lock", "process 2")
    assert lock.former == "process 1"
    lock.release()


def test_every_step_is_named() -> None:
    disk = FakeDisk()
    disk.make_root(ROOT)
    disk.write_file(ROOT / "a", b"x")
    assert disk.steps == ["create /runs/a", "write /runs/a", "fsync /runs/a"]
