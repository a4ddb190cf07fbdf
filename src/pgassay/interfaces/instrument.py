"""What counts a server's work instead of timing it, by interface: instructions of each process, by function.

An instrument runs the whole server under itself and knows what a process executed once that process has ended. So a
window is counted by the processes that began and ended in it: the load's backends and their parallel workers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

BACKEND, PARALLEL, OTHER = "backend", "parallel_worker", "other"
"""Kinds of processes."""


@dataclass(frozen=True)
class Executed:
    """What one process executed in user space, from its main function on, less what depends on how long that took.

    So waits for the client and reports of statistics are left out, with all that they call.
    """

    kind: str
    instructions: float
    functions: Mapping[str, tuple[float, float]]
    """A function's own instructions and how often it was called, by its name; `postgres+0x1ea7b0` for one without."""
    system_calls: Mapping[str, float]
    """How many a function made, by its name: those of libc are called after the system call. No waits, no clocks."""


class Instrument(Protocol):
    """Counts what the servers execute that are started with its words."""

    @property
    def name(self) -> str:
        """As the record names it, with its version."""

    def require(self) -> None:
        """Raise `UsageError` where it cannot count on this machine."""

    def begin(self) -> tuple[str, ...]:
        """Forget all counts; returns the words that go before the next server's own command."""

    def ended(self) -> frozenset[int]:
        """The processes, by id, whose counts are there."""

    def executed(self, pids: Collection[int]) -> tuple[Executed, ...]:
        """What these executed; raises `BenchError` for counts that cannot be read."""
