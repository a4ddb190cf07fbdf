"""The real runner: accounts, environment, and that nothing outlives us, not even after SIGKILL."""

import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pgassay.host.accounts import choose
from pgassay.host.keeper import VARIABLE, mark, processes
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.places import Account
from pgassay.interfaces.proc import Process

OURSELVES = Account(None, os.geteuid(), os.getegid())
PATIENCE_S = 300.0
"""With what always happens, but late on a busy machine."""


def _families(word: str) -> list[Process]:
    """Running `sleep` processes with this argument."""
    found = []
    for process in processes().values():
        try:
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if process.name == "sleep" and word.encode() in words:
            found.append(process)
    return found


def _eventually_gone(word: str) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not _families(word):
            return True
        time.sleep(0.02)
    return False


def test_libpq_variables_of_the_shell_do_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "production")
    monkeypatch.setenv("PGOPTIONS", "-c fsync=off")
    words = LocalRunner(OURSELVES).run(["env"], environment={"PGPORT": "1"}).stdout.splitlines()
    assert sorted(word for word in words if word.startswith("PG")) == [f"{VARIABLE}={mark()}", "PGPORT=1"]
    assert "LC_ALL=C" in words


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another account")
def test_unprivileged_is_another_account_with_its_groups_only() -> None:
    account = choose()
    said = LocalRunner(account).run(["id", "--user"]).stdout.strip()
    groups = LocalRunner(account).run(["id", "--groups"]).stdout.split()
    assert int(said) == account.uid != 0
    assert "0" not in groups
    home = pwd.getpwuid(account.uid).pw_dir
    assert f"HOME={home}" in LocalRunner(account).run(["env"]).stdout.splitlines()


def test_unprivileged_works_from_a_directory_that_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.chdir(closed)
    assert LocalRunner(choose()).run(["pwd"]).stdout == "/\n"


def test_a_program_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    completed = LocalRunner(OURSELVES).run([str(text)])
    assert completed.status == 127
    assert "could not be run" in completed.stderr


def test_timeout_ends_grandchildren_too() -> None:
    with pytest.raises(TimeoutError):
        LocalRunner(OURSELVES).run(["sh", "-c", "setsid sleep 98761 & sleep 98761"], timeout_s=0.3)
    assert _eventually_gone("98761")


def test_what_a_program_starts_while_its_family_is_listed_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a session of its own, and its parent is ended: nothing would show whose it was."""
    go = tmp_path / "go"
    looks: list[dict[int, Process]] = []

    def while_looking() -> dict[int, Process]:
        looks.append(processes())
        if len(looks) == 1:
            go.touch()
            until = time.monotonic() + 0.5  # it stands still, or starts what was not there yet
            while not _families("98765") and time.monotonic() < until:
                time.sleep(0.01)
        return looks[-1]

    monkeypatch.setattr("pgassay.host.runner.processes", while_looking)
    waits = f"until test -e {go}; do sleep 0.01; done; setsid sleep 98765 & wait"
    with pytest.raises(TimeoutError):
        LocalRunner(OURSELVES).run(["sh", "-c", waits], timeout_s=0.5)
    assert looks
    assert _eventually_gone("98765")


def test_terminate_ends_a_family_that_ignores_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.host.runner.GRACE_S", 0.2)
    log = tmp_path / "log"
    stubborn = "trap '' TERM; setsid sleep 98762 & echo ready; while true; do sleep 0.05; done"
    running = LocalRunner(OURSELVES).start(["sh", "-c", stubborn], stdout=log, stderr=log)
    deadline = time.monotonic() + PATIENCE_S
    while "ready" not in log.read_text() or not _families("98762"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.terminate()
    assert running.wait(0.0).status == -signal.SIGKILL
    assert _eventually_gone("98762")


@pytest.mark.parametrize("disposition", [signal.default_int_handler, signal.SIG_IGN])
def test_an_interrupt_ends_a_program_from_its_first_moment_on(disposition: Any, tmp_path: Path) -> None:
    """Its launcher is Python, which answers SIGINT in its own way or loses it; a background job's may be ignored."""
    log = tmp_path / "log"
    before = signal.signal(signal.SIGINT, disposition)
    try:
        for moment in range(40):
            running = LocalRunner(OURSELVES).start(["sleep", "1000"], stdout=log, stderr=log)
            time.sleep(0.0005 * moment)
            running.send(signal.SIGINT)
            try:
                assert running.wait(PATIENCE_S).status == -signal.SIGINT
            finally:
                running.terminate()
    finally:
        signal.signal(signal.SIGINT, before)
    assert log.read_text() == ""


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_the_signal_that_tells_of_our_death_is_not_ignored(number: signal.Signals, tmp_path: Path) -> None:
    """A shell's background job ignores SIGQUIT: a server that was only starting outlived its lab that was killed."""
    log = tmp_path / "log"
    before = signal.signal(number, signal.SIG_IGN)
    try:
        told = LocalRunner(OURSELVES).start(["cat", "/proc/self/status"], stdout=log, stderr=log, death_signal=number)
        assert told.wait(PATIENCE_S).status == 0
    finally:
        signal.signal(number, before)
    (ignored,) = (line.split()[1] for line in log.read_text().splitlines() if line.startswith("SigIgn:"))
    assert not int(ignored, 16) & 1 << (number - 1)


def test_programs_die_with_us_when_we_are_killed(tmp_path: Path) -> None:
    program = (
        "import os, time; from pathlib import Path\n"
        "from pgassay.interfaces.places import Account\n"
        "from pgassay.host.runner import LocalRunner\n"
        f"log = Path({str(tmp_path / 'log')!r})\n"
        "LocalRunner(Account(None, os.geteuid(), os.getegid())).start(['sleep', '98763'], stdout=log, stderr=log)\n"
        "print('started', flush=True); time.sleep(3600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        deadline = time.monotonic() + PATIENCE_S
        while not _families("98763"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        parent.kill()
        parent.wait()
    assert _eventually_gone("98763")
