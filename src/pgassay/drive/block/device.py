"""A real block device, written over: only one that its owner named with --i-own, and that carries nothing of others.

On it lies a directory drive: snapshots are copied inside the file system. What it carries is asked of wipefs(8), the
kernel and the device itself: no signature but a file system with our label, no partition, no mount, no swap, no holder,
and without our label nothing but zeros.
"""

import errno
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pgassay.drive.block import filesystems
from pgassay.drive.block.drive import OVERHEAD_SHARE
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import (
    SECTOR_BYTES,
    Kernel,
    command_failed,
    opened,
    refusals_of,
    size_bytes,
)
from pgassay.drive.directory import CountersOf, DirectoryDrive, nothing
from pgassay.drive.root import NAME
from pgassay.drive.sessions import DEVICE
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces.drive_counters import DATA
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.running import Runner
from pgassay.interfaces.store import Trait
from pgassay.study.drives import AS_FOUND, HOST_BEFORE, DriveKind

_MARKED = f"mkfs.ext4 -E nodiscard -L {filesystems.LABEL}-own {{}} marks it as one for pgassay"


def require_ours(device: Path, runner: Runner, sys: Path = Path("/sys/class/block")) -> None:
    """Raise unless the device is free and carries nothing, or nothing but a file system of ours."""
    if not device.is_block_device():
        raise UsageError(f'"{device}" is not a block device')
    why = ""
    with refusals_of("open", device):
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))  # busy while mounted, swapped on or held
        except OSError as failure:
            if failure.errno != errno.EBUSY:
                raise
            why = (failure.strerror or str(failure)).lower()
    folder = sys / device.resolve().name
    held = [path.name for path in (folder / "holders").glob("*")]
    parts = [path.parent.name for path in folder.glob("*/partition")]
    if held or parts:
        why = why or ("partitions " + ", ".join(parts) if parts else "held by " + ", ".join(held))
    if why:
        raise DriveError(f'"{device}" is in use ({why}): it is left alone', "name a device that nothing uses")
    require_blank_or_ours(device, runner)


def require_blank_or_ours(device: Path, runner: Runner) -> None:
    """Raise `DriveError` for a device, which is free, with anything on it but a file system of ours."""
    found = signatures(runner, device)
    for signature in found:
        label = str(signature.get("label") or "")
        ours = signature.get("type") in filesystems.KINDS and label.startswith(f"{filesystems.LABEL}-")
        if not ours:
            named = f"{signature.get('type')}{f' labelled {label}' if label else ''}"
            raise DriveError(
                f'"{device}" carries data that pgassay did not make ({named}): it is left alone',
                f"if you do not need them: wipefs --all {device}; {_MARKED.format(device)}",
            )
    place = None if found else first_data(device)
    if place is not None:
        raise DriveError(
            f'"{device}" carries data that pgassay did not make (byte {place} is not zero): it is left alone',
            f"if you do not need them: {_MARKED.format(device)}",
        )


def signatures(runner: Runner, device: Path) -> list[dict[str, object]]:
    """What wipefs finds and leaves where it is."""
    outcome = runner.run(["wipefs", "--no-act", "--json", str(device)], privileged="reads a device", timeout_s=60.0)
    if outcome.status != 0:
        raise command_failed(f"look at {device}", outcome.stderr)
    found = json.loads(outcome.stdout or "{}").get("signatures", [])
    return [each for each in found if isinstance(each, dict)]


EDGE_BYTES = 1 << 20
STRETCHES = 256
STRETCH_BYTES = 64 << 10
"""16 MiB in all; a device up to 18 MiB is read whole."""


