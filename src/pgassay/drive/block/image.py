"""A disk in a file of the host: the fair control for emulated drives, with the same loop device and file system.

Sparse: only what was written takes room. A snapshot is the whole file, kept with the directory snapshots and found by
later labs; every trial starts from a copy of it, by reference where the host's file system can.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pgassay import copying, plugins
from pgassay.drive import snapshots
from pgassay.drive.block import kernel
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.root import Root, remove_tree
from pgassay.files import Directory
from pgassay.interfaces.drive_counters import Counted
from pgassay.interfaces.errors import SpaceError
from pgassay.interfaces.places import Mount
from pgassay.interfaces.store import Trait
from pgassay.study.drives import DriveKind, declared
from pgassay.study.units import format_size

SUFFIX = ".img"
DISK = f"disk{SUFFIX}"
GROWTH_BYTES = 256 << 20
"""Room that a trial may take on the host beyond its snapshot, checked before."""


@dataclass(eq=False)
class ImageVolume:
    """A disk in a file (`block.drive.Volume`); `_home` is a directory of our own session on the host's file system.

    A package's drive derives from it (`PluginDrive`), and `kind` is the level that names it.
    """

    counts: ClassVar[bool] = False
    _root: Root
    _home: Path
    capacity_bytes: int
    _kernel: Kernel
    _mount_of: Callable[[Path], Mount]
    kind: str = DriveKind.IMAGE
    _device: Path | None = field(default=None, init=False)
    _share: bool | None = field(default=None, init=False)

    @property
    def file(self) -> Path:
        """The file that is the disk, which the kernel names as what the loop device is over."""
        return self._home / (DISK if self.kind == DriveKind.IMAGE else self.kind + SUFFIX)

    @property
    def how_restored(self) -> str:
        """`reflink` where the host's file system can share blocks, else `copy`."""
        return "reflink" if self.shares() else "copy"

    def attach(self) -> Path:
        """The loop device over the file, by path; raises `DriveError`."""
        if self._device is None:
            self._device = self._kernel.attach(self.file)
        return self._device

    def detach(self) -> None:
        if self._device is not None:
            self._kernel.detach(self._device)
            self._device = None

    def blank(self) -> None:
        """See `Volume`: a hole of the disk's size."""
        self._remove()
        with self.file.open("xb") as file:
            file.truncate(self.capacity_bytes)

    def keep(self, key: str, what: str = "") -> None:
        """See `Volume`; moves the file, all or nothing."""
        if self.has(key):
            return
        folder = self._home / "keeping"
        folder.mkdir(mode=0o700)
        try:
            self.file.rename(folder / DISK)
            snapshots.take(self._root, self._key(key), folder, self._home.parent.name, what)
        finally:
            remove_tree(folder)

    def restore(self, key: str) -> None:
        """Copy or reflink the kept file; raises `DriveError` for an unknown key, `SpaceError` for too little room."""
        kept = snapshots.require(self._root, self._key(key))
        self._remove()
        needed = GROWTH_BYTES + (0 if self.shares() else kept.size_bytes)
        free = self._mount_of(self._home).free_bytes
        if free < needed:
            raise too_little_room(self._home, needed, free, "a copy of the image")
        self._share = copy_image(kept.data / DISK, self.file, share=self.shares())
        snapshots.used(self._root, self._key(key))

    def has(self, key: str) -> bool:
        """Whether a whole image of this capacity is kept under the key."""
        return snapshots.find(self._root, self._key(key)) is not None

    def forget(self, key: str) -> None:
        snapshots.forget(self._root, self._key(key))

    def counters(self) -> Counted:
        """A file counts nothing; what the loop device counts is in diskstats."""
        return {}

    def traits(self) -> Mapping[str, Trait]:
        """A file says nothing; what holds of it is read back from the kernel."""
        return {}

    def check(self) -> None:
        """See `Volume`: there is nothing to a file."""

    def close(self) -> None:
        """Free the loop device and delete the working image; kept images stay."""
        self.detach()
        self._remove()

    def shares(self) -> bool:
        """May a disk share blocks with what is kept? The file system is asked at the first use: a plan's drive has no
        home yet."""
        if self._share is None:
            self._share = copying.supported(self._home)
        return self._share

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError), Directory.open(self._home) as home:
            home.unlink(self.file.name)

    def _key(self, key: str) -> str:
        """Images and directories of one key are apart, and so are images of two sizes, which a study chooses."""
        return f"{self.kind} of {self.capacity_bytes} bytes {key}"


@dataclass(frozen=True)
class PluginDrive:
    """A kind of drive that a package adds (entry points `pgassay.drives`), for levels `plugin:NAME`.

    `volume` makes its disks, as root. A disk is all in its `file`, and attached as a loop device over it, so that a
    killed run's is found and given back.
    """

    volume: type[ImageVolume]
    summary: str

    def __post_init__(self) -> None:
        if not (isinstance(self.volume, type) and issubclass(self.volume, ImageVolume)):
            raise TypeError(f"{self.volume!r} is not a class derived from ImageVolume")


def plugin_drives() -> Mapping[str, PluginDrive]:
    """By name; raises `PluginError` where one of them is broken."""
    return plugins.load(plugins.Group.DRIVES, PluginDrive).required()


def plugin_drive(level: str) -> PluginDrive | None:
    """The one that a level of `drive.data` or `drive.wal` names; None for other kinds."""
    kind, _, name = declared(level)[1].partition(":")
    return plugin_drives().get(name) if kind == DriveKind.PLUGIN else None


def too_little_room(place: Path, needed: int, free: int, what: str, hint: str = "") -> SpaceError:
    """Checked before an image or a store in a file is made; `hint` says what else would help."""
    usual = "free some space, name another --data-dir, or make the drive smaller with drive.data.capacity"
    return SpaceError(
        f'"{place}" has {format_size(free)} free, {format_size(needed)} are needed for {what}',
        f"{usual}; {hint}" if hint else usual,
    )


_PIECE_BYTES = 1 << 30


def copy_image(source: Path, target: Path, *, share: bool) -> bool:
    """Copy to `target`, which must not exist; returns whether blocks are shared. Raises `OSError`, leaving nothing."""
    shared = False
    writable = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with kernel.opened(source) as reading, kernel.opened(target, writable) as writing:
        try:
            if share:
                with contextlib.suppress(OSError):
                    copying.clone_contents(reading, writing)
                    shared = True
            if not shared:
                _copy(reading, writing)
            os.fsync(writing)
        except BaseException:
            with Directory.open(target.parent) as parent:
                parent.unlink(target.name)
            raise
    return shared


def _copy(reading: int, writing: int) -> None:
    size = os.fstat(reading).st_size
    os.ftruncate(writing, size)
    position = 0
    while position < size:
        try:
            start = os.lseek(reading, position, os.SEEK_DATA)
        except OSError as failure:
            if failure.errno == errno.ENXIO:  # a hole to the end
                return
            raise
        end = os.lseek(reading, start, os.SEEK_HOLE)
        position = start
        while position < end:
            count = os.copy_file_range(reading, writing, min(end - position, _PIECE_BYTES), position, position)
            if count == 0:
                break
            position += count
        position = max(position, end)
