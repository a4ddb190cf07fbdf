"""A drive in memory, for simulating whole runs: same promises as a real one, no file is touched.

What a fake server keeps "on disk" goes into `contents`, by directory: a snapshot keeps a copy of it, a clone gives one.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.errors import DamagedError, DriveError, SpaceError
from pgassay.interfaces.places import Mount
from pgassay.interfaces.store import Ageing, DriveOutline, Trait

SNAPSHOT_BYTES = 1 << 30


class FakeDrive:
    """See `interfaces.store.Drive`. `faults` maps the n-th clone (from 1) to what it raises; `calls` logs every change;
    `described` is what it says of itself, `to_age` how it is to be aged, `damage` what a check finds."""

    kind = "directory"

    def __init__(
        self,
        root: Path = Path("/drive"),
        free_bytes: int = 100 << 30,
        keep_snapshots: bool = True,
        reflink: bool = True,
        faults: Mapping[int, Exception] | None = None,
    ) -> None:
        self.contents: dict[Path, Any] = {}
        self.calls: list[str] = []
        self.faults = dict(faults or {})
        self.described: dict[str, Trait] = {}
        self.to_age: Ageing | None = None
        self.counts: dict[str, DriveCounters] = {}
        self.damage = ""
        self.snapshots_on: Mount | None = None
        self.wal_on: DriveOutline | None = None
        self._root = root
        self._free_bytes = free_bytes
        self._keep_snapshots = keep_snapshots
        self._reflink = reflink
        self._snapshots: dict[str, Any] = {}
        self._clones = 0

    @property
    def leftovers(self) -> tuple[Path, ...]:
        """Workspaces and clones that nobody has discarded."""
        return tuple(sorted(self.contents))

    def repair(self) -> None:
        """What attaching does after a killed lab: remove its leftovers."""
        self.contents.clear()

    def mount(self) -> Mount:
        """An xfs of 200 GiB with the free space that was given."""
        return Mount(self._root, self._root, "xfs", "/dev/fake", "rw", 200 << 30, self._free_bytes, self._reflink)

    def snapshot_mount(self) -> Mount | None:
        """What the test put into `snapshots_on`."""
        return self.snapshots_on

    def wal(self) -> DriveOutline | None:
        """What the test put into `wal_on`."""
        return self.wal_on

    def workspace(self, name: str) -> Path:
        """A path with empty contents; raises `DriveError` for a name in use."""
        path = self._place(name)
        self.calls.append(f"workspace {name}")
        self.contents[path] = {}
        return path

    def lay_out(self, directory: Path) -> None:
        """Nothing moves: there is one drive."""

    def has_snapshot(self, key: str) -> bool:
        """Whether `take_snapshot` was called for this key."""
        return key in self._snapshots

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """Keep the contents of the workspace, which is gone then; the first of a key stays."""
        self._require_ours(directory)
        self.calls.append(f"snapshot {key}")
        taken = self.contents.pop(directory)
        self._snapshots.setdefault(key, taken)

    def clone(self, key: str, name: str) -> Path:
        """A path with a copy of the snapshot's contents; raises the planned fault, `DriveError` or `SpaceError`."""
        self._clones += 1
        if self._clones in self.faults:
            raise self.faults[self._clones]
        if key not in self._snapshots:
            raise DriveError(f'there is no snapshot for key "{key}"')
        path = self._place(name)
        if not self._reflink and self._free_bytes < SNAPSHOT_BYTES:
            raise SpaceError(f'"{self._root}" has too little room', "free some room")
        self.calls.append(f"clone {name}")
        self.contents[path] = copy.deepcopy(self._snapshots[key])
        return path

    def forget_snapshot(self, key: str) -> None:
        """Drop it; harmless when there is none."""
        self._snapshots.pop(key, None)

    def how_cloned(self) -> str:
        """`reflink` or `copy`, as constructed."""
        return "reflink" if self._reflink else "copy"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """What the test put into `counts`."""
        return self.counts

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """What the test put into `described`."""
        return dict(self.described)

    def ageing(self) -> Ageing | None:
        """What the test put into `to_age`."""
        return self.to_age

    def write_back(self, directory: Path) -> None:
        """Only log it: nothing is ever dirty here; raises `DriveError` for what is gone."""
        if directory not in self.contents:
            raise DriveError(f'could not write back a clone in "{directory}": No such file or directory')
        self.calls.append(f"write back {directory.name}")

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """Forget its contents; with `check`, raises `DamagedError` where the test set `damage`."""
        self._require_ours(directory)
        self.calls.append(f"discard {directory.name}")
        self.contents.pop(directory, None)
        if check and self.damage:
            raise DamagedError(self.damage)

    def release(self) -> None:
        """Forget all contents, and the snapshots unless they are kept."""
        self.calls.append("release")
        self.contents.clear()
        if not self._keep_snapshots:
            self._snapshots.clear()

    def _place(self, name: str) -> Path:
        path = self._root / name
        if not name or "/" in name or name in (".", ".."):
            raise DriveError(f'"{name}" cannot name a workspace or clone')
        if path in self.contents:
            raise DriveError(f'there is a workspace or clone named "{name}" already')
        return path

    def _require_ours(self, directory: Path) -> None:
        if directory.parent != self._root:
            raise DriveError(f'"{directory}" is no workspace or clone of this drive: it is left alone')
