"""Waits for the end of a lab, and ends what it left running: `_keeper.py NAME=VALUE [COMMAND…]`, see `keeper`.

Standard input is a pipe that the lab alone holds open, so it ends with the lab, whatever ended that. Every program that
the lab started has NAME=VALUE in its environment, and so has what these have started, unless they changed it. All of
them go on first, since a stopped process acts on no signal but SIGKILL: a server then ends by the signal that told it
of the lab's death, and removes its shared memory. What is left after a moment is killed. COMMAND follows with the words
that the lab has written, each ended by a null byte. Imports nothing of pgassay.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

GRACE_S = 2.0
PATIENCE_S = 60.0
"""With what the kernel does not end at once: a process that waits for a drive."""
_PRIORITY = -10
_LOOK_S = 0.05
_LOOKS = 3
"""So many looks without a find: a program that was just being started is not seen in one."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: list[str]) -> None:
    """Wait, end, become the command."""
    mark, *command = arguments
    for number in _IGNORED:  # whoever sends them to all of a session or a unit means the lab
        signal.signal(number, signal.SIG_IGN)
    words = sys.stdin.buffer.read().split(b"\0")[:-1]
    with suppress(OSError):  # only root may; the end of what was killed is not to wait behind other programs
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    end_family(mark.encode())
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    if command:
        os.execv(command[0], [*command, *map(os.fsdecode, words)])


def end_family(mark: bytes, proc: Path = Path("/proc")) -> None:
    """End every process with this mark, and all of their descendants; returns when none is left, or after a while."""
    began, empty = time.monotonic(), 0
    known: set[tuple[int, int]] = set()
    while empty < _LOOKS and time.monotonic() - began < PATIENCE_S:
        known = family(mark, known, proc)
        empty = 0 if known else empty + 1
        late = time.monotonic() - began > GRACE_S
        for pid, _ in known:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGCONT)
        time.sleep(_LOOK_S)


def end_strays(mark: bytes, lab: int) -> None:
    """End at once what has the mark and does not descend from the living lab any more; returns when none is left."""
    began = time.monotonic()
    while (strays := family(mark, set(), lab=lab)) and time.monotonic() - began < PATIENCE_S:
        for pid, _ in strays:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def family(
    mark: bytes, known: set[tuple[int, int]], proc: Path = Path("/proc"), lab: int | None = None
) -> set[tuple[int, int]]:
    """Process id and start (ticks since boot) of every process with the mark, of the `known`, and of all below these.

    A backend is below its postmaster: it has written its title over its environment. Zombies are left out, and so is
    what descends from a `lab`.
    """
    parents: dict[int, int] = {}
    started: dict[int, int] = {}
    for entry in proc.glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):  # it ended while we looked
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X", b"x"):
                parents[int(entry.name)], started[int(entry.name)] = int(fields[1]), int(fields[19])
    marked = set()
    for pid, ticks in started.items():
        with suppress(OSError):
            if (pid, ticks) in known or mark in (proc / str(pid) / "environ").read_bytes().split(b"\0"):
                marked.add(pid)
    kept = _with_descendants({lab} if lab is not None else set(), parents)
    return {(pid, started[pid]) for pid in _with_descendants(marked, parents) - kept - {os.getpid()}}


def _with_descendants(pids: set[int], parents: dict[int, int]) -> set[int]:
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
