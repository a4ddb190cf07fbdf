"""From what a study asks of its drives to drives that are attached: the one place that knows every kind.

Nothing is made on an image or an emulated drive before its first workspace, and with `planned` nothing at all, so that
a dry run changes nothing; what would not fit is refused here all the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from pgassay.bench.drive_counters import DriveCounters
from pgassay.bench.errors import DriveError
from pgassay.bench.lacking import Lacking
from pgassay.bench.places import Account, Mount, available_memory_bytes
from pgassay.bench.running import Runner
from pgassay.bench.store import Ageing, Drive, DriveOutline, Needs, Trait
from pgassay.drive import messages, snapshots
from pgassay.drive.block import blank, device
from pgassay.drive.block import messages as block_messages
from pgassay.drive.block.description import Description
from pgassay.drive.block.drive import OVERHEAD_SHARE, BlockDrive
from pgassay.drive.block.emulated import Daemon, EmulatedAgeing, EmulatedVolume
from pgassay.drive.block.erasing import require_trimmable, trim
from pgassay.drive.block.image import ImageVolume
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.block.leftovers import POINT
from pgassay.drive.block.preparation import Tell, tell_nobody
from pgassay.drive.directory import DirectoryDrive, saying
from pgassay.drive.options import AGED, DriveOptions, OneDrive
from pgassay.drive.root import Root, look_at_root
from pgassay.drive.sessions import Session, session_below
from pgassay.drive.sets import DriveSet
from pgassay.drive.sizing import LEAST_SHARE, WAL_KEPT_BYTES, closely, memory_bytes, scaled_pages, sized
from pgassay.drive.smart import SmartOfMounts
from pgassay.drive.trust import Asked, BelievedMounts, Known, nobody
from pgassay.files import Directory
from pgassay.study.drives import DriveKind

HOME = "disk"
PLANNED = "planned"
"""Stands for the name of a session that is not there."""
_WRITTEN_WHOLE = 1.1
"""Of its capacity, what a store holds beside the snapshots where one trial writes over the whole drive: no block is
shared with a snapshot any more, and a tenth is left to cleaning. Short windows write over little of it."""
_COMPRESSED_SHARE = 0.6
"""Share of that sum that a compressing drive's store is assumed to need, unless drive.data.store_bytes says it."""
_MEMORY_SHARE_MAX = 0.8
_CRASH_STATES_BYTES = 384 << 20
"""Of the store, where a loss of power is modelled: all versions in a cache of 32 MiB, and what recovery writes."""
_CRASH_TABLES = 3
"""Maps in addition to those of the snapshots: of what is durable, and of two crash states at a time."""


