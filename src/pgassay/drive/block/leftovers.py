"""Giving back what a killed lab left of its block drives: mounts, loop devices, daemons, FUSE mounts; in that order.

Found below a directory of ours by what the kernel says. Only what we made is unmounted: a loop device over a file of
that directory, an emulated drive, and a device that the note next to its mount point names. A daemon that does not
answer goes first, for unmounting would wait for it: its end cuts the FUSE connection, and all I/O fails at once.
"""

import os
import shlex
import stat
from pathlib import Path

from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.daemon import SocketControl
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import MountEntry

_PING_S = 3.0
_PATIENCE_S = 3.0
_FUSE_TYPES = ("fuse", "fuseblk")
_DEPTH = 2
POINT = "mnt"
"""Where a block drive's file system is mounted in its home."""
CRASH_POINT = "crash"
"""Where a crash state of it is."""
DEVICE = "device"
"""The note of a real device that we are about to mount: its path, in the home of the drive."""


def undo(place: Path) -> list[str]:
    """Give back everything below `place`; returns what it was, in words. Nothing there costs two small reads.

    Raises `DriveError`, and unmounts nothing, where something is mounted that we did not make.
    """
    place = place.resolve()
    for entry in kernel.mounts_below(place):
        _require_ours(entry, place)
    # Directories that a daemon was started for. A dead FUSE mount below answers every look with an error.
    homes, folders = [], [place]
    for _ in range(_DEPTH):
        homes += [folder for folder in folders if os.path.exists(folder / daemon.CONFIGURATION)]  # noqa: PTH110
        inner = [
            path
            for folder in folders
            for path in folder.iterdir()
            if path.name not in (daemon.FUSE, POINT, CRASH_POINT)
        ]
        folders = [path for path in inner if _is_our_folder(path)]
    done = [f"silent daemon of {home.name}" for home in homes if _end_if_silent(home)]
    entries = kernel.mounts_below(place)
    for entry in entries:
        if not _is_fuse(entry):
            kernel.unmount(entry.point, patience_s=_PATIENCE_S, lazily=True)
            done.append(f"mount {entry.point.relative_to(place)}")
    for device in kernel.loops_below(place):
        kernel.detach_loop(device)
        done.append(f"loop device {device.name}")
    for home in homes:
        if daemon.running(home) is not None:
            daemon.end(home)
            done.append(f"daemon of {home.name}")
    for entry in kernel.mounts_below(place):
        kernel.unmount(entry.point, patience_s=_PATIENCE_S, lazily=True)
        done.append(f"mount {entry.point.relative_to(place)}")
    return done


def _require_ours(entry: MountEntry, place: Path) -> None:
    source = Path(entry.source)
    if _is_fuse(entry):
        ours = entry.source.startswith(f"{daemon.PROGRAM}:") and entry.point.name == daemon.FUSE
    elif entry.point.name == POINT and _noted(entry.point.parent) == source:
        ours = True
    else:
        file = kernel.backing_file(source)
        ours = file is not None and file.is_relative_to(place)
    if not ours:
        raise DriveError(
            f'"{entry.source}" is mounted at "{entry.point}", and not by pgassay: it is left alone',
            f"see whose it is; umount {shlex.quote(str(entry.point))} makes room for a repair",
        )


def _noted(home: Path) -> Path | None:
    try:
        with Directory.open(home) as ours:
            ours.require_ours()
            return Path(ours.read(DEVICE).decode())
    except (OSError, UntrustedError):
        return None


def _is_fuse(entry: MountEntry) -> bool:
    return entry.filesystem.partition(".")[0] in _FUSE_TYPES


def _is_our_folder(path: Path) -> bool:
    """A cluster is not: what lies in it the servers' account may have made."""
    facts = path.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()


def _end_if_silent(home: Path) -> bool:
    if daemon.running(home) is None:
        return False
    try:
        SocketControl(home).ask("ping", patience_s=_PING_S)
    except DriveError:
        daemon.kill(home)
        return True
    return False
