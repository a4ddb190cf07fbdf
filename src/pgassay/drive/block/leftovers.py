"""Giving back what a killed lab left of its block drives: mounts, loop devices, daemons, FUSE mounts; in that order.

Found below a directory of ours by what the kernel says, never by notes of ours. A daemon that does not
answer goes first, for unmounting would wait for it: its end cuts the FUSE connection, and all I/O fails at once.
"""

import os
from pathlib import Path

from pgassay.bench.errors import DriveError
from pgassay.drive.block import daemon, kernel, mounts
from pgassay.drive.block.daemon import SocketControl

_PING_S = 3.0
_PATIENCE_S = 3.0
_FUSE_TYPES = ("fuse", "fuseblk")
_DEPTH = 2
POINT = "mnt"
"""Where a block drive's file system is mounted in its home."""
CRASH_POINT = "crash"
"""Where a crash state of it is."""


def undo(place: Path) -> list[str]:
    """Give back everything below `place`; returns what it was, in words. Nothing there costs two small reads."""
    place = place.resolve()
    homes = _homes(place)
    done = [f"silent daemon of {home.name}" for home in homes if _end_if_silent(home)]
    entries = mounts.mounts_below(place)
    for entry in entries:
        if not _is_fuse(entry):
            kernel.unmount(entry.point, patience_s=_PATIENCE_S, lazily=True)
            done.append(f"mount {entry.point.relative_to(place)}")
    for device in mounts.loops_below(place):
        kernel.detach_loop(device)
        done.append(f"loop device {device.name}")
    for home in homes:
        if daemon.running(home) is not None:
            daemon.end(home)
            done.append(f"daemon of {home.name}")
    for entry in mounts.mounts_below(place):
        kernel.unmount(entry.point, patience_s=_PATIENCE_S, lazily=True)
        done.append(f"mount {entry.point.relative_to(place)}")
    return done


def _is_fuse(entry: mounts.MountEntry) -> bool:
    return entry.filesystem.partition(".")[0] in _FUSE_TYPES


def _homes(place: Path) -> list[Path]:
    """Directories that a daemon was started for. A dead FUSE mount below answers every look with an error."""
    found, folders = [], [place]
    for _ in range(_DEPTH):
        found += [folder for folder in folders if os.path.exists(folder / daemon.CONFIGURATION)]  # noqa: PTH110
        inner = [
            path
            for folder in folders
            for path in folder.iterdir()
            if path.name not in (daemon.FUSE, POINT, CRASH_POINT)
        ]
        folders = [path for path in inner if path.is_dir()]
    return found


def _end_if_silent(home: Path) -> bool:
    if daemon.running(home) is None:
        return False
    try:
        SocketControl(home).ask("ping", patience_s=_PING_S)
    except DriveError:
        daemon.kill(home)
        return True
    return False
