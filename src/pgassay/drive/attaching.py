"""From what a study asks of its drives to drives that are attached: the one place that knows every kind.

Nothing is made on an image or an emulated drive before its first workspace, and with `planned` nothing at all, so that
a dry run changes nothing; what would not fit is refused here all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.places import Account, Mount, available_memory_bytes
from pgassay.bench.running import Runner
from pgassay.bench.store import Drive, Needs
from pgassay.drive.block import device, messages
from pgassay.drive.block.description import Description
from pgassay.drive.block.drive import BlockDrive
from pgassay.drive.block.emulated import Daemon, EmulatedVolume
from pgassay.drive.block.image import ImageVolume
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.block.leftovers import POINT
from pgassay.drive.block.wear import Wear
from pgassay.drive.directory import DirectoryDrive, saying
from pgassay.drive.planned import PlannedDrive
from pgassay.drive.root import Root, look_at_root, open_root
from pgassay.drive.sessions import Session
from pgassay.drive.sets import DriveSet
from pgassay.drive.sizing import LEAST_SHARE, closely, memory_bytes, scaled_pages, sized
from pgassay.drive.smart.reading import SmartOfMounts
from pgassay.drive.wishes import AGED, DEVICE, DIRECTORY, DriveWish, SetWish, least_bytes

HOME = "disk"
PLANNED = "planned"
"""Stands for the name of a session that is not there."""
_WAL_KEPT_BYTES = 256 << 20
"""WAL that lies in a snapshot."""
_COMPRESSED_SHARE = 0.6
"""What a compressing drive's store is taken to need, until told with drive.data.store_bytes."""
_MEMORY_SHARE_MAX = 0.8


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
    planned: bool = False
    """A plan is all that is wanted: what would be refused is refused, and nothing is made."""
    _reserved_bytes: int = 0

    def attach(self, wish: SetWish, directory: Path, needs: Needs) -> Drive:
        """The drives of one treatment; `directory` is where those without a place of their own live.

        Raises `UsageError` or `DriveError`: not allowed here, no room, no memory, not ours.
        """
        data = self._one(wish.data, wish, directory, needs if wish.wal is None else replace(needs, wal_least_bytes=0))
        if wish.wal is None:
            return data
        try:
            wal = self._one(wish.wal, wish, directory, replace(needs, data_bytes=0, kept_bytes=0))
        except BaseException:
            data.release()
            raise
        return DriveSet(data, wal, self.account)

    def _one(self, wish: DriveWish, together: SetWish, directory: Path, needs: Needs) -> Drive:
        place = wish.place if wish.kind == DIRECTORY and wish.place is not None else directory
        if wish.kind == DIRECTORY:
            drive = self._directory(place)
            found = drive.mount().filesystem
            if wish.filesystem_named and found != wish.filesystem.name:
                drive.release()
                raise messages.other_filesystem(place, found, wish.filesystem.name)
            return drive
        self.kernel.require(wish.filesystem)
        if wish.described is not None:
            self.program.require()
        if wish.kind == DEVICE:
            self._require_owned(wish)
        if self.planned:
            return self._planned(wish, together, directory, needs)
        session = Session(open_root(directory, self.account, self.mount_of, self.allow_volatile))
        try:
            home = session.path / HOME
            home.mkdir(mode=0o711)
            home.chmod(0o711)
            if wish.kind == DEVICE:
                return self._device(wish, session)
            return self._block(wish, together, session.root, home, needs, lambda: session.close(self.keep_snapshots))
        except BaseException:
            session.close(keep_snapshots=True)
            raise

    def _directory(self, place: Path) -> Drive:
        if self.planned:
            return PlannedDrive.look(place, self.account, self.mount_of, allow_volatile=self.allow_volatile)
        return DirectoryDrive.attach(
            place,
            self.account,
            self.mount_of,
            allow_volatile=self.allow_volatile,
            keep_snapshots=self.keep_snapshots,
            counting=SmartOfMounts(self.runner),
        )

    def _planned(self, wish: DriveWish, together: SetWish, directory: Path, needs: Needs) -> Drive:
        """A drive that is neither made nor mounted; its home is where the run's session would be."""
        with saying(directory, "attach a drive"):
            root = look_at_root(directory, self.account, self.mount_of, self.allow_volatile)
        home = root.sessions / PLANNED / HOME
        if wish.kind == DEVICE:
            assert wish.place is not None
            mount = device.to_be_mounted(wish.place, wish.filesystem, home / POINT)
            return PlannedDrive(DEVICE, lambda: mount, lambda key: False)
        return self._block(wish, together, root, home, needs, lambda: None)

    def _block(
        self,
        wish: DriveWish,
        together: SetWish,
        root: Root,
        home: Path,
        needs: Needs,
        closing: Callable[[], None],
    ) -> BlockDrive:
        needed_bytes = needs.data_bytes + needs.wal_bytes
        capacity = wish.capacity_bytes or sized(needed_bytes)
        if wish.scaled:
            capacity = closely(needs, least_bytes(wish.filesystem))
        if capacity < least_bytes(wish.filesystem):
            raise messages.too_small(capacity, least_bytes(wish.filesystem))
        ageing = None
        kept = needs.kept_bytes + needs.snapshots * _WAL_KEPT_BYTES
        if wish.described is None:
            volume: ImageVolume | EmulatedVolume = ImageVolume(root, home, capacity, self.kernel, self.mount_of)
            self._require_room(home, needed_bytes + kept)
        else:
            described = wish.described.with_capacity(capacity)
            if wish.scaled and not described.core.has_shape:
                described = described.with_values({"drive.pages_per_block": scaled_pages(capacity)})
            share = _COMPRESSED_SHARE if described.compresses else 1.0
            store_bytes = described.core.store_bytes or int((capacity * 1.1 + kept) * share)
            described = described.with_values({"emulation.store_bytes": store_bytes})
            self.program.check(described)
            volume = EmulatedVolume(home, described, self.kernel, self.program)
            aged = together.state == AGED
            share = min(LEAST_SHARE, together.compressed_to) if aged else LEAST_SHARE
            self._reserve(described, needs.snapshots, home, share)
            if aged:
                ageing = Wear(volume, home, together.live_share, together.compressed_to)
        return BlockDrive(
            volume,
            wish.filesystem,
            self.kernel,
            home,
            self.account,
            self.mount_of,
            closing,
            ageing,
        )

    def _require_owned(self, wish: DriveWish) -> None:
        assert wish.place is not None
        if wish.place not in self.owned:
            raise messages.not_owned(wish.place)
        device.require_ours(wish.place, self.runner)

    def _device(self, wish: DriveWish, session: Session) -> Drive:
        assert wish.place is not None
        point = session.path / HOME / POINT
        return device.attach(
            wish.place,
            wish.filesystem,
            point,
            self.kernel,
            self.account,
            self.mount_of,
            lambda: session.close(self.keep_snapshots),
            SmartOfMounts(self.runner),
            wish.precondition,
        )

    def _reserve(self, described: Description, snapshots: int, home: Path, share: float) -> None:
        store_bytes = described.core.store_bytes
        assert store_bytes is not None
        in_file = described.core.store == "file"
        if in_file:
            self._require_room(home, store_bytes)
        self._reserved_bytes += memory_bytes(described.core, snapshots, share)
        self._reserved_bytes += 0 if in_file else store_bytes
        available = int(available_memory_bytes() * _MEMORY_SHARE_MAX)
        if self._reserved_bytes > available:
            raise messages.too_little_memory(self._reserved_bytes, available)

    def _require_room(self, home: Path, needed_bytes: int) -> None:
        free = self.mount_of(home).free_bytes
        if free < needed_bytes:
            raise messages.too_little_room(home, needed_bytes, free, "the drive")
