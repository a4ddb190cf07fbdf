"""A drive with a file system of its own: made again for each preparation, restored as a whole for each trial.

It holds one workspace or clone at a time, in its mounted file system. A snapshot is the whole disk, file system and
all, taken unmounted: every trial starts from the same bytes in the same places. The disk itself is a `Volume`: an image
keeps files, an emulated drive keeps blocks inside its program.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgassay import copying
from pgassay.drive.block import filesystems, kernel
from pgassay.drive.block.emulated import EmulatedVolume
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.image import ImageVolume
from pgassay.drive.block.kernel import Kernel
from pgassay.drive.root import refusals_in
from pgassay.drive.sessions import CRASH_POINT, POINT, not_ours, require_clean, require_name, require_stopped
from pgassay.files import Directory
from pgassay.interfaces.drive_counters import DATA, DriveCounters
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.store import Ageing, CrashRequest, CrashState, DriveOutline, Trait

_KEPT = "data"
"""What the cluster is called inside a snapshot."""
OVERHEAD_SHARE = 0.05
"""What a file system takes of the capacity for itself, about, until it is there and can be asked."""


Volume = ImageVolume | EmulatedVolume
"""One disk. All that it does raises `DriveError`; `SpaceError` before the host's disk or memory would run out."""


@contextlib.contextmanager
def _timed(steps_ms: dict[str, float], name: str) -> Iterator[None]:
    """Note how long a step takes, also one that fails."""
    began = time.perf_counter()
    try:
        yield
    finally:
        steps_ms[name] = (time.perf_counter() - began) * 1e3