@dataclass
class Attacher:
    """Attaches drives for one lab. `owned` are the devices that the user said may be written over."""

    runner: Runner
    kernel: Kernel
    program: Daemon
    account: Account
    mount_of: Callable[[Path], Mount]
    allow_volatile: bool = False
    keep_snapshots: bool = True
    owned: frozenset[Path] = frozenset()
    snapshots_in: Path | None = None
    """Where directories and devices keep their snapshots; None for with their clones."""
    planned: bool = False
    """For a dry run: nothing is made."""
    foresees: bool = False
    """For a look ahead of a run."""
    memory: Callable[[], int] = available_memory_bytes
    """Bytes that programs can take of it now."""
    lacking: Lacking = field(default_factory=Lacking)
    """Told of memory, room, rights and programs that are not there; whatever else would be refused is refused."""
    _reserved_bytes: int = 0
    _wanted_bytes: int = 0
    known: Known = nobody
    """What known writes showed of drives' counters."""
    asked: Asked | None = None
    """Who asks real drives what they count; None for nvme-cli and smartctl."""
    tell: Tell = tell_nobody
    """Hears how far a device is written over before its file system is made."""
    _smart: BelievedMounts = field(init=False)
    _mounted: dict[Path, device.MountedDevice] = field(default_factory=dict)
    _foreseen: dict[Path, device.Use] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Ask a drive once, however many file systems lie on it."""
        self._smart = BelievedMounts(self.asked or SmartOfMounts(self.runner), self.known)

    def ahead(self) -> "Attacher":
        """The same for a look ahead, which knows the devices that are mounted, and refuses none for room that its file
        system may leave."""
        return replace(self, planned=True, foresees=True, _foreseen={})

    def attach(self, options: DriveOptions, directory: Path, needs: Needs) -> Drive:
        """The drives of one treatment; `directory` is where those without a place of their own live.

        Raises `UsageError` or `DriveError`: not allowed here, no room, no memory, not ours.
        """
        wal_apart = options.wal is not None
        data = self._one(options.data, options, directory, replace(needs, wal_least_bytes=0) if wal_apart else needs)
        if options.wal is None:
            return data
        try:
            wal = self._one(options.wal, options, directory, replace(needs, data_bytes=0, kept_bytes=0))
        except BaseException:
            data.release()
            raise
        return DriveSet(data, wal, self.account)

    def _one(self, drive: OneDrive, options: DriveOptions, directory: Path, needs: Needs) -> Drive:
        if drive.kind is DriveKind.DIRECTORY:
            place = drive.path or directory
            attached = self._directory(place)
            found = attached.mount().filesystem
            if drive.filesystem_name not in (None, found):
                attached.release()
                raise messages.other_filesystem(place, found, drive.filesystem.name)
            return attached
        self._require_means(drive)
        if drive.kind is DriveKind.DEVICE:
            shared = self._shared(drive)
            if shared is None:
                self._require_owned(drive)
            elif not self.planned:
                return shared.drive(self.account, self.mount_of, self._smart, self.snapshots_in)
        if self.planned:
            return self._planned(drive, options, directory, needs)
        session = session_below(directory, self.account, self.mount_of, self.allow_volatile)
        try:
            home = session.path / HOME
            with Directory.open(session.path) as ours:
                ours.mkdir(HOME, 0o711)
            if drive.kind is DriveKind.DEVICE:
                return self._device(drive, session)
            return self._block(drive, options, session.root, home, needs, lambda: session.close(self.keep_snapshots))
        except BaseException:
            session.close(keep_snapshots=True)
            raise

    def _require_means(self, drive: OneDrive) -> None:
        """Rights, devices and programs, which only a run needs."""
        try:
            self.kernel.require(drive.filesystem)
            if drive.kind.emulated:
                self.program.require()
        except DriveError as error:
            self.lacking.name(f"means of {drive.kind}", error)

    def _require_possible(self, described: Description, drive: OneDrive) -> None:
        """The program itself says whether there can be such a drive; a plan does without the program."""
        try:
            self.program.check(described)
        except DriveError as error:
            self.lacking.name(f"means of {drive.kind}", error)

    def _directory(self, place: Path) -> Drive:
        if self.planned:
            return PlannedDrive.look(
                place,
                self.account,
                self.mount_of,
                allow_volatile=self.allow_volatile,
                store=self._planned_store(),
            )
        return DirectoryDrive.attach(
            place,
            self.account,
            self.mount_of,
            allow_volatile=self.allow_volatile,
            keep_snapshots=self.keep_snapshots,
            counting=self._smart,
            snapshots_in=self.snapshots_in,
        )

    def _planned_store(self) -> Root | None:
        if self.snapshots_in is None:
            return None
        with saying(self.snapshots_in, "keep snapshots"):
            return look_at_root(self.snapshots_in, self.account, self.mount_of, self.allow_volatile)

    def _planned(self, drive: OneDrive, options: DriveOptions, directory: Path, needs: Needs) -> Drive:
        """A drive that is neither made nor mounted; its home is where the run's session would be."""
        with saying(directory, "attach a drive"):
            root = look_at_root(directory, self.account, self.mount_of, self.allow_volatile)
        home = root.sessions / PLANNED / HOME
        if drive.kind is DriveKind.DEVICE:
            assert drive.path is not None
            share = 0.0 if self.foresees else OVERHEAD_SHARE
            mount = device.to_be_mounted(drive.path, drive.filesystem, home / POINT, share)
            return PlannedDrive(
                DriveKind.DEVICE, lambda: mount, lambda key: False, self._planned_store(), self.mount_of
            )
        return self._block(drive, options, root, home, needs, lambda: None)

    def _block(
        self,
        drive: OneDrive,
        options: DriveOptions,
        root: Root,
        home: Path,
        needs: Needs,
        closing: Callable[[], None],
    ) -> BlockDrive:
        needed_bytes = needs.data_bytes + needs.wal_bytes
        capacity = drive.capacity_bytes or sized(needed_bytes)
        if drive.scaled:
            capacity = closely(needs, drive.filesystem.least_bytes)
        if capacity < drive.filesystem.least_bytes:
            raise messages.too_small(capacity, drive.filesystem.least_bytes)
        ageing = None
        kept = needs.kept_bytes + needs.snapshots * WAL_KEPT_BYTES
        described = options.described(drive)
        if described is None:
            volume: ImageVolume | EmulatedVolume = ImageVolume(root, home, capacity, self.kernel, self.mount_of)
            self._require_room(home, needed_bytes + kept)
        else:
            described = described.with_capacity(capacity)
            if drive.scaled and not described.has_shape:
                described = described.with_values({"drive.pages_per_block": scaled_pages(capacity)})
            share = _COMPRESSED_SHARE if described.compresses else 1.0
            crashes = _CRASH_STATES_BYTES if options.persistence or needs.crash_states else 0
            store_bytes = described.core.store_bytes or int((capacity * _WRITTEN_WHOLE + kept) * share) + crashes
            described = described.with_values({"emulation.store_bytes": store_bytes})
            self._require_possible(described, drive)
            volume = EmulatedVolume(home, described, self.kernel, self.program, options.persistence, options.dilation)
            aged = options.state == AGED
            share = min(LEAST_SHARE, options.compressed_to) if aged else LEAST_SHARE
            tables = needs.snapshots + (_CRASH_TABLES if crashes else 0)
            self._reserve(described, tables, home, share)
            if aged:
                ageing = EmulatedAgeing(volume, home, options.live_share, options.compressed_to)
        return BlockDrive(
            volume,
            drive.filesystem,
            self.kernel,
            home,
            self.account,
            self.mount_of,
            closing,
            ageing,
        )

    def _require_owned(self, drive: OneDrive) -> None:
        assert drive.path is not None
        if self.owned.isdisjoint((drive.path, drive.path.resolve())):
            raise messages.not_owned(drive.path)
        blank.require_ours(drive.path, self.runner)
        if drive.trim:
            require_trimmable(drive.path, "trim=on")

    def _device(self, drive: OneDrive, session: Session) -> Drive:
        assert drive.path is not None
        mounted = device.MountedDevice(
            drive.path,
            drive.filesystem,
            session.path / HOME / POINT,
            self.kernel,
            lambda: session.close(self.keep_snapshots),
            drive.precondition,
            device.state_of(drive.path, self.runner),
            (lambda point: trim(point, self.runner)) if drive.trim else None,
            self.tell,
        )
        found = mounted.drive(self.account, self.mount_of, self._smart, self.snapshots_in)
        self._mounted[drive.path.resolve()] = mounted
        return found

    def _shared(self, drive: OneDrive) -> device.MountedDevice | None:
        """The device, if another drive of ours uses it already; raises `UsageError` if that was asked otherwise.

        A plan mounts none, and remembers how each was asked for.
        """
        assert drive.path is not None
        path, asked = drive.path.resolve(), (drive.filesystem, drive.precondition, drive.trim)
        found = self._mounted.get(path)
        if found is not None and not found.used:
            found = None
        known = found.asked if found is not None else asked
        if self.planned:
            known = self._foreseen.setdefault(path, known)
        if known != asked:
            raise block_messages.used_otherwise(drive.path)
        return found

    def _reserve(self, described: Description, snapshots: int, home: Path, share: float) -> None:
        store_bytes = described.core.store_bytes
        assert store_bytes is not None
        in_file = described.core.store == "file"
        if in_file:
            self._require_room(home, store_bytes, stores=True)
        self._reserved_bytes += memory_bytes(described.core, snapshots, share)
        self._reserved_bytes += 0 if in_file else store_bytes
        available = int(self.memory() * _MEMORY_SHARE_MAX)
        if self._reserved_bytes > available:
            self.lacking.name("memory", block_messages.too_little_memory(self._reserved_bytes, available))

    def _require_room(self, home: Path, needed_bytes: int, *, stores: bool = False) -> None:
        """Of all the study's drives together, since none of them is filled yet."""
        self._wanted_bytes += needed_bytes
        free = self.mount_of(home).free_bytes
        if free < self._wanted_bytes:
            error = block_messages.too_little_room(home, self._wanted_bytes, free, "the drives", stores=stores)
            self.lacking.name("room", error)


