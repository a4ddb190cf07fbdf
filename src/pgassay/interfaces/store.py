"""Where PostgreSQL's bytes go, by interface: golden snapshots, clones and the state they start from.

A drive keeps one prepared snapshot for each key (build, initdb options, data, table options, age) and gives every trial
a fresh clone of it: by reflink where the file system can, else by copy. Snapshots are taken with the server stopped.
A drive may be a set: data and WAL on drives of their own, kept and cloned together.

What a drive may hold after a loss of power is a crash state; only an emulated drive can be asked for one: it sees every
write and flush of the server (docs/power-cuts.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.places import Mount

DATABASES = "databases"
"""The kind of a drive whose clones are databases of one server that is not ours."""


@dataclass(frozen=True)
class Needs:
    """What a whole study will put on a drive that is sized for it: the largest data of any arm, and their WAL.

    `snapshots` are kept on this drive itself, with `kept_bytes` of data together. `wal_bytes` is ample,
    `wal_least_bytes` what the settings let WAL grow to where that is less. `crash_states` says that its power will be
    cut: servers recover on it, besides the one that works.
    """

    data_bytes: int = 0
    wal_bytes: int = 0
    snapshots: int = 1
    kept_bytes: int = 0
    wal_least_bytes: int = 0
    crash_states: bool = False


@dataclass(frozen=True)
class Trait:
    """What a drive says that it is, in one respect; `asked` is what it should be, None where nothing was asked.

    `holds` is false where the two differ by more than rounding. `of_state`: is it the state that trials start from,
    which no treatment can have changed?
    """

    found: str | float | None
    asked: str | float | None = None
    holds: bool = True
    of_state: bool = False


class Ageing(Protocol):
    """Wears a drive before its first trial: by writes drawn from those of one run, which is recorded."""

    def begin(self) -> None:
        """Record what is written from now on (a clone is there, its server not yet)."""

    def finish(self, key: str) -> None:
        """The clone is discarded: write until the drive has settled, on the snapshot of `key`, which is kept again."""

    def abandon(self) -> None:
        """The load could not be run: what was recorded goes. Harmless without a record."""


class DriveOutline(Protocol):
    """What a plan and the checks before a run ask of a drive; nothing is made for the answers."""

    @property
    def kind(self) -> str:
        """`directory`, `image`, `ssd` …; `ssd+image` for data and WAL apart."""

    def mount(self) -> Mount:
        """The file system, its device and its free space now."""

    def snapshot_mount(self) -> Mount | None:
        """The file system of the snapshots, where they are kept in a place of their own; None for with the clones."""

    def wal(self) -> "DriveOutline | None":
        """The drive of the WAL, where it has one of its own; None where it lies with the data."""

    def has_snapshot(self, key: str) -> bool:
        """Is there a whole snapshot for this key? Half-made ones do not count."""

    def ageing(self) -> Ageing | None:
        """How a fresh snapshot is aged before it is used; None for drives that start fresh."""


class SnapshotStore(Protocol):
    """What preparing a snapshot asks of a drive. Servers are stopped while it works."""

    def workspace(self, name: str) -> Path:
        """An empty directory of our own (mode 0700, owned by the servers' account) for preparing a snapshot."""

    def lay_out(self, directory: Path) -> None:
        """Called once between initdb and the first start: what belongs on another drive of the set moves there."""

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """Keep `directory` as the golden snapshot of `key`: it is moved there, all or nothing.

        `what` names its contents for a user, where snapshots outlive the run.
        """

    def forget_snapshot(self, key: str) -> None:
        """Drop a snapshot; harmless when there is none."""


class Clones(Protocol):
    """What a trial asks of a drive."""

    def clone(self, key: str, name: str) -> Path:
        """A fresh copy of the snapshot to start a server on, one at a time; raises `SpaceError` before filling up.

        Raises `DriveError` where there is no such snapshot.
        """

    def how_cloned(self) -> str:
        """`reflink`, `copy` or `copy-on-write`, for the record."""

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """What the drive under this workspace or clone counts of itself, by source; empty if it counts nothing."""

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """What the drive under this clone says that it is, by source and name (`drive.policy`); for the record."""

    def write_back(self, directory: Path) -> None:
        """Write back what is dirty on the file systems of a clone, whoever made it dirty; raises `DriveError`."""

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """Remove a clone or workspace of ours.

        With `check`, a drive with a file system of its own has it checked first (and an emulated drive itself); raises
        `DamagedError` once all is given back.
        """


class Drive(DriveOutline, SnapshotStore, Clones, Protocol):
    """A place for clusters; everything below its root is ours and marked so."""

    def release(self) -> None:
        """Give everything back that is not asked to stay (snapshots stay if the drive was attached to keep them)."""


ALL, NOTHING, PREFIX, INDEPENDENT = "all", "nothing", "prefix", "independent"
DRAWS = (ALL, NOTHING, PREFIX, INDEPENDENT)
"""How unflushed writes are drawn: all reached the medium, none, the first ones in order, each piece for itself."""


@dataclass(frozen=True)
class CrashRequest:
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
    besides its blocks.
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

    `steps_ms` says how long each step took on the way there.
    """

    directory: Path
    report: CrashReport
    steps_ms: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class CrashingDrive(Protocol):
    """A drive whose power can be cut while a server goes on."""

    def cut(self, directory: Path, request: CrashRequest) -> CrashState:
        """A crash state of the drive under this clone; several may be there, but one cut alone may wait for a page.

        Raises `DamagedError` where its file system cannot be mounted or is not sound, `DriveError` where the drive
        cannot be cut; nothing is left of it then. May be called by several threads.
        """

    def discard_cut(self, state: CrashState) -> None:
        """Unmount a crash state and drop it with all that was written to it; harmless when it is gone."""
