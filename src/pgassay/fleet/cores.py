"""All cores of a host for work in Python that takes one: a process for each core.

The worker itself has one thread, and Python runs one thread of a process at a time. The processes end with the worker,
however that ends: the kernel tells them when it dies (prctl(2), PR_SET_PDEATHSIG).
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")
PR_SET_PDEATHSIG = 1


def cores() -> int:
    """How many cores this host's work may take."""
    return len(os.sched_getaffinity(0))


def each(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """What `work`, a function of a module, makes of each piece, in their order; what it raises comes as it is."""
    most = min(cores(), len(pieces))
    if most < 2:
        return [work(piece) for piece in pieces]
    # Not forked: a worker has other threads, which may hold locks just then.
    with ProcessPoolExecutor(most, get_context("spawn"), end_with, (os.getpid(),)) as pool:
        return list(pool.map(work, pieces))


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(1)  # it died before we asked
