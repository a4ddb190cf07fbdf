"""Loop devices, file systems and mounts, by interface: on Linux by system calls, losetup(8), mkfs and mount(8).

What is done for each power cut is a system call where the kernel takes it (loop(4), mount(2)), since starting a program
takes ten times as long; where it does not, the program tries too, and says why. Each command gets its words as a list,
never a shell's line. What is attached and mounted here is found again below our own directories (mountinfo, /sys/block,
/proc; paths are compared whole), so a repair needs no memory of it.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pgassay import children
from pgassay.drive.block.filesystems import Filesystem
from pgassay.files import Directory
from pgassay.interfaces.errors import DamagedError, DriveError
from pgassay.interfaces.places import MountEntry, holding, mounts, parse_mountinfo
from pgassay.interfaces.running import Completed, Runner


def mounts_below(place: Path) -> list[MountEntry]:
    """Mounts on or below `place`, the last one first: the order in which they can be undone."""
    return [entry for entry in reversed(mounts()) if entry.point.is_relative_to(place)]


def mount_over(path: Path) -> MountEntry | None:
    return holding(path, mounts())


def loops() -> Iterator[tuple[Path, Path]]:
    """Every loop device in use, with the file behind it."""
    for folder in sorted(Path("/sys/block").glob("loop*")):
        try:
            name = (folder / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
        except OSError:
            continue
        yield Path("/dev") / folder.name, Path(name.removesuffix(" (deleted)"))


def holder(device: Path, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """A process in another mount namespace that has the device mounted, with its program; None where none is seen."""
    ours = (proc / "self" / "ns" / "mnt").readlink()
    for folder in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        with contextlib.suppress(OSError):
            if (folder / "ns" / "mnt").readlink() == ours:
                continue
            found = parse_mountinfo((folder / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape"))
            if any(each.source == str(device) for each in found):
                return int(folder.name), (folder / "comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    return None


def backing_file(device: Path) -> Path | None:
    """The file behind a loop device; None if it is none, or free."""
    return dict(loops()).get(device)


def holders(point: Path, proc: Path = Path("/proc")) -> list[str]:
    """Processes that work below `point`, for a message: `postgres (process 123)`."""
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError):  # it ended while we looked, or belongs to somebody else
            found_at = []
            for link in (entry / "cwd", entry / "root", *(entry / "fd").iterdir()):
                with contextlib.suppress(OSError):  # closed since it was listed, as of our own files the listing itself
                    found_at.append(link.readlink())
            if any(place.is_relative_to(point) for place in found_at):
                name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
                found.append(f"{name} (process {entry.name})")
    return found


_TIMEOUT_S = 300.0
SECTOR_BYTES = 4096
_LOOP_CONTROL = Path("/dev/loop-control")
_ATTEMPTS = 5


@contextlib.contextmanager
def refusals_of(doing: str, path: Path) -> Iterator[None]:
    """Raise `DriveError` for what the operating system refuses meanwhile: could not `doing` `path`."""
    try:
        yield
    except OSError as failure:
        raise DriveError(f'could not {doing} "{path}": {(failure.strerror or str(failure)).lower()}') from failure


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> Iterator[int]:
    """A descriptor, closed at the end; raises `OSError`."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def size_bytes(device: Path) -> int:
    """The device's size; raises `DriveError` where it cannot be opened."""
    with refusals_of("open", device), opened(device) as descriptor:
        return os.lseek(descriptor, 0, os.SEEK_END)


def command_failed(doing: str, said: str) -> DriveError:
    """What a program said to `doing`: its first line."""
    first = said.strip().splitlines()[0] if said.strip() else "no reason given"
    return DriveError(f"could not {doing}: {first}")


def damaged(device: Path, said: str) -> DamagedError:
    return DamagedError(f'the file system on "{device}" is damaged: {said}')


_INSTEAD = "use drive.data=directory here"


def require_mounting(doing: str) -> None:
    """Raise `DriveError` without the right to mount."""
    if not may_mount():
        raise DriveError(f"{doing} needs root with the capability CAP_SYS_ADMIN", f"run pgassay as root, or {_INSTEAD}")


def require_node(path: Path, doing: str) -> None:
    """Raise `DriveError` where this device of the kernel cannot be used, as in many containers."""
    if not os.access(path, os.R_OK | os.W_OK):
        raise DriveError(
            f'"{path}" does not exist or cannot be opened, and {doing} needs it', f"allow it here, or {_INSTEAD}"
        )


