"""A drive that is a directory on the user's own file system: golden snapshots, and clones of them to run on.

Below `DIRECTORY/pgassay/`: `snapshots/`, shared by every lab that uses the directory, and `sessions/`, one for each
living lab, with its workspaces and clones. Snapshots may be kept below another directory, so that the measured drive
holds one set of data at a time.
"""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from pgassay import copying
from pgassay.bench.drive_counters import DATA, DriveCounters
from pgassay.bench.errors import SpaceError
from pgassay.bench.places import Account, Mount
from pgassay.bench.store import Ageing, DriveOutline, Trait
from pgassay.copying import copy_tree
from pgassay.drive import snapshots
from pgassay.drive.root import Root, saying
from pgassay.drive.sessions import Repaired, Session, require_clean, session_below
from pgassay.drive.smart import BelievedCounters
from pgassay.files import Directory, UntrustedError
from pgassay.study.drives import COUNTERS, DriveKind

RESERVE_BYTES = 64 << 20
"""Room that a clone needs beside its data: a server's own files and the first segments of WAL."""

Counting = Callable[[Mount], Mapping[str, DriveCounters]]
"""What the device under a mount counts of itself, by source."""


def nothing(mount: Mount) -> Mapping[str, DriveCounters]:
    """No counters: the drive below a directory is not asked."""
    return {}


class DirectoryDrive:
    """See `bench.store.Drive`; made by `attach`."""

    kind = DriveKind.DIRECTORY

    def __init__(
        self,
        root: Root,
        session: Session,
        account: Account,
        mount_of: Callable[[Path], Mount],
        keep_snapshots: bool,
        counting: Counting,
        keeper: Session | None = None,
    ) -> None:
        """`keeper` is the session below the directory where snapshots are kept, if that is another one."""
        self._root = root
        self._session = session
        self._account = account
        self._mount_of = mount_of
        self._keep_snapshots = keep_snapshots
        self._counting = counting
        self._keeper = keeper
        self._store = keeper.root if keeper is not None else root
        self._can_share = copying.supported(session.path, keeper.path if keeper is not None else None)
        self._all_shared = self._can_share

    @classmethod
    def attach(
        cls,
        directory: Path,
        account: Account,
        mount_of: Callable[[Path], Mount],
        *,
        allow_volatile: bool = False,
        keep_snapshots: bool = True,
        counting: Counting = nothing,
        snapshots_in: Path | None = None,
    ) -> Self:
        """Use (or make) `directory/pgassay`, remove what killed labs left, open a session of our own.

        The same in `snapshots_in`, if snapshots are to be kept there. Raises `DriveError`: volatile file system,
        foreign or unreachable directory, no permission.
        """
        with saying(directory, "attach a drive"):
            session = session_below(directory, account, mount_of, allow_volatile)
        try:
            if snapshots_in is None:
                return cls(session.root, session, account, mount_of, keep_snapshots, counting)
            with saying(snapshots_in, "keep snapshots"):
                keeper = session_below(snapshots_in, account, mount_of, allow_volatile)
            try:
                return cls(session.root, session, account, mount_of, keep_snapshots, counting, keeper)
            except BaseException:
                keeper.close(keep_snapshots=True)
                raise
        except BaseException:
            session.close(keep_snapshots=True)
            raise

    @property
    def repaired(self) -> Repaired:
        """What attaching removed of killed labs."""
        return self._session.repaired

    def mount(self) -> Mount:
        """The file system under the root, with its free space now."""
        return self._mount_of(self._root.path)

    def snapshot_mount(self) -> Mount | None:
        """See `Drive`: the file system of the other directory, if there is one."""
        return self._mount_of(self._store.path) if self._keeper is not None else None

    def wal(self) -> DriveOutline | None:
        """None: WAL lies with the data."""
        return None

    def workspace(self, name: str) -> Path:
        """See `Drive`; raises `DriveError` for a name in use."""
        path = self._session.place(name)
        with saying(path, "make a workspace"), Directory.open(path.parent) as session:
            session.mkdir(path.name, 0o700, self._account.owner)
        return path

    def lay_out(self, directory: Path) -> None:
        """See `Drive`: all stays here."""

    def has_snapshot(self, key: str) -> bool:
        """Whether a whole snapshot of this key is kept."""
        return snapshots.find(self._store, key) is not None

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; raises `DriveError` if a server runs there or was not stopped cleanly."""
        self._session.require_stopped(directory)
        require_clean(directory)
        owner = self._keeper or self._session
        with saying(self._store.path, "keep a snapshot"):
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
            with saying(self._root.path, "clone a snapshot"):
                copied = copy_tree(snapshot.data, path, share=self._can_share)
        except BaseException:
            with contextlib.suppress(OSError, UntrustedError), Directory.open(path.parent) as session:
                session.remove_tree(path.name)
            raise
        snapshots.used(self._store, key)
        self._all_shared = self._all_shared and copied.by_reference
        return path

    def snapshot_files(self, key: str) -> Path | None:
        """See `Drive`: every whole snapshot is a directory of files."""
        found = snapshots.find(self._store, key)
        return None if found is None else found.data

    def forget_snapshot(self, key: str) -> None:
        """Delete the snapshot, harmless when there is none; raises `DriveError`."""
        with saying(self._store.path, "drop a snapshot"):
            snapshots.forget(self._store, key)

    def how_cloned(self) -> str:
        """See `Drive`: `reflink` only while every file of every clone shares its blocks."""
        return "reflink" if self._all_shared else "copy"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`: a directory counts nothing of its own, the device under it may."""
        return self._counting(self.mount())

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """See `Drive`: whether what the device under it counts was proven; all else is in the host's facts."""
        found = self.counters(directory).values()
        return {f"{DATA}.{COUNTERS}": Trait(each.words) for each in found if isinstance(each, BelievedCounters)}

    def ageing(self) -> Ageing | None:
        """None: what lies under a directory cannot be aged."""
        return None

    def write_back(self, directory: Path) -> None:
        """See `Drive`; data and WAL are on one file system."""
        copying.sync_filesystem(directory)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`; nothing happens for one that is gone already. Refuses what is not ours or still runs.

        The file system is not ours alone, and stays mounted: it cannot be checked.
        """
        self._session.require_stopped(directory)
        with saying(self._root.path, "remove a clone"), Directory.open(directory.parent) as session:
            session.remove_tree(directory.name)

    def release(self) -> None:
        """See `Drive`; calling it twice is harmless. Without `keep_snapshots` all that is ours goes."""
        try:
            with saying(self._root.path, "give the drive back"):
                self._session.close(self._keep_snapshots)
        finally:
            if self._keeper is not None:
                with saying(self._store.path, "give the place of snapshots back"):
                    self._keeper.close(self._keep_snapshots)
