"""The processor's own counter as an instrument: user-space instructions at the speed of a native server.

An event that is inherited counts a process and all that it forks from then on (perf_event_open(2)). So one of the
postmaster, opened when a window begins, has the window's backends and parallel workers, but no functions. It also has
what the postmaster executes to fork them: the same in both windows but for parallel workers, forked for each query.
"""

import ctypes
import errno
import io
import os
import platform
import struct
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.probe import BACKEND, Executed

_CALLS = {"x86_64": 298, "aarch64": 241}
"""The number of perf_event_open: syscall_64.tbl, asm-generic/unistd.h."""
_INSTRUCTIONS = (0, 1)
"""PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS: linux/perf_event.h, as all below."""
_ENABLED_AND_RUNNING = 1 | 2
_INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
"""Type, size, config, sample period and type, read format, flags, wake-up, type and address of a breakpoint."""
_LOOPS = 200_000
_ALIKE = 0.02
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_OTHERWISE = "use --count alone, which counts with Valgrind"


class HardwareCounter:
    """`event` is another type and config of the kernel's than instructions, where a test has no such counter."""

    name = "the processor (instructions:u)"

    def __init__(self, event: tuple[int, int] = _INSTRUCTIONS) -> None:
        self._event = event

    def require(self) -> None:
        """Count a loop twice: a counter that says something else each time, or less than its turns, counts nothing."""
        counts = []
        try:
            for _repetition in range(2):
                with self._opened(0, 0) as event:
                    before = _read(event)
                    for _ in range(_LOOPS):
                        pass
                    counts.append(_read(event) - before)
        except OSError as error:
            raise UsageError(f"the processor's counters cannot be used: {_why(error)}", _OTHERWISE) from error
        except BenchError as error:
            raise UsageError(error.message, _OTHERWISE) from error
        first, second = counts
        if not _LOOPS <= first <= (1 + _ALIKE) * second <= (1 + _ALIKE) ** 2 * first:
            said = f"{first:,} and {second:,} instructions in a loop of {_LOOPS:,}"
            raise UsageError(f"the processor's counters cannot be used: they count {said}", _OTHERWISE)

    def begin(self) -> tuple[str, ...]:
        return ()

    @contextmanager
    def window(self, postmaster_pid: int, there: Collection[int]) -> Iterator[Callable[[], tuple[Executed, ...]]]:
        """Of the processes that are `there` the event knows nothing, since they were forked before."""
        try:
            event = self._opened(postmaster_pid, _INHERIT)
        except OSError as error:
            raise BenchError(f"the server's instructions cannot be counted: {_why(error)}") from error

        def executed() -> tuple[Executed, ...]:
            count = _read(event)
            return (Executed(BACKEND, float(count), {}, {}),) if count else ()

        with event:
            yield executed

    def _opened(self, pid: int, flags: int) -> io.FileIO:
        """Raises `OSError`."""
        number = _CALLS.get(platform.machine())
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        kind, config = self._event
        flags |= _NO_KERNEL | _NO_HYPERVISOR
        asked = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 0, 0, _ENABLED_AND_RUNNING, flags, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        found = libc.syscall(ctypes.c_long(number), asked, pid, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
        if found < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return io.FileIO(found)


def _read(event: io.FileIO) -> int:
    """Raises `BenchError` where the counter ran for a part of the time, which would leave an estimate."""
    count, enabled, running = struct.unpack("=QQQ", event.read(24))
    if running < enabled:
        share = f"{running / enabled:.0%} of the time only: other programs use them, or the cores differ"
        raise BenchError(f"the processor's counters ran for {share}")
    return int(count)


def _why(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            return f"kernel.perf_event_paranoid = {_PARANOID.read_text().strip()}, or a container, forbids it"
        except OSError:
            return "this kernel or a container forbids it"
    return "this machine has none" if error.errno in (errno.ENOENT, errno.EOPNOTSUPP) else str(error.strerror)
