"""Who serves a data directory is found among all processes of a machine, whatever these are called; who is stopped."""

import subprocess
import sys
from pathlib import Path

from pgassay.capture import source
from pgassay.drive.block import kernel
from pgassay.interfaces.proc import process_of
from pgassay.postgres import processes

CUT = "aufzeichnungs-übersicht".encode()[:15]
"""A name longer than the kernel keeps (15 bytes), cut within a letter: no UTF-8."""


def process(proc: Path, pid: int, name: bytes, place: Path, parent: int = 1) -> None:
    """One of proc(5)'s folders."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_bytes(name + b"\n")
    (folder / "stat").write_bytes(b"%d (%s) S %d " % (pid, name, parent) + b"7 " * 48)
    for link in ("cwd", "root"):
        (folder / link).symlink_to(place)


def test_a_name_that_is_no_utf_8_hides_no_server(tmp_path: Path) -> None:
    proc, data = tmp_path / "proc", tmp_path / "data"
    data.mkdir()
    process(proc, 5, CUT, data)
    process(proc, 6, b"postgres", data, parent=1)
    process(proc, 7, b"postgres", data, parent=6)
    process(proc, 8, CUT, data, parent=6)
    assert processes.serving(data, proc) == [6, 7]
    assert len(kernel.holders(data, proc)) == 4
    assert source.server_cpu_ms(7, proc) is not None


POSTMASTER = """
import os, select, sys, time

def child(waits):
    pid = os.fork()
    if pid:
        return pid
    turns, ends = select.epoll(), time.monotonic() + 60
    while time.monotonic() < ends:
        until = time.monotonic() + 0.03
        while time.monotonic() < until:
            pass
        if waits:
            turns.poll(0.03)
    os._exit(0)

children = child(True), child(False)
print(*children, flush=True)
sys.stdin.read()
for pid in children:
    os.kill(pid, 9)
"""
"""One child works and waits in turn, the other never waits."""


def state_of(pid: int) -> str:
    found = process_of(pid)
    assert found is not None
    return found.state


def test_only_what_waits_for_its_turn_is_stopped_since_what_works_may_hold_a_lock() -> None:
    with subprocess.Popen([sys.executable, "-c", POSTMASTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        waiting, working = map(int, parent.stdout.readline().split())
        for _ in range(10):
            processes.freeze(parent.pid, [waiting], patience_s=20.0)
            assert state_of(waiting) == "T"
            assert Path(f"/proc/{waiting}/syscall").read_text().split()[0] in ("22", "232", "281")
            assert state_of(parent.pid) != "T"
            processes.thaw(parent.pid)
        processes.freeze(parent.pid, [working], patience_s=0.2)
        assert state_of(working) != "T"