class Kernel(Protocol):
    """What a block drive asks of the system; everything raises `DriveError`."""

    def require(self, filesystem: Filesystem) -> None:
        """Raise unless such a file system can be made and mounted here, before anything is made."""

    def attach(self, file: Path) -> Path:
        """A loop device over a file, with 4096-byte sectors and direct I/O."""

    def detach(self, device: Path) -> None:
        """Give the loop device back; returns when it is free."""

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        """Make a file system on a block device; raises `DriveError` with what mkfs said."""

    def mount(self, device: Path, point: Path, filesystem: Filesystem) -> None:
        """Mount with the asked options."""

    def unmount(self, point: Path) -> None:
        """Write all back and unmount; not mounted is fine."""

    def drop(self, point: Path) -> None:
        """Unmount what nobody needs any more: what is not written yet is not written. Not mounted is fine."""

    def check(self, device: Path, filesystem: Filesystem) -> None:
        """Check the unmounted file system, changing nothing; raises if it is damaged."""


@dataclass(frozen=True)
class LinuxKernel:
    """The system itself, by losetup, mkfs, mount, fsck and system calls."""

    runner: Runner

    def require(self, filesystem: Filesystem) -> None:
        """Raise `DriveError` without the right to mount, loop devices, or the file system's programs."""
        require_mounting("a drive with a file system of its own")
        require_node(_LOOP_CONTROL, "an image under a file system")
        for program, package in (
            (filesystem.kind.make[0], filesystem.kind.package),
            ("losetup", "util-linux"),
            ("mount", "mount"),
        ):
            if children.which(program) is None:
                raise DriveError(
                    f'program "{program}" is not installed', f"install {package}, or choose another file system"
                )

    def attach(self, file: Path) -> Path:
        """Ask the kernel, then losetup, again where another process took the free device first; raises `DriveError`."""
        device = looped(file)
        if device is not None:
            return device
        command = ["losetup", "--find", "--show", "--direct-io=on", f"--sector-size={SECTOR_BYTES}", str(file)]
        for _ in range(_ATTEMPTS):  # between finding a free device and taking it another process may be quicker
            outcome = self._run(command)
            if outcome.status == 0:
                return Path(outcome.stdout.strip())
        raise command_failed(f'put a loop device over "{file}"', outcome.stderr)

    def detach(self, device: Path) -> None:
        detach_loop(device)

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        # Of two options the last one wins.
        command = [*filesystem.kind.make, "-L", label, *filesystem.mkfs, str(device)]
        self._do(command, f"make {filesystem.name} on {device}")

    def mount(self, device: Path, point: Path, filesystem: Filesystem) -> None:
        options = filesystem.all_mount_options()
        if mounted(device, point, filesystem.name, options):
            return
        command = ["mount", "-t", filesystem.name, *(["-o", options] if options else []), str(device), str(point)]
        self._do(command, f"mount {device}")

    def unmount(self, point: Path) -> None:
        unmount(point)

    def drop(self, point: Path) -> None:
        """Shut the file system down where it can be (ext4, xfs), then unmount; raises `DriveError` as `unmount`."""
        if mounts_below(point):
            shut_down(point)
            unmount(point)

    def check(self, device: Path, filesystem: Filesystem) -> None:
        outcome = self._run([*filesystem.kind.check, str(device)])
        if outcome.status != 0:
            said = (outcome.stdout + outcome.stderr).strip().splitlines()
            raise damaged(device, said[-1] if said else f"status {outcome.status}")

    def _do(self, command: Sequence[str], doing: str) -> None:
        outcome = self._run(command)
        if outcome.status != 0:
            raise command_failed(doing, outcome.stderr or outcome.stdout)

    def _run(self, command: Sequence[str]) -> Completed:
        return self.runner.run(command, privileged="mounts and makes file systems", timeout_s=_TIMEOUT_S)


_LOOP_CLR_FD = 0x4C01
_LOOP_CONFIGURE = 0x4C0A
_LOOP_CTL_GET_FREE = 0x4C82
_LO_FLAGS_DIRECT_IO = 16
_LO_NAME_BYTES = 64
_LOOP_CONFIG = struct.Struct(f"=II 5Q 4I {_LO_NAME_BYTES}s 64s 32s 2Q 8Q")
"""loop_config of linux/loop.h: file, block size, then loop_info64, whose flags are the last of its four numbers."""
_MNT_DETACH = 2
_MOUNT_FLAGS = {
    "ro": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "sync": 16, "dirsync": 128, "noatime": 1024, "nodiratime": 2048,
    "relatime": 1 << 21, "strictatime": 1 << 24, "lazytime": 1 << 25,
}  # fmt: skip
"""What mount(2) takes as flags and not as words (sys/mount.h)."""
PATIENCE_S = 10.0
FREE_S = 60.0
_POLL_S = 0.02


