"""Which processes serve a data directory: every PostgreSQL process has it as its working directory (proc(5), cwd).

That finds backends whose postmaster was killed (a busy one does not notice for a while), and proves that a process is
what we take it for before it is ended.
"""

import os
import platform
import signal
import time
from collections.abc import Collection
from pathlib import Path

from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.proc import process_of

_PROC = Path("/proc")
_NAMES = ("postgres", "postmaster", "callgrind-amd64", "callgrind-arm64")
"""Under an instrument a process has the name of that."""
_POLL_S = 0.02
FREEZE_S = 1.0
_MOMENT_S = 0.0005
_STILL = ("T", "t", "Z", "X", "x")
_EPOLL_WAITS = {"x86_64": ("232", "281"), "aarch64": ("22",)}
"""Numbers of epoll_wait and epoll_pwait, by machine: in them a process waits for its next turn, and holds no lock."""


def serving(directory: Path, proc: Path = _PROC) -> list[int]:
    """The processes named postgres that work in `directory`, zombies left out; none where there is no /proc."""
    target = directory.resolve()
    found = []
    for entry in proc.iterdir() if proc.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        try:
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
            if name in _NAMES and (entry / "cwd").readlink() == target:
                found.append(int(entry.name))
        except OSError:
            continue  # It ended while we looked, or belongs to somebody else.
    return sorted(found)


def postmaster(directory: Path) -> int | None:
    """The postmaster of `directory`, if postmaster.pid names a process that really serves it."""
    try:
        pid = int(pid_file(directory)[0])
    except (IndexError, ValueError):  # whoever may write there may have written anything
        return None
    return pid if pid in serving(directory) else None


def pid_file(directory: Path) -> list[str]:
    """The lines of postmaster.pid (manual, "postmaster.pid"); none where there is no such file."""
    try:
        with Directory.open(directory) as cluster:
            return cluster.read("postmaster.pid").decode("utf-8", "replace").split("\n")
    except (OSError, UntrustedError):
        return []


def end(directory: Path, patience_s: float) -> None:
    """Immediate shutdown of whatever serves `directory`, by force after a while; returns when nothing does."""
    pid = postmaster(directory)
    if pid is not None:
        _signal(pid, signal.SIGQUIT)
    for each in serving(directory):
        _signal(each, signal.SIGCONT)  # A killed lab may have left it frozen: no other signal would arrive.
    deadline = time.monotonic() + (patience_s if pid is not None else 0.0)
    while left := serving(directory):
        if time.monotonic() > deadline:
            for each in left:
                _signal(each, signal.SIGKILL)
            deadline = time.monotonic() + patience_s
        time.sleep(_POLL_S)


def freeze(postmaster: int, only: Collection[int] | None = None, patience_s: float = FREEZE_S) -> None:
    """Stop a postmaster and all of its processes where they are; returns when they stand still, or after a while.

    With `only` those of its children alone, and each while it waits for its next turn: the others go on, and would
    wait in vain for a lock that it holds (a spinlock: after two minutes they panic). One that never waits is not
    stopped.

    The postmaster goes first, so that it starts no more. SIGSTOP and not the freezer of control groups: what a killed
    lab leaves stopped can still be ended by SIGKILL, and what it leaves frozen (in version 1) cannot. The lab's keeper
    lets it go on, so that the signal of the lab's death ends it.
    """
    if only is None:
        _signal(postmaster, signal.SIGSTOP)
    deadline = time.monotonic() + patience_s
    while True:
        _stand_still(postmaster, only, deadline)
        working = [pid for pid in only or () if not _waits_for_its_turn(pid)]
        for pid in working:
            _signal(pid, signal.SIGCONT)
        if not working or time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)


def _stand_still(postmaster: int, only: Collection[int] | None, deadline: float) -> None:
    while moving := [
        pid
        for pid in (postmaster, *children(postmaster))
        if (only is None or (pid in only and pid != postmaster))
        and (found := process_of(pid)) is not None
        and found.state not in _STILL
    ]:
        for pid in moving:
            _signal(pid, signal.SIGSTOP)
        if time.monotonic() > deadline:
            return  # One that waits for its drive stops as soon as it returns from there.
        time.sleep(_MOMENT_S)


def _waits_for_its_turn(pid: int) -> bool:
    """Of a process that was stopped (proc(5), syscall); True where the kernel does not say what it was doing."""
    waits = _EPOLL_WAITS.get(platform.machine())
    try:
        return waits is None or (_PROC / f"{pid}/syscall").read_text(encoding="utf-8").split(" ", 1)[0] in waits
    except OSError:
        return True


def thaw(postmaster: int) -> None:
    for pid in (*children(postmaster), postmaster):
        _signal(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    """Every PostgreSQL process is a child of its postmaster; none where it has ended."""
    try:
        return [int(word) for word in (_PROC / f"{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except OSError:
        return []


def started_ticks(pid: int) -> int | None:
    """When a process started (ticks since boot): a later one with its number differs in that; None if it is gone."""
    found = process_of(pid)
    return None if found is None else found.started_ticks


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
