"""Loop devices, file systems and mounts, by interface: on Linux by system calls, losetup(8), mkfs and mount(8).

What is done for each power cut is a system call where the kernel takes it (loop(4), mount(2)), since starting a program
takes ten times as long; where it does not, the program tries too, and says why. Each command gets its words as a list,
never a shell's line. What is attached and mounted here is found again by `mounts` below our own directories, so a
repair needs no memory of it.
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
from pathlib import Path
from typing import Protocol

from pgassay import children
from pgassay.bench.running import Completed, Runner
from pgassay.drive import messages
from pgassay.drive.block import messages as block_messages
from pgassay.drive.block import mounts
from pgassay.drive.block.filesystems import Filesystem
from pgassay.files import Directory

_TIMEOUT_S = 300.0
SECTOR_BYTES = 4096
_LOOP_CONTROL = Path("/dev/loop-control")
_ATTEMPTS = 5


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

    def question(self, device: Path, filesystem: Filesystem) -> str:
        """What the file system says about itself."""


class LinuxKernel:
    """The system itself, by losetup, mkfs, mount, fsck and system calls."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def require(self, filesystem: Filesystem) -> None:
        """Raise `DriveError` without the right to mount, loop devices, or the file system's programs."""
        if not may_mount():
            raise messages.not_privileged("a drive with a file system of its own")
        if not os.access(_LOOP_CONTROL, os.R_OK | os.W_OK):
            raise messages.no_device_node(_LOOP_CONTROL, "an image under a file system")
        for program, package in (
            (filesystem.kind.make[0], filesystem.kind.package),
            ("losetup", "util-linux"),
            ("mount", "mount"),
        ):
            if children.which(program) is None:
                raise messages.no_program(program, package)

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
        raise messages.command_failed(f'put a loop device over "{file}"', outcome.stderr)

    def detach(self, device: Path) -> None:
        """Free the loop device and wait until udev and others have closed it."""
        detach_loop(device)

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        """Run the file system's mkfs; raises `DriveError` with what it said."""
        self._do(filesystem.make_command(device, label), f"make {filesystem.name} on {device}")

    def mount(self, device: Path, point: Path, filesystem: Filesystem) -> None:
        """Mount with the options of `filesystem`; raises `DriveError` with what mount(8) said."""
        options = filesystem.all_mount_options()
        if mounted(device, point, filesystem.name, options):
            return
        command = ["mount", "-t", filesystem.name, *(["-o", options] if options else []), str(device), str(point)]
        self._do(command, f"mount {device}")

    def unmount(self, point: Path) -> None:
        """Call umount2, waiting up to `PATIENCE_S` for the last user; raises `DriveError` naming who stays."""
        unmount(point)

    def drop(self, point: Path) -> None:
        """Shut the file system down where it can be (ext4, xfs), then unmount; raises `DriveError` as `unmount`."""
        if mounts.mounts_below(point):
            shut_down(point)
            unmount(point)

    def check(self, device: Path, filesystem: Filesystem) -> None:
        """Run the file system's fsck, read-only; raises `DamagedError` with its last line."""
        outcome = self._run([*filesystem.kind.check, str(device)])
        if outcome.status != 0:
            said = (outcome.stdout + outcome.stderr).strip().splitlines()
            raise messages.damaged_filesystem(device, said[-1] if said else f"status {outcome.status}")

    def question(self, device: Path, filesystem: Filesystem) -> str:
        """The output of the file system's own program (dumpe2fs, xfs_info)."""
        return self._run([*filesystem.kind.question, str(device)]).stdout

    def _do(self, command: Sequence[str], doing: str) -> None:
        outcome = self._run(command)
        if outcome.status != 0:
            raise messages.command_failed(doing, outcome.stderr or outcome.stdout)

    def _run(self, command: Sequence[str]) -> Completed:
        return self._runner.run(command, privileged="mounts and makes file systems", timeout_s=_TIMEOUT_S)


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
        with _opened(file, os.O_RDWR) as backing, _opened(control, os.O_RDWR) as free:
            device = Path(f"/dev/loop{fcntl.ioctl(free, _LOOP_CTL_GET_FREE)}")
            with _opened(device, os.O_RDWR) as loop:
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


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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
            raise messages.system_failed("unmount", point, OSError(number, os.strerror(number)))
        if time.monotonic() > deadline:
            if lazily:
                _umount(point, _MNT_DETACH)
                return
            raise messages.busy(point, mounts.holders(point))
        time.sleep(_POLL_S)


_FS_IOC_SHUTDOWN = 0x8004587D
_WITHOUT_LOG = 2


def shut_down(point: Path) -> None:
    """Have a file system refuse all further writes, its journal's too; one that does not know how goes on.

    EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number. Unmounting would write back all that lies in the page cache.
    Where nothing is mounted at `point`, nothing happens: it would be the file system of the machine.
    """
    with contextlib.suppress(OSError), _opened(point, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        if os.fstat(descriptor).st_dev != point.parent.stat().st_dev:
            fcntl.ioctl(descriptor, _FS_IOC_SHUTDOWN, _WITHOUT_LOG.to_bytes(4, sys.byteorder))


def detach_loop(device: Path, *, patience_s: float = FREE_S) -> None:
    """Free a loop device and wait until it is free: udev and the like may look at it for a moment.

    A mount namespace that began while it was mounted (a container, unshare(1)) has it mounted, too, until it ends.
    """
    file = mounts.backing_file(device)
    if file is None:
        return
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as failure:
        raise messages.system_failed("open", device, failure) from failure
    try:
        fcntl.ioctl(descriptor, _LOOP_CLR_FD, 0)
    except OSError as failure:
        if failure.errno != errno.ENXIO:
            raise messages.system_failed("free", device, failure) from failure
    finally:
        os.close(descriptor)
    deadline = time.monotonic() + patience_s
    while mounts.backing_file(device) == file:
        if time.monotonic() > deadline:
            raise block_messages.device_kept(device, mounts.holder(device))
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
