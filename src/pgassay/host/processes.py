"""Processes as /proc shows them: which descends from which, and how to end one with all its descendants.

A server's backends lead sessions of their own, so that killing its process group leaves them; a process is
distinguished from a later one with the same number by its start time (proc(5), /proc/pid/stat field 22).
"""

import os
import signal
import time
from pathlib import Path

from pgassay.bench.proc import Process, process_of


def processes(proc: Path = Path("/proc")) -> dict[int, Process]:
    """All processes now, by pid."""
    there = (process_of(entry.name, proc) for entry in proc.iterdir() if entry.name.isdecimal())
    return {process.pid: process for process in there if process is not None}  # None: it ended while we looked


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
