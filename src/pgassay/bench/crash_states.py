"""What a drive may hold after a loss of power, by interface: which crash state is asked for, and what became of it.

Only an emulated drive can be asked: it sees every write and flush of the server (docs/power-cuts.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

ALL, NOTHING, PREFIX, INDEPENDENT = "all", "nothing", "prefix", "independent"
DRAWS = (ALL, NOTHING, PREFIX, INDEPENDENT)
"""How unflushed writes are drawn: all reached the medium, none, the first ones in order, each piece for itself."""


@dataclass(frozen=True)
class CrashWish:
    """Which crash state; `page_within_s` waits so long for a PostgreSQL page in flight, and tears it if that can be."""

    draw: str
    seed: int
    page_within_s: float | None = None


@dataclass(frozen=True)
class PageInFlight:
    """A PostgreSQL page that was being written: its first 4 KiB block on the drive, its bytes, both LSNs.

    `sectors` has for each block of 4 KiB a bit for each 512-byte sector that arrived, `changed` one for each in which
    the old and the new page differ.
    """

    block: int
    bytes: int
    old_lsn: int
    new_lsn: int
    sectors: tuple[int, ...]
    changed: tuple[int, ...]

    @property
    def torn(self) -> bool:
        """Is there a mixture of the old page and the new one?"""
        kinds = {
            bool(arrived >> bit & 1)
            for arrived, changed in zip(self.sectors, self.changed, strict=True)
            for bit in range(8)
            if changed >> bit & 1
        }
        return len(kinds) == 2


@dataclass(frozen=True)
class CrashReport:
    """What was cut: when by the wall clock, and of the requests that were not durable how much was lost.

    2 to the power of `pieces` sets of lost pieces exist. `strip` has of each request in order its first 4 KiB block,
    its blocks, and how many of them arrived whole; the last hundred. `memory_bytes` is what the crash state takes
    beside its blocks.
    """

    number: int
    wall_ns: int
    took_ms: float
    flushes: int
    requests: int
    pieces: int
    lost_pieces: int
    torn_requests: int
    page: PageInFlight | None
    strip: tuple[tuple[int, int, int], ...]
    memory_bytes: int = 0


@dataclass(frozen=True)
class CrashState:
    """A crash state, mounted: `directory` is the cluster in it. The file system's journal has been replayed.

    `page_file` is the file of the cluster that a torn page lies in, by its name below the directory, and the page's
    place in it in bytes; None where no page was torn or no relation has it. `steps_ms` says how long each step took on
    the way there.
    """

    directory: Path
    report: CrashReport
    page_file: tuple[str, int] | None = None
    steps_ms: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class CrashingDrive(Protocol):
    """A drive whose power can be cut while a server goes on."""

    def cut(self, directory: Path, wish: CrashWish) -> CrashState:
        """A crash state of the drive under this clone; several may be there, but one cut alone may wait for a page.

        Raises `DamagedError` where its file system cannot be mounted or is not sound, `DriveError` where the drive
        cannot be cut; nothing is left of it then. May be called by several threads.
        """

    def discard_cut(self, state: CrashState) -> None:
        """Unmount a crash state and drop it with all that was written to it; harmless when it is gone."""