def first_data(device: Path) -> int | None:
    """Where something other than zeros lies, in bytes from the start; None where nothing was seen.

    Raises `DriveError` for a device that cannot be read.
    """
    with refusals_of("read", device), device.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        step = -(-max(0, size - 2 * EDGE_BYTES) // STRETCHES)
        inner = [(EDGE_BYTES + number * step, min(step, STRETCH_BYTES)) for number in range(STRETCHES if step else 0)]
        for place, length in ((0, EDGE_BYTES), (max(0, size - EDGE_BYTES), EDGE_BYTES), *inner):
            file.seek(place)
            found = file.read(length)
            after_zeros = found.lstrip(b"\0")
            if after_zeros:
                return place + len(found) - len(after_zeros)
    return None


class DeviceDrive(DirectoryDrive):
    """See `interfaces.store.Drive`: a directory drive on a device of its own, unmounted at the end."""

    kind = DriveKind.DEVICE
    on: "MountedDevice"
    _released = False

    def clone(self, key: str, name: str) -> Path:
        with self._named():
            return super().clone(key, name)

    def workspace(self, name: str) -> Path:
        with self._named():
            return super().workspace(name)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        with self._named():
            super().take_snapshot(key, directory, what)

    def write_back(self, directory: Path) -> None:
        with self._named():
            super().write_back(directory)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        with self._named():
            super().discard(directory, check=check)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the device in what fails because it has disappeared: a file system says "read-only" of that at best."""
        try:
            yield
        except (DriveError, OSError) as failure:
            gone = failure_of(self.on.device)
            if gone is None:
                raise
            said = failure.message if isinstance(failure, DriveError) else str(failure)
            raise DriveError(
                f'"{self.on.device}" does not answer any more: {gone.strerror or gone} ({said})'
            ) from failure

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """Nothing puts a real drive back: what it was sent before this trial is recorded, where it counts that."""
        found = {f"{DATA}.start": Trait(AS_FOUND)}
        for read in self.counters(directory).values():
            sent = read().get("host_bytes_written")
            if sent is not None:
                found[f"{DATA}.{HOST_BEFORE}"] = Trait(sent)
        return found

    def release(self) -> None:
        """See `Drive`; the file system stays, with our label, for the next time.

        On a device that has disappeared nothing can be removed; it is unmounted all the same, and what it failed with
        before is what the user has to know.
        """
        with suppress(DriveError):
            super().release()
        if not self._released:
            self._released = True
            self.on.leave()


def failure_of(device: Path) -> OSError | None:
    """What reading its first block past the page cache fails with; None while it answers."""
    try:
        with opened(device, os.O_RDONLY | os.O_DIRECT) as descriptor, mmap.mmap(-1, SECTOR_BYTES) as block:
            os.preadv(descriptor, [block], 0)
    except OSError as failure:
        return failure
    return None


class MountedDevice:
    """A device with a file system of ours, mounted for as long as a drive uses it.

    Data and WAL, and several treatments of a study, may share it: it is opened and mounted once.
    """

    def __init__(
        self,
        device: Path,
        filesystem: Filesystem,
        point: Path,
        kernel: Kernel,
        closing: Callable[[], None],
    ) -> None:
        """Make the file system, mount it at `point`; `closing` comes after it is unmounted. Raises `DriveError`."""
        self.device, self.filesystem, self._point, self._kernel = device, filesystem, point, kernel
        self._closing, self._users = closing, 0
        filesystem.require_room(size_bytes(device))
        kernel.make(device, filesystem, f"{filesystems.LABEL}-real")
        with Directory.open(point.parent) as home:
            home.replace(DEVICE, str(device))
            home.mkdir(point.name, 0o755)
        kernel.mount(device, point, filesystem)

    @property
    def used(self) -> bool:
        """Does a drive use it? If not, it is mounted no more."""
        return self._users > 0

    def drive(
        self,
        account: Account,
        mount_of: Callable[[Path], Mount],
        counting: CountersOf = nothing,
        snapshots_in: Path | None = None,
    ) -> DeviceDrive:
        """One more drive on it. Raises `DriveError`; where it was to be the first, the device is unmounted then."""
        try:
            drive = DeviceDrive(
                self._point, account, mount_of, keep_snapshots=True, counting=counting, snapshots_in=snapshots_in
            )
        except BaseException:
            if not self.used:
                self._unmount()
            raise
        self._users += 1
        drive.on = self
        return drive

    def leave(self) -> None:
        self._users -= 1
        if not self.used:
            self._unmount()
            self._closing()

    def _unmount(self) -> None:
        self._kernel.unmount(self._point)
        self._point.rmdir()


def to_be_mounted(device: Path, filesystem: Filesystem, point: Path, overhead_share: float = OVERHEAD_SHARE) -> Mount:
    """What `MountedDevice` would mount at `point`, as far as that is known; nothing is written. The file system is
    taken to keep `overhead_share` of the device for itself.

    Raises `DriveError`, or `UsageError` for a device on which no such file system fits.
    """
    size = size_bytes(device)
    filesystem.require_room(size)
    free = int(size * (1 - overhead_share))
    options = filesystem.all_mount_options()
    return Mount(point / NAME, point, filesystem.name, str(device), options, size, free, filesystem.shares_blocks)
