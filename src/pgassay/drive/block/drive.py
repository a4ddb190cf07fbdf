"""A drive with a file system of its own: made again for each preparation, restored as a whole for each trial.

It holds one workspace or clone at a time, in its mounted file system. A snapshot is the whole disk, file system and
all, taken unmounted: every trial starts from the same bytes in the same places. The disk itself is a `Volume`: an image
keeps files, an emulated drive keeps blocks inside its program.
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pgassay import copying
from pgassay.bench.crash_states import CrashState, CrashWish
from pgassay.bench.drive_counters import DATA, Counted, DriveCounters
from pgassay.bench.errors import DriveError
from pgassay.bench.places import Account, Mount
from pgassay.bench.store import Ageing, DriveOutline, Trait
from pgassay.drive import messages
from pgassay.drive.block import extents, filesystems, kernel
from pgassay.drive.block.emulated import EmulatedVolume
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.block.leftovers import CRASH_POINT, POINT
from pgassay.drive.root import server_in
from pgassay.drive.sessions import NAME_PATTERN
from pgassay.files import Directory

_KEPT = "data"
"""What the cluster is called inside a snapshot."""
OVERHEAD_SHARE = 0.05
"""What a file system takes of the capacity for itself, about, until it is there and can be asked."""


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

        `what` says to a user what they are, where they outlive the run.
        """

    def restore(self, key: str) -> None:
        """Bring back what was kept; raises for an unknown key."""

    def has(self, key: str) -> bool:
        """Is there something whole under this key?"""

    def forget(self, key: str) -> None:
        """Drop it; harmless when it is not there."""

    def counters(self) -> Counted:
        """Cumulative counters of the drive itself; empty for one that counts nothing."""

    def traits(self) -> Mapping[str, Trait]:
        """What the drive says that it is; empty for one that cannot be asked."""

    def check(self) -> None:
        """Whether what it keeps is sound; raises `DamagedError`. Contents are the file system's matter."""

    def close(self) -> None:
        """Give everything back; calling it twice is harmless."""


class StepTimes:
    """How long each step took, in ms, by its name."""

    def __init__(self) -> None:
        self.taken_ms: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Around a step, also one that fails."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.taken_ms[name] = (time.perf_counter() - began) * 1e3