def looped(file: Path, control: Path = _LOOP_CONTROL) -> Path | None:
    """A free loop device over the file, with direct I/O; None where this kernel does not make one in one call."""
    try:
        with opened(file, os.O_RDWR) as backing, opened(control, os.O_RDWR) as free:
            device = Path(f"/dev/loop{fcntl.ioctl(free, _LOOP_CTL_GET_FREE)}")
            with opened(device, os.O_RDWR) as loop:
                name = os.fsencode(file)[: _LO_NAME_BYTES - 1]
                numbers = (0, 0, 0, 0, 0, 0, 0, 0, _LO_FLAGS_DIRECT_IO)
                fcntl.ioctl(loop, _LOOP_CONFIGURE, _LOOP_CONFIG.pack(backing, SECTOR_BYTES, *numbers, name, b"", b"",
                                                                     0, 0, *(0,) * 8))  # fmt: skip
    except OSError:
        return None
    if (Path("/sys/block") / device.name / "loop" / "dio").read_text(encoding="ascii").strip() == "1":
        return device
    detach_loop(device)
    return None


def mounted(device: Path, point: Path, filesystem: str, options: str) -> bool:
    """Mount by the system call; False where it refuses."""
    given = [option for option in options.split(",") if option]
    flags = sum(_MOUNT_FLAGS.get(option, 0) for option in set(given))
    words = ",".join(option for option in given if option not in _MOUNT_FLAGS)
    libc = ctypes.CDLL(None, use_errno=True)
    named = (os.fsencode(device), os.fsencode(point), filesystem.encode())
    return bool(libc.mount(*named, ctypes.c_ulong(flags), words.encode()) == 0)


def unmount(point: Path, *, patience_s: float = PATIENCE_S, lazily: bool = False) -> None:
    """Unmount, waiting for the last user to go; raises `DriveError` naming who stays. Not mounted is fine.

    `lazily` detaches it from the tree all the same: for file systems that are no longer needed.
    """
    deadline = time.monotonic() + patience_s
    while True:
        number = _umount(point, 0)
        if number in (0, errno.EINVAL, errno.ENOENT):
            return
        if number != errno.EBUSY:
            with refusals_of("unmount", point):
                raise OSError(number, os.strerror(number))
        if time.monotonic() > deadline:
            if lazily:
                _umount(point, _MNT_DETACH)
                return
            users = ", ".join(holders(point)) or "unknown"
            raise DriveError(
                f'"{point}" is in use and cannot be unmounted: {users}', "end what uses it, then try again"
            )
        time.sleep(_POLL_S)


_FS_IOC_SHUTDOWN = 0x8004587D
_WITHOUT_LOG = 2


def shut_down(point: Path) -> None:
    """Have a file system refuse all further writes, its journal's too; one that does not know how goes on.

    EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number. Unmounting would write back all that lies in the page cache.
    Where nothing is mounted at `point`, nothing happens: it would be the file system of the machine.
    """
    with contextlib.suppress(OSError), opened(point, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        if os.fstat(descriptor).st_dev != point.parent.stat().st_dev:
            fcntl.ioctl(descriptor, _FS_IOC_SHUTDOWN, _WITHOUT_LOG.to_bytes(4, sys.byteorder))


def detach_loop(device: Path, *, patience_s: float = FREE_S) -> None:
    """Free a loop device and wait until it is free: udev and the like may look at it for a moment.

    A mount namespace that began while it was mounted (a container, unshare(1)) has it mounted, too, until it ends.
    """
    file = backing_file(device)
    if file is None:
        return
    with refusals_of("open", device), opened(device) as descriptor, refusals_of("free", device):
        try:
            fcntl.ioctl(descriptor, _LOOP_CLR_FD, 0)
        except OSError as failure:
            if failure.errno != errno.ENXIO:
                raise
    deadline = time.monotonic() + patience_s
    while backing_file(device) == file:
        if time.monotonic() > deadline:
            found = holder(device)
            hint = "look for a program that has it open: fuser"
            if found:
                hint = f"process {found[0]} ({found[1]}) has it mounted in a mount namespace of its own: end it"
            raise DriveError(f'could not free "{device}": device busy', hint)
        time.sleep(_POLL_S)


def _umount(point: Path, flags: int) -> int:
    try:
        with Directory.open(point.parent) as parent:
            parent.unmount(point.name, flags)
    except OSError as failure:
        return failure.errno or errno.EIO
    return 0


_SYS_ADMIN = 21
_EFFECTIVE = "CapEff:"


def may_mount(status: Path = Path("/proc/self/status")) -> bool:
    """Root with CAP_SYS_ADMIN; where the kernel does not say, root is taken at its word."""
    if os.geteuid() != 0:
        return False
    try:
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return True
    mask = next((line.removeprefix(_EFFECTIVE).strip() for line in lines if line.startswith(_EFFECTIVE)), "")
    return bool(int(mask, 16) >> _SYS_ADMIN & 1) if mask else True
