"""From what a study asks of its drives to drives that are attached: the one place that knows every kind.

Nothing is made on an image or an emulated drive before its first workspace, and with `planned` nothing at all, so that
a dry run changes nothing; what would not fit is refused here all the same.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from pgassay import copying
from pgassay.drive import snapshots
from pgassay.drive.block import device
from pgassay.drive.block.daemon import Daemon
from pgassay.drive.block.description import Description
from pgassay.drive.block.drive import OVERHEAD_SHARE, BlockDrive, Volume
from pgassay.drive.block.emulated import EmulatedAgeing, EmulatedVolume
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.image import ImageVolume, plugin_drives, too_little_room
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.directory import CountersOf, DirectoryDrive, nothing
from pgassay.drive.options import (
    AGED,
    LEAST_SHARE,
    WAL_KEPT_BYTES,
    DriveOptions,
    OneDrive,
    closely,
    memory_bytes,
    scaled_pages,
    sized,
)
from pgassay.drive.root import Root, look_at_root, refusals_in
from pgassay.drive.sessions import POINT, session_below
from pgassay.errors import UsageError
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.drive_counters import DATA, SMART, SMART_WAL, WAL, DriveCounters
from pgassay.interfaces.errors import DamagedError, DriveError, Missing, SpaceError
from pgassay.interfaces.places import Account, Mount, available_memory_bytes
from pgassay.interfaces.running import Runner
from pgassay.interfaces.store import Ageing, Drive, DriveOutline, Needs, Trait
from pgassay.study.drives import DriveKind
from pgassay.study.units import format_size

HOME = "disk"
PLANNED = "planned"
"""Stands for the name of a session that is not there."""
_WRITTEN_WHOLE = 1.1
"""Of its capacity, what a store holds besides the snapshots where one trial writes over the whole drive: no block is
shared with a snapshot any more, and a tenth is left to cleaning. Short windows write over little of it."""
_COMPRESSED_SHARE = 0.6
"""Share of that sum that a compressing drive's store is assumed to need, unless drive.data.store_bytes says it."""
_MEMORY_SHARE_MAX = 0.8
_CRASH_STATES_BYTES = 384 << 20
"""Of the store, where a loss of power is modelled: all versions in a cache of 32 MiB, and what recovery writes."""
_CRASH_TABLES = 3
"""Maps in addition to those of the snapshots: of what is durable, and of two crash states at a time."""


