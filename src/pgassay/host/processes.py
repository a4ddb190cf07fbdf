"""Processes as /proc shows them: which descends from which, and how to end one with all its descendants.

A server's backends lead sessions of their own, so that killing its process group leaves them; a process is
distinguished from a later one with the same number by its start time (proc(5), /proc/pid/stat field 22).
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process at one moment. `started_ticks` since boot, CPU in clock ticks, children waited for left out."""

    pid: int
    parent: int
    name: str
    state: str
    started_ticks: int
    cpu_ticks: int


def parse_stat(text: str) -> Process:
    """A line of /proc/pid/stat; the name may hold blanks and brackets."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    return Process(
        pid=int(pid),
        parent=int(fields[1]),
        name=name,
        state=fields[0],
        started_ticks=int(fields[19]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )


def processes(proc: Path = Path("/proc")) -> dict[int, Process]:
    """All processes now, by pid."""
    found = {}
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            try:
                process = parse_stat((entry / "stat").read_text(encoding="utf-8", errors="replace"))
            except (OSError, IndexError, ValueError):
                continue  # It ended while we looked.
            found[process.pid] = process
    return found


def descendants(pid: int, everyone: dict[int, Process]) -> list[Process]:
    """Children, grandchildren and so on of `pid`, without itself."""
    found: list[Process] = []
    parents = {pid}
    while parents:
        children = [process for process in everyone.values() if process.parent in parents]
        found += children
        parents = {process.pid for process in children}
    return found


def still_there(process: Process) -> bool:
    """Does this very process still run (not a zombie, not another with its number)?"""
    try:
        now = parse_stat(Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except (OSError, IndexError, ValueError):
        return False
    return now.started_ticks == process.started_ticks and now.state != "Z"


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
