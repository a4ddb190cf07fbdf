"""Running programs and telling time, by interface, so that the lab can be simulated.

A `Runner` never uses a shell; output goes to files so that nothing is lost when a run is cut short. `Clock` gives both
times that a record needs: monotonic for lengths, wall for dates.
"""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pgassay.interfaces.hosting import ANYWHERE, Placement

PRINTED_BYTES_MAX = 256 << 20
"""A text that a program prints is read whole. One without end would fill the memory, or the drive of the record."""


@dataclass(frozen=True)
class Elsewhere:
    """What another host says of a program that ran there: the CPU time that it used, the share of that host's CPU time
    that was used while it ran, and when it ran by that host's own wall clock; `offset_ns` is ours less that clock."""

    cpu_us: float
    busy_share: float | None
    began_wall_ns: int
    ended_wall_ns: int
    offset_ns: float
    began_monotonic_ns: int = 0
    """The beginning by that host's monotonic clock, too."""


@dataclass(frozen=True)
class Completed:
    """A finished program: its exit status (negative for a signal) and its texts, whole."""

    command: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    elsewhere: Elsewhere | None = None
    """Where it ran on another host."""


class Running(Protocol):
    """A program that was started and has not been waited for."""

    @property
    def pid(self) -> int:
        """Its process id, also that of its process group."""

    def wait(self, timeout_s: float | None = None) -> Completed:
        """Wait for the end; raises `TimeoutError` when it does not come."""

    def place(self, path: Path) -> Path:
        """Where something is while the program runs, that it makes as `path` in its `output`."""

    def send(self, number: int) -> None:
        """Send the program itself a signal; harmless when it has ended."""

    def terminate(self) -> None:
        """Ask it to end, and end it if it does not; nothing of its process group or its descendants remains."""


class Starter(Protocol):
    """Starts programs: on this machine, or on another (`load.host`).

    Where we are root a program runs under the unprivileged account, so that whoever forgets to think of it is safe.
    `privileged` says why a program needs our own rights instead; SECURITY.md lists these reasons. Each program has an
    environment of its own (PATH, LC_ALL and its account's HOME, and `environment`), and nothing of ours.
    """

    def start(
        self,
        command: Sequence[str],
        *,
        stdout: Path,
        stderr: Path,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        privileged: str = "",
        death_signal: int = signal.SIGTERM,
        placement: Placement = ANYWHERE,
        files: Sequence[Path] = (),
        output: Path | None = None,
    ) -> Running:
        """Start in a process group of its own, appending to the two files (which may be one).

        `files` are those that its words or its environment name, and that it reads: another account is given copies of
        those that it cannot read, and they travel with the program to another host. `output` is the directory that it
        writes to: what it wrote is there once it has ended (`Running.place` says where it is before).

        `death_signal` reaches the program when the calling thread dies, however it dies: start from the main thread.
        The program and all that it starts stay where `placement` puts it; it ends if a CPU or a group is not available.
        """


class Runner(Starter, Protocol):
    """Runs programs to their ends."""

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        privileged: str = "",
        timeout_s: float | None = None,
        input_file: Path | None = None,
        stdout: Path | None = None,
        files: Sequence[Path] = (),
    ) -> Completed:
        """Run to the end and return the outcome, whatever it is; raises `TimeoutError` after killing it.

        It reads `input_file`, which we open; what it prints is in the outcome, or in the file `stdout`, which we open,
        too. `files` as in `start`. A program that is not installed raises `BenchError`.
        """


class Dialogue(Protocol):
    """A program that takes orders, ready for the first one; orders and answers are objects of JSON."""

    @property
    def ready(self) -> Mapping[str, Any]:
        """What it said once it was ready."""

    @property
    def pid(self) -> int:
        """Its process id; 0 once it is closed, and for one of another host."""

    def ask(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """One order and its answer; raises `LoadError` if the program is gone."""

    def close(self) -> None:
        """End it; calling it twice is harmless."""


class Clock(Protocol):
    def monotonic_ns(self) -> int:
        """For lengths; never goes back."""

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch, UTC; may jump."""

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds; a negative length is none."""
