"""Which processes serve a data directory: every PostgreSQL process has it as its working directory (proc(5), cwd).

That finds backends whose postmaster was killed (a busy one does not notice for a while), and proves that a process is
what we take it for before it is ended.
"""

import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_NAMES = ("postgres", "postmaster")
_POLL_S = 0.02


def serving(directory: Path, proc: Path = _PROC) -> list[int]:
    """The processes named postgres that work in `directory`, zombies left out; none where there is no /proc."""
    target = directory.resolve()
    found = []
    for entry in proc.iterdir() if proc.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        try:
            if (entry / "comm").read_text(encoding="utf-8").strip() in _NAMES and (entry / "cwd").readlink() == target:
                found.append(int(entry.name))
        except OSError:
            continue  # It ended while we looked, or belongs to somebody else.
    return sorted(found)


def postmaster(directory: Path) -> int | None:
    """The postmaster of `directory`, if postmaster.pid names a process that really serves it."""
    try:
        pid = int((directory / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if pid in serving(directory) else None


def end(directory: Path, patience_s: float) -> None:
    """Immediate shutdown of whatever serves `directory`, by force after a while; returns when nothing does."""
    pid = postmaster(directory)
    if pid is not None:
        _signal(pid, signal.SIGQUIT)
    deadline = time.monotonic() + (patience_s if pid is not None else 0.0)
    while left := serving(directory):
        if time.monotonic() > deadline:
            for each in left:
                _signal(each, signal.SIGKILL)
            deadline = time.monotonic() + patience_s
        time.sleep(_POLL_S)


def started_ticks(pid: int) -> int | None:
    """When a process started (ticks since boot): a later one with its number differs in that; None if it is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