class PlannedDrive:
    """A directory or device as a plan sees it: where clusters would be, what is kept there already; nothing is made.

    A mistyped `--data-dir` must not leave a directory behind, and a device must not be written over for the sake of a
    plan. Raises `DriveError` for all that would write. See `bench.store.Drive`.
    """

    def __init__(
        self,
        kind: str,
        mount: Callable[[], Mount],
        has: Callable[[str], bool],
        store: Root | None,
        mount_of: Callable[[Path], Mount],
    ) -> None:
        """`store` is where snapshots would be kept, if not here."""
        self.kind = kind
        self._mount = mount
        self._has = has
        self._store = store
        self._mount_of = mount_of

    @classmethod
    def look(
        cls,
        directory: Path,
        account: Account,
        mount_of: Callable[[Path], Mount],
        *,
        allow_volatile: bool = False,
        store: Root | None = None,
    ) -> "PlannedDrive":
        """A directory, with the refusals of `DirectoryDrive.attach`."""
        with saying(directory, "attach a drive"):
            root = look_at_root(directory, account, mount_of, allow_volatile)
        return cls(
            DriveKind.DIRECTORY,
            lambda: mount_of(root.path),
            lambda key: snapshots.find(root, key) is not None,
            store,
            mount_of,
        )

    def mount(self) -> Mount:
        """The file system that the run would use, with its free space now."""
        return self._mount()

    def has_snapshot(self, key: str) -> bool:
        """Whether an earlier run kept a whole snapshot of this key; never on a device itself."""
        return self._has(key) if self._store is None else snapshots.find(self._store, key) is not None

    def snapshot_mount(self) -> Mount | None:
        """See `Drive`."""
        return None if self._store is None else self._mount_of(self._store.path)

    def wal(self) -> DriveOutline | None:
        """None: WAL lies with the data."""
        return None

    def ageing(self) -> Ageing | None:
        """None: a plan ages nothing."""
        return None

    def release(self) -> None:
        """See `Drive`: there is nothing to give back."""

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`: nothing is there to count."""
        return {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """See `Drive`: nothing is there to ask."""
        return {}

    def _only_planned(self, *arguments: Any, **more: Any) -> NoReturn:
        raise messages.only_planned()

    workspace = lay_out = take_snapshot = snapshot_files = clone = forget_snapshot = _only_planned
    how_cloned = write_back = discard = _only_planned
