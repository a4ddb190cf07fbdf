"""What lies under a file system of ours, by interface: a disk whose whole contents can be kept, restored and counted.

An image keeps files, an emulated drive keeps blocks inside its daemon. `keep`, `restore` and `blank` want the disk
detached: contents never change under a mounted file system.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pgassay.bench.drive_counters import Counted
from pgassay.bench.store import Trait


class Volume(Protocol):
    """One disk. Everything raises `DriveError`; `SpaceError` before the host's disk or memory would run out."""

    @property
    def kind(self) -> str:
        """`image`, `ssd`, `csd`, `device` …"""

    @property
    def capacity_bytes(self) -> int:
        """What the file system sees."""

    @property
    def how_restored(self) -> str:
        """`reflink`, `copy` or `copy-on-write`, for the record."""

    @property
    def counts(self) -> bool:
        """Does it count anything of its own?"""

    def facts(self) -> Mapping[str, str]:
        """What it is, for the record: model, codec, policy, timing."""

    def attach(self) -> Path:
        """The block device with the present contents; the same until `detach`."""

    def detach(self) -> None:
        """Give the block device back; contents stay. Harmless when there is none."""

    def blank(self) -> None:
        """As it came from the factory."""

    def keep(self, key: str, what: str = "") -> None:
        """Keep the present contents under `key`; they are gone from the disk. The first of a key stays.

        `what` tells a user what they are, where they outlive the run.
        """

    def restore(self, key: str) -> None:
        """Bring back what was kept; raises for an unknown key."""

    def has(self, key: str) -> bool:
        """Is there something whole under this key?"""

    def forget(self, key: str) -> None:
        """Drop it; harmless when it is not there."""

    def kept_bytes(self, key: str) -> int:
        """The room that it takes."""

    def counters(self) -> Counted:
        """Cumulative counters of the drive itself; empty for one that counts nothing."""

    def traits(self) -> Mapping[str, Trait]:
        """What the drive says that it is; empty for one that cannot be asked."""

    def check(self) -> None:
        """Whether what it keeps is sound; raises `DamagedError`. Contents are the file system's matter."""

    def close(self) -> None:
        """Give everything back; calling it twice is harmless."""