@dataclass(eq=False)
class BlockDrive:
    """See `interfaces.store.Drive`. `_home` is ours alone; `_closing` gives back what was made for it."""

    volume: Volume
    filesystem: Filesystem
    _kernel: Kernel
    _home: Path
    _account: Account
    _mount_of: Callable[[Path], Mount]
    _closing: Callable[[], None]
    _ageing: Ageing | None = None
    _held: str | None = field(default=None, init=False)
    """What the workspace or clone is called that is mounted now."""

    @property
    def kind(self) -> str:
        """The volume's: `image`, `ssd`, `csd` or the name of a description."""
        return self.volume.kind

    @property
    def point(self) -> Path:
        return self._home / POINT

    def snapshot_mount(self) -> Mount | None:
        return None

    def wal(self) -> DriveOutline | None:
        return None

    def mount(self) -> Mount:
        """See `Drive`; before anything is mounted, what will be there."""
        if self._held is not None:
            return self._mount_of(self.point)
        capacity = self.volume.capacity_bytes
        free = int(capacity * (1 - OVERHEAD_SHARE))
        options = self.filesystem.all_mount_options()
        return Mount(self.point, self.point, self.filesystem.name, self.kind, options, capacity, free, False)

    def workspace(self, name: str) -> Path:
        path = self._place(name)
        self._kernel.require(self.filesystem)
        with self._undone_if_failed():
            self.volume.blank()
            label = f"{filesystems.LABEL}-{self._home.parent.name[-4:]}"
            self._kernel.make(self.volume.attach(), self.filesystem, label)
            self._mount(name)
            with Directory.open(self.point) as point:
                point.mkdir(path.name, 0o700, self._account.owner)
        return path

    def lay_out(self, directory: Path) -> None:
        """See `Drive`: all stays here."""

    def has_snapshot(self, key: str) -> bool:
        return self.volume.has(key)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; raises `DriveError` if a server runs there or was not stopped cleanly."""
        require_stopped(directory, ours=self._holds(directory))
        require_clean(directory)
        with refusals_in(self.point, "keep a snapshot"):
            directory.rename(self.point / _KEPT)
            self._leave()
            self.volume.keep(key, what)

    def clone(self, key: str, name: str) -> Path:
        path = self._place(name)
        if not self.volume.has(key):
            raise DriveError(f'there is no snapshot for key "{key}"')
        with self._undone_if_failed():
            self.volume.restore(key)
            self._mount(name)
            (self.point / _KEPT).rename(path)
        return path

    def forget_snapshot(self, key: str) -> None:
        self.volume.forget(key)

    def how_cloned(self) -> str:
        """How the volume restores a disk: `reflink`, `copy` or `copy-on-write`."""
        return self.volume.how_restored

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """The volume's counters by source `drive`; empty for a volume without any, or where nothing is mounted."""
        held = self._held is not None and directory.parent == self.point
        return {DATA: self.volume.counters} if held and self.volume.counts else {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """The volume's traits under `drive.NAME`; empty where nothing is mounted."""
        held = self._held is not None and directory.parent == self.point
        return {f"{DATA}.{name}": trait for name, trait in self.volume.traits().items()} if held else {}

    def ageing(self) -> Ageing | None:
        return self._ageing

    def write_back(self, directory: Path) -> None:
        with refusals_in(self.point, "write back a clone"):
            copying.sync_filesystem(directory)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`: unmounted; the contents go with the next restore."""
        if self._held is None and directory.parent == self.point:
            return
        require_stopped(directory, ours=self._holds(directory))
        with refusals_in(self.point, "discard a clone"):
            self._unmount()
            try:
                if check:
                    self._kernel.check(self.volume.attach(), self.filesystem)
                    self.volume.check()
            finally:
                self.volume.detach()

    def cut(self, directory: Path, request: CrashRequest) -> CrashState:
        """See `CrashingDrive`: the crash state is mounted next to the drive, where the kernel replays its journal."""
        if not isinstance(self.volume, EmulatedVolume):
            raise DriveError(
                f"the power of a drive of the kind {self.kind} cannot be cut",
                "only an emulated drive can be cut: --set drive.data=ssd (root and FUSE are needed; "
                '"pgassay doctor" reports)',
            )
        if not self._holds(directory):
            raise not_ours(directory)
        steps_ms: dict[str, float] = {}
        with _timed(steps_ms, "clone"):
            report = self.volume.cut(request)
        point = self._home / CRASH_POINT / str(report.number)
        state = CrashState(point / directory.name, report, steps_ms=steps_ms)
        try:
            with refusals_in(self.point, "mount a crash state"):
                point.mkdir(mode=0o755, parents=True)
                with _timed(steps_ms, "attach"):
                    device = self.volume.attach_cut(report.number)
                # Let the kernel replay the journal, check what it made of it, and mount that. The check comes before
                # a server writes anything: later it would need all that the server wrote on the disk, and it is the
                # state after the cut that is asked about.
                with _timed(steps_ms, "mount"):
                    try:
                        self._kernel.mount(device, point, self.filesystem)
                    except DriveError as refused:
                        raise kernel.damaged(device, refused.message) from None
                    self._kernel.unmount(point)
                with _timed(steps_ms, "check"):
                    self._kernel.check(device, self.filesystem)
                with _timed(steps_ms, "remount"):
                    self._kernel.mount(device, point, self.filesystem)
            if not state.directory.is_dir() and (point / _KEPT).is_dir():
                # The clone got its name when the drive was mounted, by us: a loss of that says nothing of the server.
                state = replace(state, directory=point / _KEPT)
        except BaseException:
            self.discard_cut(state)
            raise
        return state

    def discard_cut(self, state: CrashState) -> None:
        """See `CrashingDrive`; what the server left in the page cache is not written."""
        number = state.report.number
        if not isinstance(self.volume, EmulatedVolume) or number not in self.volume.cuts:
            return
        point = self._home / CRASH_POINT / str(number)
        with refusals_in(self.point, "discard a crash state"):
            if point.is_dir():
                self._kernel.drop(point)
            self.volume.discard_cut(number)
            with contextlib.suppress(FileNotFoundError):
                point.rmdir()

    def release(self) -> None:
        with refusals_in(self.point, "give the drive back"):
            below = self._home / CRASH_POINT
            crashes = sorted(below.iterdir()) if below.is_dir() else []
            for point in crashes:
                self._kernel.drop(point)
            self._leave()
            self.volume.close()
            for point in (self.point, *crashes, below):
                if point.is_dir():
                    point.rmdir()
            self._closing()

    def _mount(self, name: str) -> None:
        self.point.mkdir(mode=0o755, exist_ok=True)
        self._held = name
        self._kernel.mount(self.volume.attach(), self.point, self.filesystem)

    def _leave(self) -> None:
        self._unmount()
        self.volume.detach()

    def _unmount(self) -> None:
        if self._held is not None:
            self._kernel.unmount(self.point)
            self._held = None

    def _holds(self, directory: Path) -> bool:
        return self._held is not None and directory == self.point / self._held

    def _place(self, name: str) -> Path:
        require_name(name)
        if self._held is not None:
            raise DriveError(f'"{name}" cannot be made: the drive holds "{self._held}" already', "discard that first")
        return self.point / name

    @contextlib.contextmanager
    def _undone_if_failed(self) -> Iterator[None]:
        try:
            with refusals_in(self.point, "make a cluster's place"):
                yield
        except BaseException:
            with contextlib.suppress(Exception):
                self._leave()
            raise
