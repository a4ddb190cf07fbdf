"""The directory `DIRECTORY/pgassay` below which everything is ours: made with its marker, or found and recognised.

Refused: memory file systems and a container's overlay (unless allowed), a directory that we did not make or that others
may write, and a place that the servers' unprivileged account may not enter, or may write. So every path down to a
cluster is ours, and only what is in a cluster needs the care of `files`.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pgassay import untrusted
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.errors import DriveError, SpaceError
from pgassay.interfaces.places import Account, Mount
from pgassay.locks import open_lock, unlock

NAME = "pgassay"
SNAPSHOTS = "snapshots"
SESSIONS = "sessions"
DRIVES = "drives"
VOLATILE = frozenset({"tmpfs", "ramfs", "overlay"})


class RemovedError(FileNotFoundError):
    """The last lab that used a root has removed it since it was found; it can be made again."""


@dataclass(frozen=True)
class Root:
    """Our directory; `made_parent` says that the directory named by the user was made by us too."""

    path: Path
    made_parent: bool

    @property
    def snapshots(self) -> Path:
        """Golden snapshots, closed to the servers' account."""
        return self.path / SNAPSHOTS

    @property
    def sessions(self) -> Path:
        return self.path / SESSIONS

    @property
    def drives(self) -> Path:
        """Drives that users made with an earlier version."""
        return self.path / DRIVES


@contextlib.contextmanager
def refusals_in(path: Path, doing: str) -> Iterator[None]:
    """Raise `DriveError` for what the operating system refuses, `SpaceError` where it is full; `doing` says of what."""
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SpaceError(
                f'"{path}" filled up while a snapshot was copied', "something else writes there; free some space"
            ) from failure
        raise DriveError(f'could not {doing} in "{path}": {failure.strerror or failure}') from failure


def open_root(directory: Path, account: Account, mount_of: Callable[[Path], Mount], allow_volatile: bool) -> Root:
    """Find or make `directory/pgassay`; raises `DriveError`, or `OSError` as the operating system does.

    Other labs may make or remove it at the same time.
    """
    directory = directory.absolute()
    while True:
        made_parent = not directory.exists()
        if made_parent and not directory.parent.is_dir():
            raise DriveError(
                f'directory "{directory}" does not exist and cannot be made', "make it, or name another --data-dir"
            )
        root = _suitable(directory, directory.parent if made_parent else directory, account, mount_of, allow_volatile)
        if made_parent:
            with contextlib.suppress(FileExistsError), Directory.open(directory.parent) as parent:
                parent.mkdir(directory.name, 0o755)
        if not os.path.lexists(root.path):
            fresh = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=root.path.parent))
            put_marker(fresh)
            with Directory.open(root.path.parent) as parent:
                parent.give(fresh.name, None, 0o755)
                try:
                    parent.rename(fresh.name, parent, root.path.name)
                except OSError:  # another lab was quicker; the marker shows whose it is
                    parent.remove_tree(fresh.name)
            sync_directory(root.path.parent)
        require_marker(root.path)
        with contextlib.suppress(RemovedError):
            with alone(root.path), Directory.open(root.path) as ours:
                for name, mode in ((SNAPSHOTS, 0o700), (SESSIONS, 0o711)):
                    with contextlib.suppress(FileExistsError):
                        ours.mkdir(name, mode)
            return root


def look_at_root(directory: Path, account: Account, mount_of: Callable[[Path], Mount], allow_volatile: bool) -> Root:
    """Where `open_root` would find or make it, refused alike; nothing is made, and parents may be missing, too."""
    directory = directory.absolute()
    there = next(path for path in (directory, *directory.parents) if path.exists())
    root = _suitable(directory, there, account, mount_of, allow_volatile)
    writable = there
    if os.path.lexists(root.path):
        require_marker(root.path)
        writable = root.path
    if not os.access(writable, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(writable))
    return root


def _suitable(
    directory: Path, there: Path, account: Account, mount_of: Callable[[Path], Mount], allow_volatile: bool
) -> Root:
    """The root below `directory`, of which `there` exists, unless clusters must not live there."""
    if not there.is_dir():
        raise DriveError(f'"{there}" is not a directory', "name a directory with --data-dir")
    directory = there.resolve() / directory.relative_to(there)
    filesystem = mount_of(there.resolve()).filesystem
    if filesystem in VOLATILE and not allow_volatile:
        raise DriveError(
            f'"{directory}" is on {filesystem}, which is not a drive: its speed says nothing about storage',
            "name a directory on a real file system with --data-dir, or allow it with --allow-volatile",
        )
    require_reachable(there.resolve(), account)
    return Root(directory / NAME, made_parent=not directory.exists())


def find_root(directory: Path) -> Root | None:
    """Ours below `directory`, if it is there; nothing is made. Raises `DriveError` for what is not ours."""
    path = directory.absolute() / NAME
    if not path.is_dir():
        return None
    require_marker(path)
    return Root(path, made_parent=False)


