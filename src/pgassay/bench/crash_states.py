"""What a drive may hold after a loss of power, by interface: which crash state is asked for, and what became of it.

Only an emulated drive can be asked: it sees every write and flush of the server (docs/power-cut.md).
"""

from dataclasses import dataclass
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
    its blocks, and how many of them arrived whole; the last hundred.
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


@dataclass(frozen=True)
class CrashState:
    """A crash state, mounted: `directory` is the cluster in it. The file system's journal has been replayed."""

    directory: Path
    report: CrashReport


@runtime_checkable
class CrashingDrive(Protocol):
    """A drive whose power can be cut while a server goes on."""

    def cut(self, directory: Path, wish: CrashWish) -> CrashState:
        """A crash state of the drive under this clone, one at a time.

        Raises `DamagedError` where its file system cannot be mounted, `DriveError` where the drive cannot be cut.
        """

    def discard_cut(self, *, check: bool = True) -> None:
        """Unmount the crash state, have its file system checked, and drop it; harmless without one.

        Raises `DamagedError` once all is given back.
        """
