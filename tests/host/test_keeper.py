"""The keeper of a lab: when the lab is killed, nothing of its family goes on, whatever state it is in."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.host import _keeper
from pgassay.host.keeper import VARIABLE, Keeper, end_orphans, mark, orphans, processes, still_there
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.places import Account
from pgassay.interfaces.proc import Process

PATIENCE_S = 300.0
LAB = """
import os, sys, time
from pathlib import Path
from pgassay.interfaces.places import Account
from pgassay.host.keeper import Keeper
from pgassay.host.runner import LocalRunner

place = Path(sys.argv[1])
said = "import os, sys, pathlib; pathlib.Path(sys.argv[1]).write_text('|'.join([*sys.argv[2:], str(os.nice(0))]))"
keeper = Keeper([sys.executable, "-c", said])
keeper.add(str(place / "said"))
keeper.add("a word")
runner = LocalRunner(Account(None, os.geteuid(), os.getegid()))
for number, script in enumerate(sys.argv[2:]):
    said = place / f"said-{number}"
    runner.start(["/bin/sh", "-c", script], stdout=said, stderr=said)
(place / "keeper").write_text(str(keeper._process.pid))
(place / "ready").touch()
time.sleep(600)
"""
NOISY = "trap '' TERM HUP; setsid sleep 601 & echo $!; wait"
"""Ignores the signal that it gets, and its child is in a session of its own."""
STOPPED = "sleep 602 & echo $!; kill -STOP $!; kill -STOP $$"
DAEMON = "(setsid sh -c 'sleep 603 & echo $!' &) ; exit 0"
"""Its grandchild belongs to nobody any more."""


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def marked(pid: int) -> list[Process]:
    """Of the family of the lab with this process id."""
    found = []
    for process in processes().values():
        try:
            words = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if process.state != "Z" and any(word.startswith(f"{VARIABLE}={pid}-".encode()) for word in words):
            found.append(process)
    return found


def lab(place: Path, *scripts: str) -> "subprocess.Popen[bytes]":
    """One that has started these."""
    process = subprocess.Popen([sys.executable, "-c", LAB, str(place), *scripts])
    assert eventually((place / "ready").exists)
    assert eventually(lambda: all((place / f"said-{number}").read_text() for number in range(len(scripts))))
    return process


def test_whatever_a_killed_lab_has_started_ends(tmp_path: Path) -> None:
    process = lab(tmp_path, NOISY, STOPPED, DAEMON)
    assert eventually(lambda: len(marked(process.pid)) == 5), marked(process.pid)
    assert eventually(lambda: [each.state for each in marked(process.pid)].count("T") == 2), marked(process.pid)
    family = marked(process.pid)
    process.kill()
    process.wait()
    assert eventually(lambda: not any(map(still_there, family)) and not marked(process.pid)), marked(process.pid)
    assert eventually((tmp_path / "said").exists)
    said = tmp_path / "said"
    assert eventually(lambda: said.read_text().startswith("a word|")), "the command has the words that were added"
    assert int(said.read_text().partition("|")[2]) == (_keeper._PRIORITY if os.geteuid() == 0 else os.nice(0))


def test_a_keeper_outlives_signals_that_are_meant_for_its_lab(tmp_path: Path) -> None:
    process = lab(tmp_path, STOPPED)
    keeper = int((tmp_path / "keeper").read_text())
    assert eventually(lambda: b"_keeper.py" in Path(f"/proc/{keeper}/cmdline").read_bytes())
    time.sleep(0.5)  # until Python has started there: if it has not, the signal ends it, and this proves nothing
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(keeper, number)
    process.kill()
    process.wait()
    assert eventually(lambda: not marked(process.pid))


def test_one_that_somebody_killed_is_replaced_and_knows_all_words(tmp_path: Path) -> None:
    kept = Keeper([sys.executable, "-c", "raise SystemExit"])
    try:
        kept.add("first")
        before = kept._process.pid
        os.kill(before, signal.SIGKILL)
        kept._process.wait()
        kept.add("second")
        assert kept._process.pid != before
        assert kept._words == [b"first\0", b"second\0"]
    finally:
        kept.close()
        kept.close()


def test_an_orderly_end_leaves_nothing_either(tmp_path: Path) -> None:
    """What left its parents ends; what still is a child of ours, as another bench's servers are, goes on."""
    runner, said, child = LocalRunner(Account(None, os.geteuid(), os.getegid())), tmp_path / "said", tmp_path / "child"
    kept = Keeper()
    going_on = runner.start(["sleep", "604"], stdout=child, stderr=child)
    try:
        assert runner.start(["/bin/sh", "-c", DAEMON], stdout=said, stderr=said).wait(PATIENCE_S).status == 0
        assert eventually(lambda: said.read_text().strip().isdecimal())
        stray = processes()[int(said.read_text())]
        kept.close()
        kept.close()
        assert not still_there(stray)
        assert still_there(processes()[going_on.pid])
    finally:
        going_on.terminate()


