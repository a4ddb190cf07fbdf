"""The few system calls that undo what a drive is made of: umount2(2), LOOP_CLR_FD (loop(4)), and waiting for both.

Called directly, without mount(8) and losetup(8): they must work in a repair, when little else does.
"""

import ctypes
import errno
import fcntl
import os
import time
from pathlib import Path

from pgassay.drive.block import messages, tables

_LOOP_CLR_FD = 0x4C01
_MNT_DETACH = 2
PATIENCE_S = 10.0
_POLL_S = 0.02


def unmount(point: Path, *, patience_s: float = PATIENCE_S, lazily: bool = False) -> None:
    """Unmount, waiting for the last user to go; raises `DriveError` naming who stays. Not mounted is fine.

    `lazily` detaches it from the tree all the same: for file systems that nobody needs any more.
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
            raise messages.busy(point, tables.holders(point))
        time.sleep(_POLL_S)


def detach_loop(device: Path, *, patience_s: float = PATIENCE_S) -> None:
    """Free a loop device and wait until it is free: udev and the like may look at it for a moment."""
    file = tables.backing_file(device)
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
    while tables.backing_file(device) == file:
        if time.monotonic() > deadline:
            raise messages.system_failed("free", device, OSError(errno.EBUSY, "device busy"))
        time.sleep(_POLL_S)


def _umount(point: Path, flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(point), flags) == 0:
        return 0
    return ctypes.get_errno()