STORE_BOUND = (
    "a store counts every snapshot and a drive that one trial writes over whole, of which short windows use about half:"
    " drive.data.store_bytes takes less, at the risk of drive_store_full"
)


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
    missing: Missing = field(default_factory=Missing)
    """Gets memory, room, rights and programs that are not there; whatever else would be refused is refused."""
    _reserved_bytes: int = 0
    _wanted_bytes: int = 0
    counting: CountersOf = nothing
    """Who asks real drives what they count."""
    _mounted: dict[Path, device.MountedDevice] = field(default_factory=dict)
    _foreseen: dict[Path, Filesystem] = field(default_factory=dict)

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
            return self._directory(drive, drive.path or directory)
        with self._noted(drive):
            self.kernel.require(drive.filesystem)
            if drive.kind.emulated:
                self.program.require()
        if drive.kind is DriveKind.DEVICE:
            shared = self._shared(drive)
            if shared is None:
                assert drive.path is not None
                if self.owned.isdisjoint((drive.path, drive.path.resolve())):
                    raise UsageError(
                        f'"{drive.path}" would be overwritten, and --i-own does not name it',
                        f"if you need nothing on it: --i-own {drive.path}",
                    )
                device.require_ours(drive.path, self.runner)
            elif not self.planned:
                return shared.drive(self.account, self.mount_of, self.counting, self.snapshots_in)
        if self.planned:
            return self._planned(drive, options, directory, needs)
        session = session_below(directory, self.account, self.mount_of, self.allow_volatile)
        try:
            home = session.path / HOME
            with Directory.open(session.path) as ours:
                ours.mkdir(HOME, 0o711)
            if drive.kind is DriveKind.DEVICE:
                assert drive.path is not None
                mounted = device.MountedDevice(
                    drive.path,
                    drive.filesystem,
                    session.path / HOME / POINT,
                    self.kernel,
                    lambda: session.close(self.keep_snapshots),
                )
                found = mounted.drive(self.account, self.mount_of, self.counting, self.snapshots_in)
                self._mounted[drive.path.resolve()] = mounted
                return found
            return self._block(drive, options, session.root, home, needs, lambda: session.close(self.keep_snapshots))
        except BaseException:
            session.close(keep_snapshots=True)
            raise

    @contextlib.contextmanager
    def _noted(self, drive: OneDrive) -> Iterator[None]:
        """Rights, devices and programs, which only a run needs: what is refused meanwhile goes to `missing`."""
        try:
            yield
        except DriveError as error:
            self.missing.name(f"means of {drive.kind}", error)

    def _directory(self, drive: OneDrive, place: Path) -> Drive:
        attached: PlannedDrive | DirectoryDrive
        if self.planned:
            with refusals_in(place, "attach a drive"):
                root = look_at_root(place, self.account, self.mount_of, self.allow_volatile)
            attached = self._seen_by_plan(DriveKind.DIRECTORY, lambda: self.mount_of(root.path), root)
        else:
            attached = DirectoryDrive(
                place,
                self.account,
                self.mount_of,
                allow_volatile=self.allow_volatile,
                keep_snapshots=self.keep_snapshots,
                counting=self.counting,
                snapshots_in=self.snapshots_in,
            )
        found = attached.mount().filesystem
        if drive.filesystem_name not in (None, found):
            attached.release()
            raise UsageError(
                f'"{place}" is on {found}, not on {drive.filesystem.name}',
                "name another directory, or use drive.data=image",
            )
        return attached

    def _seen_by_plan(self, kind: str, mount: Callable[[], Mount], own: Root | None) -> "PlannedDrive":
        """`own` is where the drive keeps its snapshots, unless they have a place of their own."""
        if self.snapshots_in is None:
            return PlannedDrive(kind, mount, None, own)
        with refusals_in(self.snapshots_in, "keep snapshots"):
            store = look_at_root(self.snapshots_in, self.account, self.mount_of, self.allow_volatile)
        return PlannedDrive(kind, mount, lambda: self.mount_of(store.path), store)

    def _planned(self, drive: OneDrive, options: DriveOptions, directory: Path, needs: Needs) -> Drive:
        """A drive that is neither made nor mounted; its home is where the run's session would be."""
        with refusals_in(directory, "attach a drive"):
            root = look_at_root(directory, self.account, self.mount_of, self.allow_volatile)
        home = root.sessions / PLANNED / HOME
        if drive.kind is DriveKind.DEVICE:
            assert drive.path is not None
            share = 0.0 if self.foresees else OVERHEAD_SHARE
            mount = device.to_be_mounted(drive.path, drive.filesystem, home / POINT, share)
            return self._seen_by_plan(DriveKind.DEVICE, lambda: mount, None)
        return self._block(drive, options, root, home, needs, lambda: None)

    def _block(
        self, drive: OneDrive, options: DriveOptions, root: Root, home: Path, needs: Needs, closing: Callable[[], None]
    ) -> BlockDrive:
        needed_bytes = needs.data_bytes + needs.wal_bytes
        capacity = drive.capacity_bytes or sized(needed_bytes)
        if drive.scaled:
            capacity = closely(needs, drive.filesystem.kind.capacity_min_bytes)
        drive.filesystem.require_room(capacity)
        ageing = None
        kept = needs.kept_bytes + needs.snapshots * WAL_KEPT_BYTES
        described = options.described(drive)
        if described is None:
            made = plugin_drives()[drive.plugin].volume if drive.plugin else ImageVolume
            volume: Volume = made(root, home, capacity, self.kernel, self.mount_of, drive.label)
            self._require_room(home, needed_bytes + kept)
        else:
            described = described.with_capacity(capacity)
            if drive.scaled and not described.has_shape:
                described = described.with_values({"drive.pages_per_block": scaled_pages(capacity)})
            share = _COMPRESSED_SHARE if described.compresses else 1.0
            crashes = _CRASH_STATES_BYTES if options.persistence or needs.crash_states else 0
            store_bytes = described.core.store_bytes or int((capacity * _WRITTEN_WHOLE + kept) * share) + crashes
            described = described.with_values({"emulation.store_bytes": store_bytes})
            with self._noted(drive):
                self.program.check(described)
            volume = EmulatedVolume(home, described, self.kernel, self.program, options.persistence, options.dilation)
            aged = options.state == AGED
            share = min(LEAST_SHARE, options.compressed_to) if aged else LEAST_SHARE
            tables = needs.snapshots + (_CRASH_TABLES if crashes else 0)
            self._reserve(described, tables, home, share)
            if aged:
                ageing = EmulatedAgeing(volume, home, options.live_share, options.compressed_to)
        return BlockDrive(volume, drive.filesystem, self.kernel, home, self.account, self.mount_of, closing, ageing)

    def _shared(self, drive: OneDrive) -> device.MountedDevice | None:
        """The device, if another drive of ours uses it already; raises `UsageError` if that was asked otherwise.

        A plan mounts none, and remembers how each was asked for.
        """
        assert drive.path is not None
        path, asked = drive.path.resolve(), drive.filesystem
        found = self._mounted.get(path)
        if found is not None and not found.used:
            found = None
        known = found.filesystem if found is not None else asked
        if self.planned:
            known = self._foreseen.setdefault(path, known)
        if known != asked:
            raise UsageError(
                f'"{drive.path}" is used with two file systems in one study',
                "give all its uses the same filesystem, mkfs and mount_options, or a partition each",
            )
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
            needed, there = format_size(self._reserved_bytes), format_size(available)
            error = SpaceError(
                f"the drives' stores need {needed} of memory, {there} are available",
                "keep them in a file with drive.data.store=file, or make the drives smaller with drive.data.capacity;"
                f" {STORE_BOUND}",
            )
            self.missing.name("memory", error)

    def _require_room(self, home: Path, needed_bytes: int, *, stores: bool = False) -> None:
        """Of all the study's drives together, since none of them is filled yet."""
        self._wanted_bytes += needed_bytes
        free = self.mount_of(home).free_bytes
        if free < self._wanted_bytes:
            error = too_little_room(home, self._wanted_bytes, free, "the drives", STORE_BOUND if stores else "")
            self.missing.name("room", error)