def test_a_keeper_goes_with_an_orderly_end() -> None:
    kept = Keeper()
    kept.close()
    assert kept._process.returncode == -signal.SIGKILL


def entry(proc: Path, pid: int, parent: int, state: str = "S", *environment: str) -> None:
    """A process, as proc(5) shows it; it started at 1000 + pid ticks."""
    place = proc / str(pid)
    place.mkdir(parents=True)
    fields = [state, str(parent), *["0"] * 17, str(1000 + pid), "0"]
    (place / "stat").write_text(f"{pid} (a) b c) {' '.join(fields)}\n")
    (place / "environ").write_text("".join(f"{each}\0" for each in environment))


def test_a_family_is_who_has_the_mark_and_all_below(tmp_path: Path) -> None:
    entry(tmp_path, 10, 1, "T", "A=1", "LAB=5-9")
    entry(tmp_path, 11, 10, "T")  # a backend: its environment is its title
    entry(tmp_path, 12, 11)
    entry(tmp_path, 13, 1, "S", "LAB=5-99")
    entry(tmp_path, 14, 13, "S", "XLAB=5-9")
    entry(tmp_path, 15, 10, "Z")
    assert _keeper.family(b"LAB=5-9", set(), tmp_path) == {(10, 1010), (11, 1011), (12, 1012)}


def test_who_was_of_the_family_stays_of_it_but_not_a_later_one_with_the_number(tmp_path: Path) -> None:
    entry(tmp_path, 11, 1)
    entry(tmp_path, 12, 1)
    assert _keeper.family(b"LAB=5-9", {(11, 1011), (12, 77)}, tmp_path) == {(11, 1011)}


def test_the_mark_tells_this_process_from_a_later_one_with_its_number() -> None:
    pid, ticks, _ = mark().split("-")
    assert (int(pid), int(ticks)) == (os.getpid(), processes()[os.getpid()].started_ticks)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_without_a_family_there_is_nothing_to_end(tmp_path: Path) -> None:
    _keeper.end_family(b"LAB=5-9", proc=tmp_path)


def test_what_outlived_lab_and_keeper_is_found_by_its_mark(tmp_path: Path) -> None:
    place = mark().split("-")[2]
    entry(tmp_path, 5, 1)  # a lab that lives; it started at 1005
    entry(tmp_path, 10, 1, "T", f"{VARIABLE}=4-1004-{place}")
    entry(tmp_path, 11, 10, "T")
    entry(tmp_path, 12, 1, "S", f"{VARIABLE}=5-1005-{place}")
    entry(tmp_path, 13, 1, "S", f"{VARIABLE}=5-77-{place}")  # of an earlier one with this number
    for number, value in enumerate(("", "5", f"a-b-{place}", f"4-{place}", "4-1004-another"), start=20):
        entry(tmp_path, number, 1, "S", f"{VARIABLE}={value}", f"X{VARIABLE}=4-1004-{place}")
    ours = (os.geteuid(),)
    assert orphans(ours, tmp_path) == {f"4-1004-{place}": [10], f"5-77-{place}": [13]}
    assert orphans((os.geteuid() + 1,), tmp_path) == {}


def test_the_programs_of_a_lab_in_a_container_are_not_taken_for_left_behind(tmp_path: Path) -> None:
    """Its process id is another one in its own namespace, and nobody's here."""
    container = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    if shutil.which("unshare") is None or subprocess.run([*container, "true"], check=False).returncode:
        pytest.skip("no namespace of process ids can be made here")
    process = subprocess.Popen([*container, sys.executable, "-c", LAB, str(tmp_path), "echo; exec sleep 605"])
    try:
        assert eventually((tmp_path / "ready").exists)
        assert eventually(lambda: bool((tmp_path / "said-0").read_text()))
        assert "sleep" in [each.name for each in marked(1)]
        assert [each for each in orphans((os.geteuid(),)) if each.startswith("1-")] == []
    finally:
        process.kill()
        process.wait()


def test_what_outlived_lab_and_keeper_is_ended(tmp_path: Path) -> None:
    process = lab(tmp_path, STOPPED)
    assert eventually(lambda: [each.state for each in marked(process.pid)].count("T") == 2), marked(process.pid)
    keeper = int((tmp_path / "keeper").read_text())
    process.send_signal(signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    process.kill()
    process.wait()
    (found,) = (each for each in orphans((os.geteuid(),)) if each.startswith(f"{process.pid}-"))
    end_orphans(found)
    assert marked(process.pid) == []