class BlockDrive:
    """See `bench.store.Drive`. `home` is ours alone; `closing` gives back what was made for it."""

    def __init__(
        self,
        volume: Volume,
        filesystem: Filesystem,
        kernel: Kernel,
        home: Path,
        account: Account,
        mount_of: Callable[[Path], Mount],
        closing: Callable[[], None],
        ageing: Ageing | None = None,
    ) -> None:
        self.volume = volume
        self.filesystem = filesystem
        self._kernel = kernel
        self._point = home / POINT
        self._crash_point = home / CRASH_POINT
        self._account = account
        self._mount_of = mount_of
        self._closing = closing
        self._ageing = ageing
        self._held: str | None = None
        self._label = f"{filesystems.LABEL}-{home.parent.name[-4:]}"

    @property
    def kind(self) -> str:
        """The volume's: `image`, `ssd`, `csd` or the name of a description."""
        return self.volume.kind

    @property
    def point(self) -> Path:
        """Where its file system is mounted while it holds something."""
        return self._point

    def snapshot_mount(self) -> Mount | None:
        """None: snapshots are kept by the drive itself, or as images beside it."""
        return None

    def wal(self) -> DriveOutline | None:
        """None: WAL lies with the data."""
        return None

    def mount(self) -> Mount:
        """See `Drive`; before anything is mounted, what will be there."""
        if self._held is not None:
            return self._mount_of(self._point)
        capacity = self.volume.capacity_bytes
        free = int(capacity * (1 - OVERHEAD_SHARE))
        options = self.filesystem.all_mount_options()
        return Mount(self._point, self._point, self.filesystem.name, self.kind, options, capacity, free, False)

    def workspace(self, name: str) -> Path:
        """See `Drive`: mkfs on a blank disk."""
        path = self._place(name)
        self._kernel.require(self.filesystem)
        with self._undone_if_failed():
            self.volume.blank()
            self._kernel.make(self.volume.attach(), self.filesystem, self._label)
            self._mount(name)
            with Directory.open(self._point) as point:
                point.mkdir(path.name, 0o700, self._account.owner)
        return path

    def lay_out(self, directory: Path) -> None:
        """See `Drive`: all stays here."""

    def has_snapshot(self, key: str) -> bool:
        """Whether the volume keeps a whole disk under this key."""
        return self.volume.has(key)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; raises `DriveError` if a server runs there or was not stopped cleanly."""
        self._require_stopped(directory)
        if os.path.lexists(directory / "postmaster.pid"):
            raise messages.unclean(directory)
        with self._saying("keep a snapshot"):
            directory.rename(self._point / _KEPT)
            self._leave()
            self.volume.keep(key, what)

    def clone(self, key: str, name: str) -> Path:
        """See `Drive`: the whole disk is restored."""
        path = self._place(name)
        if not self.volume.has(key):
            raise messages.no_snapshot(key)
        with self._undone_if_failed():
            self.volume.restore(key)
            self._mount(name)
            (self._point / _KEPT).rename(path)
        return path

    def snapshot_files(self, key: str) -> Path | None:
        """None: a snapshot is a whole disk."""
        return None

    def forget_snapshot(self, key: str) -> None:
        """Drop the disk that the volume keeps under this key; harmless when there is none."""
        self.volume.forget(key)

    def how_cloned(self) -> str:
        """How the volume restores a disk: `reflink`, `copy` or `copy-on-write`."""
        return self.volume.how_restored

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """The volume's counters by source `drive`; empty for a volume without any, or where nothing is mounted."""
        held = self._held is not None and directory.parent == self._point
        return {DATA: self.volume.counters} if held and self.volume.counts else {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """The volume's traits under `drive.NAME`; empty where nothing is mounted."""
        held = self._held is not None and directory.parent == self._point
        return {f"{DATA}.{name}": trait for name, trait in self.volume.traits().items()} if held else {}

    def ageing(self) -> Ageing | None:
        """How the volume is aged before the first trial; None for one that starts fresh."""
        return self._ageing

    def write_back(self, directory: Path) -> None:
        """See `Drive`; data and WAL are on one file system."""
        copying.sync_filesystem(directory)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`: unmounted; the contents go with the next restore."""
        if self._held is None and directory.parent == self._point:
            return
        self._require_stopped(directory)
        with self._saying("discard a clone"):
            self._unmount()
            try:
                if check:
                    self._check()
            finally:
                self.volume.detach()

    def cut(self, directory: Path, wish: CrashWish) -> CrashState:
        """See `CrashingDrive`: the crash state is mounted beside the drive, where the kernel replays its journal."""
        if not isinstance(self.volume, EmulatedVolume):
            raise messages.no_cuts(self.kind)
        if self._held is None or directory != self._point / self._held:
            raise messages.not_ours(directory)
        laps = StepTimes()
        with laps("clone"):
            report = self.volume.cut(wish)
        point = self._crash_point / str(report.number)
        state = CrashState(point / self._held, report, steps_ms=laps.taken_ms)
        try:
            with self._saying("mount a crash state"):
                point.mkdir(mode=0o755, parents=True)
                with laps("attach"):
                    device = self.volume.attach_cut(report.number)
                self._replay(device, point, laps)
            if not state.directory.is_dir() and (point / _KEPT).is_dir():
                # The clone got its name when the drive was mounted, by us: a loss of that says nothing of the server.
                state = replace(state, directory=point / _KEPT)
            if report.page is not None and report.page.torn:
                with laps("name"):
                    place = report.page.block * kernel.SECTOR_BYTES
                    state = replace(state, page_file=extents.file_at(state.directory, place))
        except BaseException:
            self.discard_cut(state)
            raise
        return state

    def _replay(self, device: Path, point: Path, laps: "StepTimes") -> None:
        """Let the kernel replay the journal, check what it made of it, and mount that.

        The check comes before a server writes anything: later it would need all that the server wrote on the disk, and
        it is the state after the cut that is asked about.
        """
        with laps("mount"):
            try:
                self._kernel.mount(device, point, self.filesystem)
            except DriveError as refused:
                raise messages.damaged_filesystem(device, refused.message) from None
            self._kernel.unmount(point)
        with laps("check"):
            self._kernel.check(device, self.filesystem)
        with laps("remount"):
            self._kernel.mount(device, point, self.filesystem)

    def discard_cut(self, state: CrashState) -> None:
        """See `CrashingDrive`; what the server left in the page cache is not written."""
        number = state.report.number
        if not isinstance(self.volume, EmulatedVolume) or not self.volume.has_cut(number):
            return
        point = self._crash_point / str(number)
        with self._saying("discard a crash state"):
            if point.is_dir():
                self._kernel.drop(point)
            self.volume.discard_cut(number)
            with contextlib.suppress(FileNotFoundError):
                point.rmdir()

    def check(self) -> None:
        """Check the file system, unmounted, and the disk; raises `DamagedError`, or `DriveError` if it is in use."""
        if self._held is not None:
            raise messages.held("a check", self._held)
        try:
            self._check()
        finally:
            self.volume.detach()

    def release(self) -> None:
        """See `Drive`; calling it twice is harmless."""
        with self._saying("give the drive back"):
            crashes = sorted(self._crash_point.iterdir()) if self._crash_point.is_dir() else []
            for point in crashes:
                self._kernel.drop(point)
            self._leave()
            self.volume.close()
            for point in (self._point, *crashes, self._crash_point):
                if point.is_dir():
                    point.rmdir()
            self._closing()

    def _mount(self, name: str) -> None:
        self._point.mkdir(mode=0o755, exist_ok=True)
        self._held = name
        self._kernel.mount(self.volume.attach(), self._point, self.filesystem)

    def _leave(self) -> None:
        self._unmount()
        self.volume.detach()

    def _unmount(self) -> None:
        if self._held is not None:
            self._kernel.unmount(self._point)
            self._held = None

    def _check(self) -> None:
        """Of what is not mounted."""
        self._kernel.check(self.volume.attach(), self.filesystem)
        self.volume.check()

    def _place(self, name: str) -> Path:
        if not NAME_PATTERN.fullmatch(name):
            raise messages.bad_name(name)
        if self._held is not None:
            raise messages.held(name, self._held)
        return self._point / name

    def _require_stopped(self, directory: Path) -> None:
        if self._held is None or directory != self._point / self._held or directory.is_symlink():
            raise messages.not_ours(directory)
        pid = server_in(directory)
        if pid is not None:
            raise messages.still_running(directory, pid)

    @contextlib.contextmanager
    def _undone_if_failed(self) -> Iterator[None]:
        try:
            with self._saying("make a cluster's place"):
                yield
        except BaseException:
            with contextlib.suppress(Exception):
                self._leave()
            raise

    @contextlib.contextmanager
    def _saying(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            if failure.errno in (errno.ENOSPC, errno.EDQUOT):
                raise messages.filled_up(self._point) from failure
            raise messages.failed(self._point, doing, failure) from failure
