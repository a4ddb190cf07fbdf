"""A drive that is a directory on the user's own file system: golden snapshots, and clones of them to run on.

Below `DIRECTORY/pgassay/`: `snapshots/`, shared by every lab that uses the directory, and `sessions/`, one for each
living lab, with its workspaces and clones. Snapshots may be kept below another directory, so that the measured drive
holds one set of data at a time.
"""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from pgassay import copying
from pgassay.copying import copy_tree
from pgassay.drive import snapshots
from pgassay.drive.root import refusals_in, remove_tree
from pgassay.drive.sessions import Session, require_clean, session_below
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.drive_counters import SMART, DriveCounters
from pgassay.interfaces.errors import SpaceError
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.store import Ageing, DriveOutline, Trait
from pgassay.study.drives import DriveKind

RESERVE_BYTES = 64 << 20
"""Room that a clone needs besides its data: a server's own files and the first segments of WAL."""

CountersOf = Callable[[str], DriveCounters | None]
"""The counters of the drive that a device is, or is a part of; None where there are none."""


def nothing(device: str) -> DriveCounters | None:
    """No counters: the drive below a directory is not asked."""
    return None


class DirectoryDrive:
    """See `interfaces.store.Drive`."""

    kind = DriveKind.DIRECTORY

    def __init__(
        self,
        directory: Path,
        account: Account,
        mount_of: Callable[[Path], Mount],
        *,
        allow_volatile: bool = False,
        keep_snapshots: bool = True,
        counting: CountersOf = nothing,
        snapshots_in: Path | None = None,
    ) -> None:
        """Use (or make) `directory/pgassay`, remove what killed labs left, open a session of our own.

        The same in `snapshots_in`, if snapshots are to be kept there. Raises `DriveError`: volatile file system,
        foreign or unreachable directory, no permission.
        """
        self._account, self._mount_of, self._keep_snapshots, self._counting = (
            account,
            mount_of,
            keep_snapshots,
            counting,
        )
        with contextlib.ExitStack() as undone:
            with refusals_in(directory, "attach a drive"):
                self._session = session_below(directory, account, mount_of, allow_volatile)
            undone.callback(self._session.close, keep_snapshots=True)
            self._keeper: Session | None = None
            if snapshots_in is not None:
                with refusals_in(snapshots_in, "keep snapshots"):
                    self._keeper = session_below(snapshots_in, account, mount_of, allow_volatile)
                undone.callback(self._keeper.close, keep_snapshots=True)
            self._can_share = copying.supported(self._session.path, self._keeper.path if self._keeper else None)
            undone.pop_all()
        self._root, self._store = self._session.root, (self._keeper or self._session).root
        self._all_shared = self._can_share

    def mount(self) -> Mount:
        return self._mount_of(self._root.path)

    def snapshot_mount(self) -> Mount | None:
        """See `Drive`: the file system of the other directory, if there is one."""
        return self._mount_of(self._store.path) if self._keeper is not None else None

    def wal(self) -> DriveOutline | None:
        return None

    def workspace(self, name: str) -> Path:
        path = self._session.place(name)
        with refusals_in(path, "make a workspace"), Directory.open(path.parent) as session:
            session.mkdir(path.name, 0o700, self._account.owner)
        return path

    def lay_out(self, directory: Path) -> None:
        """See `Drive`: all stays here."""

    def has_snapshot(self, key: str) -> bool:
        return snapshots.find(self._store, key) is not None

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; raises `DriveError` if a server runs there or was not stopped cleanly."""
        self._session.require_stopped(directory)
        require_clean(directory)
        owner = self._keeper or self._session
        with refusals_in(self._store.path, "keep a snapshot"):
            snapshots.take(self._store, key, directory, owner.path.name, what)

    def clone(self, key: str, name: str) -> Path:
        """See `Drive`; raises `SpaceError` before writing, `DriveError` for an unknown key or a name in use."""
        snapshot = snapshots.require(self._store, key)
        path = self._session.place(name)
        needed_bytes = RESERVE_BYTES + (0 if self._can_share else snapshot.size_bytes)
        free_bytes = self.mount().free_bytes
        if free_bytes < needed_bytes:
            raise SpaceError(
                f'"{self._root.path}" has {free_bytes >> 20} MB free, {-(-needed_bytes >> 20)} MB are needed',
                "free some space, name another --data-dir, or use a smaller scale",
            )
        try:
            with refusals_in(self._root.path, "clone a snapshot"):
                copied = copy_tree(snapshot.data, path, share=self._can_share)
        except BaseException:
            with contextlib.suppress(OSError, UntrustedError):
                remove_tree(path)
            raise
        snapshots.used(self._store, key)
        self._all_shared = self._all_shared and copied.shared == copied.files
        return path

    def forget_snapshot(self, key: str) -> None:
        """Delete the snapshot, harmless when there is none; raises `DriveError`."""
        with refusals_in(self._store.path, "drop a snapshot"):
            snapshots.forget(self._store, key)

    def how_cloned(self) -> str:
        """See `Drive`: `reflink` only while every file of every clone shares its blocks."""
        return "reflink" if self._all_shared else "copy"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`: a directory counts nothing of its own, the device under it may."""
        found = self._counting(self.mount().device)
        return {} if found is None else {SMART: found}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """See `Drive`: none, all is in the host's facts."""
        return {}

    def ageing(self) -> Ageing | None:
        return None

    def write_back(self, directory: Path) -> None:
        with refusals_in(self._root.path, "write back a clone"):
            copying.sync_filesystem(directory)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`; nothing happens for one that is gone already. Refuses what is not ours or still runs.

        The file system is not ours alone, and stays mounted: it cannot be checked.
        """
        self._session.require_stopped(directory)
        with refusals_in(self._root.path, "remove a clone"):
            remove_tree(directory)

    def release(self) -> None:
        """See `Drive`; calling it twice is harmless. Without `keep_snapshots` all that is ours goes."""
        try:
            with refusals_in(self._root.path, "give the drive back"):
                self._session.close(self._keep_snapshots)
        finally:
            if self._keeper is not None:
                with refusals_in(self._store.path, "give the place of snapshots back"):
                    self._keeper.close(self._keep_snapshots)
