"""Processes as /proc shows them, and a small one that outlives its lab and ends what a killed lab leaves running.

The kernel tells each program that we started of our death (see `_launch`). That is not enough for servers that stand
still while others take their turn, for what our programs have started themselves, and for the daemons of drives, whose
file systems must be unmounted first. So the keeper waits for our end, finds all of the family by a mark in its
environment, ends it, and then becomes a command that gives back what else was held (see `_keeper`).
"""

import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from pgassay import children
from pgassay.host import _keeper
from pgassay.interfaces.proc import Process, process_of
from pgassay.scratch import state_directory


def processes(proc: Path = Path("/proc")) -> dict[int, Process]:
    there = (process_of(entry.name, proc) for entry in proc.iterdir() if entry.name.isdecimal())
    return {process.pid: process for process in there if process is not None}  # None: it ended while we looked


def descendants(pid: int, everyone: dict[int, Process]) -> list[Process]:
    found: list[Process] = []
    parents = {pid}
    while parents:
        children = [process for process in everyone.values() if process.parent in parents]
        found += children
        parents = {process.pid for process in children}
    return found


def still_there(process: Process) -> bool:
    """Does this very process still run (not a zombie, not another with its number)?"""
    now = process_of(process.pid)
    return now is not None and now.started_ticks == process.started_ticks and now.state != "Z"


def end_all(family: list[Process], patience_s: float = 5.0) -> None:
    """Wait a moment for these to go by themselves, then kill what is left and wait until it is gone."""
    deadline = time.monotonic() + patience_s
    killed = False
    while left := [process for process in family if still_there(process)]:
        if time.monotonic() > deadline:
            if killed:
                return  # In uninterruptible sleep: the kernel will end it.
            for process in left:
                try:
                    os.kill(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            killed = True
            deadline = time.monotonic() + patience_s
        time.sleep(0.01)


VARIABLE = "PGASSAY_LAB"
"""In the environment of each program that a lab starts: its process id, when it started in ticks since boot, and a
checksum of the path of its state directory and of its namespace of process ids: whoever repairs goes by the same ones.
In a container's, which is another, the lab may live that has no process of this id in ours.
"""
_MARK = re.compile(r"(?P<lab>[0-9]{1,10})-(?P<ticks>[0-9]{1,20})-(?P<place>[0-9a-f]{8})")


def mark() -> str:
    """The value of `VARIABLE` for what this process starts; without /proc nobody looks for it."""
    ours = process_of("self")
    return f"{os.getpid()}-{0 if ours is None else ours.started_ticks}-{_place()}"


def _place() -> str:
    numbers = ""
    with suppress(OSError):
        numbers = str(Path("/proc/self/ns/pid").readlink())
    return f"{zlib.crc32(os.fsencode(state_directory()) + numbers.encode()):08x}"


def orphans(accounts: Collection[int], proc: Path = Path("/proc")) -> dict[str, list[int]]:
    """Process ids of what killed labs left running, under accounts with these user ids, by the labs' marks.

    There are some only where the lab's keeper was killed too.
    """
    everyone, found = processes(proc), dict[str, list[int]]()
    for pid in everyone:
        with suppress(OSError):
            if (proc / str(pid)).stat().st_uid not in accounts:
                continue
            for word in (proc / str(pid) / "environ").read_bytes().decode(errors="replace").split("\0"):
                name, _, value = word.partition("=")
                said = _MARK.fullmatch(value) if name == VARIABLE else None  # the process may have written it itself
                if said and said["place"] == _place():
                    there = everyone.get(int(said["lab"]))
                    if there is None or str(there.started_ticks) != said["ticks"]:
                        found.setdefault(value, []).append(pid)
    return found


def end_orphans(mark: str) -> None:
    """End what the lab with this mark left running; returns when it is gone, or after a minute."""
    _keeper.end_family(f"{VARIABLE}={mark}".encode())


class Keeper:
    """Keeps this process's programs until `close`; `command` runs after their end where this process was killed."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        self._command = tuple(command)
        self._words: list[bytes] = []
        self._start()

    def add(self, word: str) -> None:
        """One more argument of the command. A keeper that somebody killed is replaced."""
        self._words.append(os.fsencode(word) + b"\0")
        try:
            os.write(self._pipe, self._words[-1])
        except BrokenPipeError:
            self._stop()
            self._start()

    def end_strays(self) -> None:
        """End what our programs have left behind: a text can start a process that leaves its parents."""
        _keeper.end_strays(f"{VARIABLE}={mark()}".encode(), os.getpid())

    def close(self) -> None:
        """No keeper any more: everything has been given back. Calling it twice is harmless."""
        self.end_strays()
        self._stop()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _keeper.__file__, f"{VARIABLE}={mark()}", *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=children.interpreter_environment(),
            cwd=children.HOME,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        self._pipe = self._process.stdin.fileno()
        with suppress(BrokenPipeError):
            os.write(self._pipe, b"".join(self._words))

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