def remove_root(root: Root) -> None:
    """Remove everything of ours; the user's directory too if we made it and nothing else is in it.

    The caller is alone in the root. Whoever comes meanwhile finds it with its marker, or not at all.
    """
    require_marker(root.path)
    with Directory.open(root.path) as ours:
        for name in (SNAPSHOTS, SESSIONS, DRIVES):
            ours.remove_tree(name)
    gone = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=root.path.parent))
    with Directory.open(gone.parent) as parent:
        parent.rename(NAME, parent, gone.name)
        parent.remove_tree(gone.name)
    if root.made_parent:
        with contextlib.suppress(OSError):  # somebody else has something in it
            root.path.parent.rmdir()


def require_reachable(directory: Path, account: Account) -> None:
    """Raise `DriveError` unless the servers' account may pass through every directory on the way, and exchange none.

    Where it may write, it could put a link in the place of what we have made (not where the sticky bit forbids that).
    """
    if account.name is None:
        return
    groups = {account.gid, *os.getgrouplist(account.name, account.gid)}
    for path in (directory, *directory.parents):
        facts = path.stat()
        shift = 6 if facts.st_uid == account.uid else 3 if facts.st_gid in groups else 0
        if not facts.st_mode >> shift & 1:
            raise DriveError(
                f'account "{account.name}", under which servers run, may not enter "{path}"',
                f"chmod o+x {path}, or name another --data-dir",
            )
        writes = facts.st_mode >> shift & 2 and not facts.st_mode & stat.S_ISVTX
        if facts.st_uid == account.uid or writes:
            raise DriveError(
                f'account "{account.name}", under which servers run, may write to "{path}", and could exchange'
                " there what pgassay makes",
                "name another --data-dir, below directories that this account cannot write",
            )


MARKER_FILE = "pgassay-drive.json"
LOCK_FILE = "lock"
FORMAT = 1


def put_marker(directory: Path) -> None:
    text = json.dumps({"format": FORMAT, "what": "clusters and snapshots of pgassay; removed and remade at will"})
    write_durably(directory / MARKER_FILE, text + "\n")


def require_marker(directory: Path) -> None:
    """Raise `DriveError` unless the directory carries our marker, of a format that we know.

    Anybody could write a marker, so directory and folders must belong to this process's account, and be closed to the
    writing of others.
    """
    try:
        with Directory.open(directory) as root:
            root.require_ours()
            for name in (SNAPSHOTS, SESSIONS, DRIVES):
                if root.status(name) is not None:
                    with root.inner(name) as folder:
                        folder.require_ours()
            marker = untrusted.json(root.read(MARKER_FILE))
        found = int(marker["format"])
    except UntrustedError as error:
        raise DriveError(error.message, error.hint) from None
    except (OSError, ValueError, TypeError, KeyError):
        raise DriveError(
            f'"{directory}" exists and was not made by pgassay: it is left alone',
            "name another --data-dir, or remove it yourself",
        ) from None
    if found > FORMAT:
        raise DriveError(
            f'"{directory}" has format {found}, this version of pgassay reads formats up to {FORMAT}',
            "use the later version, or another --data-dir",
        )


def remove_tree(path: Path) -> None:
    """Remove what is ours with all that is in it, following no link; harmless when it is not there."""
    with Directory.open(path.parent) as parent:
        parent.remove_tree(path.name)


def write_durably(path: Path, text: str) -> None:
    """Make a small file and fsync it and its name."""
    with path.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_lock(directory: Path) -> int | None:
    """Lock a directory for as long as the returned descriptor is open; None when another process has it."""
    descriptor = open_lock(directory / LOCK_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Wait for the directory's lock and hold it for a few steps that must not cross with another lab's.

    Raises `RemovedError` where the directory is gone.
    """
    descriptor = None
    while descriptor is None:
        descriptor = _waited_for(directory / LOCK_FILE)
    try:
        yield
    finally:
        unlock(descriptor)


def _waited_for(path: Path) -> int | None:
    """The locked file; None where it is not the one at `path` any more, since who had it has removed the directory."""
    try:
        descriptor = open_lock(path)
    except FileNotFoundError:
        raise RemovedError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent)) from None
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                stack.pop_all()
                return descriptor
    return None


def all_sessions(root: Root) -> list[Path]:
    """Of this process's account; raises `DriveError` for a link, or for what another account made."""
    try:
        with Directory.open(root.sessions) as sessions:
            for name in sessions.names():
                with sessions.inner(name) as session:
                    session.require_ours()
    except UntrustedError as error:
        raise DriveError(error.message, error.hint) from None
    return sorted(root.sessions.iterdir())


def sessions_held(root: Root, *, held: bool) -> list[str]:
    """Names of the sessions that a lab holds, or of those that none does; the caller is alone in the root."""
    found = []
    for session in all_sessions(root):
        lock = take_lock(session)
        if (lock is None) == held:
            found.append(session.name)
        if lock is not None:
            os.close(lock)
    return found


def server_in(directory: Path) -> int | None:
    """The process id of a postmaster that runs in this data directory, by its postmaster.pid and /proc; else None."""
    try:
        with Directory.open(directory) as cluster:
            pid = int(cluster.read("postmaster.pid").splitlines()[0])
    except (OSError, UntrustedError, ValueError, IndexError):
        return None
    try:
        return pid if Path(f"/proc/{pid}/cwd").readlink() == directory.resolve() else None
    except PermissionError:
        return pid
    except OSError:
        return None
