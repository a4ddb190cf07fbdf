"""A lab's own part of a drive: its workspaces and clones, which no other lab touches while it is active.

A session is locked by flock(2), which ends with its process however that ends; so an unlocked session is a
killed lab's, and goes with all that is in it, unless a server still runs there.

What a killed lab left of its block drives is found below a directory of ours by what the kernel says, and given back:
mounts, loop devices, daemons, FUSE mounts; in that order. Only what we made is unmounted: a loop device over a file of
that directory, an emulated drive, and a device that the note next to its mount point names. A daemon that does not
answer goes first, for unmounting would wait for it: its end cuts the FUSE connection, and all I/O fails at once.
"""

import contextlib
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.daemon import SocketControl
from pgassay.drive.root import (
    LOCK_FILE,
    RemovedError,
    Root,
    all_sessions,
    alone,
    find_root,
    open_root,
    remove_root,
    remove_tree,
    server_in,
    sessions_held,
    take_lock,
)
from pgassay.drive.snapshots import FORGOTTEN, TAKING, remove_unfinished
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Account, Mount, MountEntry
from pgassay.study.findings import Finding, Severity

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


def undo_block_drives(place: Path) -> list[str]:
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
        inner = (path for folder in folders for path in folder.iterdir())
        found = [(path, path.lstat()) for path in inner if path.name not in (daemon.FUSE, POINT, CRASH_POINT)]
        # A cluster is not ours: what lies in it the servers' account may have made.
        folders = [path for path, each in found if stat.S_ISDIR(each.st_mode) and each.st_uid == os.geteuid()]
    done = [f"silent daemon of {home.name}" for home in homes if _end_if_silent(home)]
    entries = kernel.mounts_below(place)
    for entry in entries:
        if not _is_fuse(entry):
            kernel.unmount(entry.point, patience_s=_PATIENCE_S, lazily=True)
            done.append(f"mount {entry.point.relative_to(place)}")
    for device in [device for device, file in kernel.loops() if file.is_relative_to(place)]:
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


def _end_if_silent(home: Path) -> bool:
    if daemon.running(home) is None:
        return False
    try:
        SocketControl(home).ask("ping", patience_s=_PING_S)
    except DriveError:
        daemon.kill(home)
        return True
    return False


NAME_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
"""What a workspace or clone may be called."""

_KILLED = "killed_runs"


class Session:
    """Open until `close`; `removed` names what killed labs had left and opening it removed."""

    def __init__(self, root: Root) -> None:
        """Raises `RemovedError` where another lab has taken the root along since it was found."""
        self.root = root
        with alone(root.path):
            self.removed = _repair(root)
            self.path = Path(tempfile.mkdtemp(prefix="lab-", dir=root.sessions))
            with Directory.open(root.sessions) as sessions:
                sessions.give(self.path.name, None, 0o711)
            self._lock = take_lock(self.path)

    def place(self, name: str) -> Path:
        """The path for a new workspace or clone; raises `DriveError` for a bad name or one in use."""
        require_name(name)
        path = self.path / name
        if os.path.lexists(path):
            raise DriveError(f'there is a workspace or clone named "{name}" already')
        return path

    def require_stopped(self, directory: Path) -> None:
        ours = directory.parent == self.path and NAME_PATTERN.fullmatch(directory.name) is not None
        require_stopped(directory, ours=ours)

    def close(self, keep_snapshots: bool) -> None:
        """Remove what is left of ours, and the whole root if it shall not stay and no other lab is there."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            with alone(self.root.path):
                if not any(server_in(path) for path in _places(self.path)):
                    undo_block_drives(self.path)
                    remove_tree(self.path)
                if not keep_snapshots and not any(self.root.sessions.iterdir()):
                    remove_root(self.root)
        finally:
            os.close(lock)  # else a drive that is gone could not be unmounted


def require_name(name: str) -> None:
    """Raise `DriveError` for what a workspace or clone, which becomes a directory, cannot be called."""
    if not NAME_PATTERN.fullmatch(name) or name == LOCK_FILE:
        raise DriveError(f'"{name}" cannot name a workspace or clone: letters, digits, ".", "_" and "-" only')


def not_ours(directory: Path) -> DriveError:
    """Only a drive's own workspaces and clones are moved or removed."""
    return DriveError(f'"{directory}" is not a workspace or clone of this drive: it is left alone')


def require_stopped(directory: Path, *, ours: bool) -> None:
    """Raise `DriveError` unless `directory` is `ours`, no link, and no server runs in it."""
    if not ours or directory.is_symlink():
        raise not_ours(directory)
    pid = server_in(directory)
    if pid is not None:
        raise DriveError(f'a server (process {pid}) runs in "{directory}"', "stop it first")


def require_clean(directory: Path) -> None:
    """Raise `DriveError` where a server was not stopped properly: a snapshot must be of one that was."""
    if os.path.lexists(directory / "postmaster.pid"):
        raise DriveError(
            f'"{directory}" holds a postmaster.pid: its server was not shut down cleanly', "prepare it again"
        )


def session_below(
    directory: Path, account: Account, mount_of: Callable[[Path], Mount], allow_volatile: bool
) -> Session:
    """A session in the root below `directory`, which is found or made; raises as `open_root` does."""
    while True:
        root = open_root(directory, account, mount_of, allow_volatile)
        with contextlib.suppress(RemovedError):
            return Session(root)


def _repair(root: Root) -> list[str]:
    """Remove the sessions that no living process holds, and the snapshots that they were taking or removing.

    Returns the names of what was removed; a session in which a server still runs is kept.
    """
    removed = remove_unfinished(root.snapshots, FORGOTTEN)
    for session in all_sessions(root):
        lock = take_lock(session)
        if lock is None:
            continue
        try:
            places = _places(session)
            if not any(map(server_in, places)):
                removed += remove_unfinished(root.snapshots, f"{TAKING}{session.name}-")
                removed += [f"{session.name}/{path.name}" for path in places]
                removed += undo_block_drives(session)
                remove_tree(session)
        finally:
            os.close(lock)
    return removed


def killed_runs(directory: Path) -> Finding:
    """`killed_runs`: what killed runs left below `directory`: clusters, mounts, loop devices and daemons.

    A drive whose daemon was killed blocks others: while there is one, mkfs.btrfs refuses every file.
    """
    nothing = Finding(_KILLED, Severity.OK, f'killed runs have left nothing in "{directory}"')
    try:
        root = find_root(directory)
        if root is None:
            return nothing
        with alone(root.path):
            names = sessions_held(root, held=False)
    except DriveError as error:
        return Finding(_KILLED, Severity.ERROR, error.message, error.hint or "")
    except OSError as error:
        return Finding(_KILLED, Severity.NOTE, f'"{directory}" was not looked at: {error.strerror}')
    text = f'killed runs left these in "{directory}": {", ".join(names)}'
    remedy = shlex.join(["pgassay", "doctor", "--repair", "--data-dir", str(directory)])
    return Finding(_KILLED, Severity.WARNING, text, remedy) if names else nothing


def _places(session: Path) -> list[Path]:
    """What may be a cluster: a session's own directories, and those in the file systems that are mounted below it."""
    found = []
    for folder in (session, *(entry.point for entry in kernel.mounts_below(session))):
        with contextlib.suppress(OSError):  # a file system whose drive is gone
            found += [path for path in folder.iterdir() if path.is_dir()]
    return sorted(found)
