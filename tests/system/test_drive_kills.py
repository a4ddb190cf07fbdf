"""SIGKILL of lab, server and daemon while a study runs on an emulated drive: nothing is left, once it was repaired.

The moments are drawn from a seed that the failure names.
"""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from pgassay.drive.block import daemon
from pgassay.drive.block.kernel import LinuxKernel, detach_loop
from pgassay.drive.sessions import undo_block_drives
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from tests.drive.block import real
from tests.drive.block.killing import left_behind, processes
from tests.system.journeys import ANYWHERE, Place, committed, finished, load_runs, wait_until

pytestmark = pytest.mark.system

LEVELS = ("--set", "drive.data=csd", "--set", "drive.data.capacity=2GB", "--set", "drive.data.store_bytes=512MB",
          "--set", "drive.wal=image", "--set", "drive.wal.capacity=512MB")  # fmt: skip
SPAN_S = 4.0
"""After the first mount: preparation, clones and trials fall into it."""
PATIENCE_S = 600.0


def kill(journey: Place, target: str, wait_s: float) -> list[str]:
    """One run that loses `target` (`lab`, `postgres` or `pgassay-drive`); what is there then, after a repair."""
    lab = journey.run(f"{target}-{time.monotonic_ns()}", *LEVELS)
    wait_until(lambda: bool(processes(journey.data, "pgassay-drive")), lab)
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and lab.poll() is None:
        time.sleep(0.01)
    pids = [lab.pid] if target == "lab" else processes(journey.data, target)
    for pid in pids[:1]:
        _end(pid)
    if target != "lab":
        time.sleep(0.5)
        lab.send_signal(signal.SIGINT)
    finished(lab)
    if target != "lab":  # whose keeper needs no repair
        journey.pgassay("doctor", "--repair", "--data-dir", str(journey.data))
    return what_stays(journey.data)


def what_stays(data: Path) -> list[str]:
    """What is left once processes that were killed had time to end."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := [*left_behind(data), *sessions(data)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def sessions(data: Path) -> list[str]:
    """Homes of drives that nobody uses any more."""
    folder = data / "pgassay" / "sessions"
    return [str(path) for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.timeout(300)
@pytest.mark.parametrize("target", ["lab", pytest.param("postgres", marks=pytest.mark.slow), "pgassay-drive"])
def test_nothing_is_left_after_a_kill_and_a_repair(journey: Place, target: str) -> None:
    real.require("csd")
    assert kill(journey, target, wait_s=2.0) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_drive_that_disappears_under_a_load_is_named_and_what_was_committed_stays(journey: Place) -> None:
    """Nobody interrupts the run: it has to find out by itself, and come to an end."""
    real.require("csd")
    lab = journey.run("gone", *LEVELS)
    wait_until(lambda: committed(journey.runs / "gone") > 0, lab)
    wait_until(lambda: load_runs(journey.runs / "gone"), lab)
    kept = committed(journey.runs / "gone")
    for pid in processes(journey.data, "pgassay-drive")[:1]:
        _end(pid)
    ended = finished(lab, patience_s=600.0)
    assert ended.returncode == 2, ended.stdout
    socket = journey.data / "pgassay" / "sessions" / ".*" / "disk" / "control.sock"
    assert re.search(rf'error: the emulated drive does not answer on "{socket}": ', ended.stderr), ended.stderr
    assert len(journey.record("gone").numbers) >= kept >= 1
    checked = journey.pgassay("check", str(journey.runs / "gone"))
    assert checked.returncode == 0, checked.stdout
    journey.pgassay("doctor", "--repair", "--data-dir", str(journey.data))
    assert what_stays(journey.data) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_device_that_disappears_in_a_run_is_named_and_what_was_committed_stays(journey: Place) -> None:
    """A real drive that falls off the bus, by the program of an emulated one under a loop device."""
    real.require("csd")
    with real.place() as elsewhere, real.emulated_devices(elsewhere) as made:
        path = made("csd", 1536)
        lab = journey.run("gone", "--set", f"drive.data=device:{path}", "--i-own", str(path))
        wait_until(lambda: committed(journey.runs / "gone") > 0, lab)
        wait_until(lambda: load_runs(journey.runs / "gone"), lab)
        kept = committed(journey.runs / "gone")
        daemon.kill(elsewhere / "home")
        ended = finished(lab, patience_s=600.0)
        assert ended.returncode == 2, ended.stdout
        assert f'"{path}" does not answer any more: Input/output error' in ended.stderr
        assert "pgassay resume" in ended.stderr
        assert len(journey.record("gone").numbers) >= kept >= 1
        checked = journey.pgassay("check", str(journey.runs / "gone"))
        assert checked.returncode == 0, checked.stdout
        assert journey.left_behind() == []
        assert what_stays(journey.data) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_on_devices_that_was_killed_is_gone_on_with(journey: Place) -> None:
    """They are still mounted then, and once stayed in use until somebody repaired them."""
    real.require("device")
    kernel, devices = LinuxKernel(LocalRunner(choose())), []
    with real.place() as elsewhere:
        for name in ("data", "wal"):
            with (elsewhere / name).open("wb") as image:
                image.truncate(1536 << 20)
            devices.append(kernel.attach(elsewhere / name))
        data, wal = (str(device) for device in devices)
        try:
            owned = ("--i-own", data, "--i-own", wal)
            lab = journey.run(
                "killed", "--set", f"drive.data=device:{data}", "--set", f"drive.wal=device:{wal}", *owned
            )
            wait_until(lambda: committed(journey.runs / "killed") > 0, lab)
            kept = committed(journey.runs / "killed")
            _end(lab.pid)
            finished(lab)
            lab = journey.start("resume", str(journey.runs / "killed"), *ANYWHERE, *owned, "--json")
            ended = finished(lab, patience_s=600.0)
            assert ended.returncode in (0, 1), ended.stderr
            assert len(journey.record("killed").numbers) > kept
            assert what_stays(journey.data) == []
        finally:
            undo_block_drives(journey.data)
            for device in devices:
                detach_loop(device)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_nothing_is_left_after_twenty_kills(journey: Place) -> None:
    real.require("csd")
    seed = random.randrange(1 << 30)
    drawn = random.Random(seed)
    for number in range(20):
        target = drawn.choice(["lab", "postgres", "pgassay-drive"])
        wait_s = drawn.uniform(0.0, SPAN_S)
        left = kill(journey, target, wait_s)
        assert left == [], f"seed {seed}, kill {number}: {target} after {wait_s:.2f} s"
