"""Where PostgreSQL's bytes go, by interface: golden snapshots, clones and the state they start from.

A drive keeps one prepared snapshot for each key (build, initdb options, data, table options, age) and gives every trial
a fresh clone of it: by reflink where the file system can, else by copy. Snapshots are taken with the server stopped.
"""

from pathlib import Path
from typing import Protocol

from pgassay.bench.places import Mount


class Drive(Protocol):
    """A place for clusters; everything below its root is ours and marked so."""

    @property
    def kind(self) -> str:
        """`directory`, `image`, `ssd` …"""

    def mount(self) -> Mount:
        """The file system, its device and its free space now."""

    def workspace(self, name: str) -> Path:
        """An empty directory of our own (mode 0700, owned by the servers' account) for preparing a snapshot."""

    def has_snapshot(self, key: str) -> bool:
        """Is there a whole snapshot for this key? Half-made ones do not count."""

    def take_snapshot(self, key: str, directory: Path) -> None:
        """Keep `directory` (server stopped) as the golden snapshot of `key`; moves it, all or nothing."""

    def clone(self, key: str, name: str) -> Path:
        """A fresh copy of the snapshot to start a server on; raises `bench.errors.SpaceError` before filling up."""

    def snapshot_bytes(self, key: str) -> int:
        """The snapshot's size on disk."""

    def how_cloned(self) -> str:
        """`reflink` or `copy`, for the record."""

    def discard(self, directory: Path) -> None:
        """Remove a clone or workspace of ours."""

    def release(self) -> None:
        """Give everything back that is not asked to stay (snapshots go with `keep=False`)."""