@dataclass(frozen=True)
class PlannedDrive:
    """A directory or device as a plan sees it: where clusters would be, what is kept there already; nothing is made.

    A mistyped `--data-dir` must not leave a directory behind, and a device must not be written over for the sake of a
    plan. Raises `DriveError` for all that would write. See `interfaces.store.Drive`.
    """

    kind: str
    mount: Callable[[], Mount]
    """The file system that the run would use, with its free space now."""
    apart: Callable[[], Mount] | None
    """That of the snapshots, where they are kept in a place of their own."""
    store: Root | None
    """Where snapshots would be kept; None for on the device itself."""

    def has_snapshot(self, key: str) -> bool:
        """Whether an earlier run kept a whole snapshot of this key; never on a device itself."""
        return self.store is not None and snapshots.find(self.store, key) is not None

    def snapshot_mount(self) -> Mount | None:
        return None if self.apart is None else self.apart()

    def wal(self) -> DriveOutline | None:
        return None

    def ageing(self) -> Ageing | None:
        return None

    def release(self) -> None:
        """See `Drive`: there is nothing to give back."""

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        return {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        return {}

    def _only_planned(self, *arguments: Any, **more: Any) -> NoReturn:
        raise DriveError("a dry run makes nothing on a drive")

    workspace = lay_out = take_snapshot = clone = forget_snapshot = _only_planned
    how_cloned = write_back = discard = _only_planned


LINK = "pg_wal"
TOKEN = "PGASSAY_DRIVE_SET"
_SUFFIX = "-wal"
"""Behind a name or key: the WAL's half of it, which may lie in the same place as the data's."""


class DriveSet:
    """Data and WAL on a drive of its own each, used as one drive.

    The WAL directory moves to its drive after initdb and is found by the symbolic link `pg_wal` (manual, "initdb",
    --waldir). Both halves of a snapshot carry one token, so that halves of two preparations are never put together.
    """

    def __init__(self, data: Drive, wal: Drive, account: Account) -> None:
        self._data, self._wal, self._account = data, wal, account
        self._places: dict[Path, Path] = {}

    @property
    def kind(self) -> str:
        """Both kinds, data first: `ssd+image`."""
        return f"{self._data.kind}+{self._wal.kind}"

    def mount(self) -> Mount:
        return self._data.mount()

    def snapshot_mount(self) -> Mount | None:
        """Where the data's snapshots are kept; those of the WAL are small."""
        return self._data.snapshot_mount()

    def wal(self) -> DriveOutline | None:
        return self._wal

    def workspace(self, name: str) -> Path:
        """A place on each drive; returns the data's. Neither stays if one cannot be made."""
        path = self._data.workspace(name)
        try:
            self._places[path] = self._wal.workspace(name + _SUFFIX)
        except BaseException:
            self._data.discard(path)
            raise
        return path

    def lay_out(self, directory: Path) -> None:
        place = self._places[directory]
        token = secrets.token_hex(8) + "\n"
        with Directory.open(directory) as data, Directory.open(place) as wal:
            with data.inner(LINK) as made:
                copying.copy_into(made, wal, share=False)
            data.remove_tree(LINK)
            for folder in (data, wal):
                folder.replace(TOKEN, token, self._account.owner)
            data.link(LINK, place)

    def has_snapshot(self, key: str) -> bool:
        return self._data.has_snapshot(key) and self._wal.has_snapshot(key + _SUFFIX)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; a half that stayed alone from before is dropped first."""
        if not self.has_snapshot(key):
            self.forget_snapshot(key)
        if directory not in self._places:
            self._data.discard(directory)  # refuses what is not ours, in its own words
        place = self._places[directory]
        if (directory / LINK).is_symlink():
            with Directory.open(directory) as data:
                data.unlink(LINK)
        self._wal.take_snapshot(key + _SUFFIX, place, what)
        self._data.take_snapshot(key, directory, what)
        del self._places[directory]

    def clone(self, key: str, name: str) -> Path:
        """A clone on each drive; returns the data's. Raises `DriveError` where the halves are of two snapshots."""
        path = self._data.clone(key, name)
        try:
            place = self._places[path] = self._wal.clone(key + _SUFFIX, name + _SUFFIX)
            if _token(path) != _token(place):
                self.discard(path)
                self.forget_snapshot(key)
                raise DriveError(f'the two halves of snapshot "{key}" do not match', "start again: it will be rebuilt")
            if not os.path.lexists(path / LINK):
                with Directory.open(path) as data:
                    data.link(LINK, place)
        except BaseException:
            self.discard(path)
            raise
        return path

    def forget_snapshot(self, key: str) -> None:
        self._data.forget_snapshot(key)
        self._wal.forget_snapshot(key + _SUFFIX)

    def how_cloned(self) -> str:
        """One word where both drives clone alike, else one for data and one for WAL."""
        words = (self._data.how_cloned(), self._wal.how_cloned())
        return words[0] if words[0] == words[1] else f"data by {words[0]}, WAL by {words[1]}"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`: the WAL's drive under a name of its own. A half that counts nothing is listed with one that
        counts, too, so that this one is not taken for both."""
        if directory not in self._places:
            return {}
        found = dict(self._data.counters(directory))
        wal = self._wal.counters(self._places[directory])
        if DATA in wal:
            found[WAL] = wal[DATA]
        if SMART in wal and wal[SMART] is not found.get(SMART):  # one drive counts once, whatever lies on it
            found[SMART_WAL] = wal[SMART]
        if found and not wal:
            found[SMART_WAL] = dict  # counts nothing
        if found and not {DATA, SMART} & set(found):
            found[SMART] = dict  # counts nothing
        return found

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        if directory not in self._places:
            return {}
        wal = self._wal.traits(self._places[directory])
        renamed = {f"{WAL}.{name.removeprefix(DATA).removeprefix('.')}": trait for name, trait in wal.items()}
        return {**self._data.traits(directory), **renamed}

    def ageing(self) -> Ageing | None:
        both = ((self._data.ageing(), ""), (self._wal.ageing(), _SUFFIX))
        found = [(ageing, suffix) for ageing, suffix in both if ageing is not None]
        return _AgeingOfBoth(found) if found else None

    def write_back(self, directory: Path) -> None:
        """See `Drive`: once where both are on one file system."""
        self._data.write_back(directory)
        place = self._places[directory]
        if place.stat().st_dev != directory.stat().st_dev:
            self._wal.write_back(place)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`: both, also where one of them is not sound."""
        damaged = None
        try:
            self._data.discard(directory, check=check)
        except DamagedError as found:
            damaged = found
        place = self._places.pop(directory, None)
        if place is not None:
            self._wal.discard(place, check=check)
        if damaged is not None:
            raise damaged

    def release(self) -> None:
        try:
            self._data.release()
        finally:
            self._wal.release()


@dataclass(frozen=True)
class _AgeingOfBoth:
    """See `interfaces.store.Ageing`; several as one, each with what stands behind its drive's keys."""

    parts: list[tuple[Ageing, str]]

    def begin(self) -> None:
        for part, _ in self.parts:
            part.begin()

    def finish(self, key: str) -> None:
        for part, suffix in self.parts:
            part.finish(key + suffix)

    def abandon(self) -> None:
        for part, _ in self.parts:
            part.abandon()


def _token(folder: Path) -> str:
    """Empty where there is none: a set that was never laid out."""
    try:
        with Directory.open(folder) as opened:
            return opened.read(TOKEN).decode("ascii", "replace")
    except (OSError, UntrustedError):
        return ""
