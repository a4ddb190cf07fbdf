"""A directory or device as a plan sees it: where clusters would be, what is kept there already; nothing is made.

A mistyped `--data-dir` must not leave a directory behind, and a device must not be written over for the sake of a plan.
Drives with an image or a program make nothing before their first workspace, and need no such stand-in.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from pgassay.bench.drive_counters import DriveCounters
from pgassay.bench.places import Account, Mount
from pgassay.bench.store import Ageing, Trait
from pgassay.drive import messages, snapshots
from pgassay.drive.directory import saying
from pgassay.drive.root import look_at_root
from pgassay.study.drives import DriveKind


class PlannedDrive:
    """See `bench.store.Drive`; raises `DriveError` for all that would write."""

    def __init__(self, kind: str, mount: Callable[[], Mount], has: Callable[[str], bool]) -> None:
        self.kind = kind
        self._mount = mount
        self._has = has

    @classmethod
    def look(
        cls, directory: Path, account: Account, mount_of: Callable[[Path], Mount], *, allow_volatile: bool = False
    ) -> "PlannedDrive":
        """A directory, with the refusals of `DirectoryDrive.attach`."""
        with saying(directory, "attach a drive"):
            root = look_at_root(directory, account, mount_of, allow_volatile)
        return cls(DriveKind.DIRECTORY, lambda: mount_of(root.path), lambda key: snapshots.find(root, key) is not None)

    def mount(self) -> Mount:
        """See `Drive`."""
        return self._mount()

    def has_snapshot(self, key: str) -> bool:
        """See `Drive`."""
        return self._has(key)

    def ageing(self) -> Ageing | None:
        """See `Drive`."""
        return None

    def release(self) -> None:
        """See `Drive`: there is nothing to give back."""

    def workspace(self, name: str) -> Path:
        """See `Drive`."""
        raise messages.only_planned()

    def lay_out(self, directory: Path) -> None:
        """See `Drive`."""
        raise messages.only_planned()

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`."""
        raise messages.only_planned()

    def clone(self, key: str, name: str) -> Path:
        """See `Drive`."""
        raise messages.only_planned()

    def forget_snapshot(self, key: str) -> None:
        """See `Drive`."""
        raise messages.only_planned()

    def snapshot_bytes(self, key: str) -> int:
        """See `Drive`."""
        raise messages.only_planned()

    def how_cloned(self) -> str:
        """See `Drive`."""
        raise messages.only_planned()

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`."""
        return {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """See `Drive`."""
        return {}

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`."""
        raise messages.only_planned()
